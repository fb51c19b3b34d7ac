# One backend of postgres, attached by its number: the statements that it executes are counted exactly.
from spiletest import *

postgres = Postgres()
client = start(postgres.tools / "psql", "-h", postgres.directory, "-p", postgres.port, "-At", "postgres",
               stdin=subprocess.PIPE, user=postgres.user, cwd=str(postgres.directory))
client.stdin.write(b"select 1;\n")
client.stdin.flush()
client.stdout.readline()
backend = postgres.backends()[0]
session = Session("-v", "-e", """global c, r probe process.function("PortalRun") { c++ }
probe process.function("PortalRun").return { r++ } probe end { printf("%d %d\\n", c, r) }""", "-x", backend)
session.attached(backend)
client.stdin.write(b"select 1;\n" * 100)
client.stdin.flush()
for _ in range(100):
    expect(client.stdout.readline(), b"1\n")
session.stop().expect(out="100 100\n", status=0)
expect_untouched(backend)
client.stdin.write(b"select 2;\n")
client.stdin.flush()
expect(client.stdout.readline(), b"2\n")
