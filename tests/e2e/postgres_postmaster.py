# The postmaster of postgres, which forks a backend for each connection; those run under probes from their birth.
from spiletest import *

postgres = Postgres()
postgres.pgbench("-i", "-q", "-s", "1")
session = Session("-e", """global c probe process.function("PortalRun") { c[pid()]++ }
probe process.function("ExecutorRun") { c[0]++ }
probe end { foreach (p in c) if (p) { sum += c[p]; n++ } printf("statements %d backends %d\\n", sum, n) }""",
                  "-x", postgres.pid).attached(postgres.pid)
report = postgres.pgbench("-c", "8", "-t", "50", "-n")
expect_match("number of transactions actually processed: 400/400", report)
result = session.stop().expect(status=0)
statements, backends = result.numbers()
expect_true(statements >= 8 * 50 * 7 and backends >= 8, f"{statements} statements in {backends} backends")
expect_untouched(postgres.pid)
expect(postgres.sql("select 1"), "1")
