# variants: debian source
# A live redis-server under load: commands counted by name from the function's argument, Ctrl-C; redis answers
# throughout and is left as it was. Debian's binary is stripped: its functions are found in .dynsym,
# and the command is c->argv[0]->ptr, 80 and 8 bytes into the structures of redis 7.0.
from spiletest import *

redis = Redis(debian_source_program("redis-server") if VARIANT == "source" else None)
load = redis.benchmark("-c", 50, "-n", 10_000_000, "-t", "set,get")
name = ("user_string($c->argv[0]->ptr)" if VARIANT == "source" else
        "user_string(user_uint64(user_uint64(user_uint64(pointer_arg(1) + 80)) + 8))")
session = Session("-e", f"""global n probe process.function("processCommand") {{ n[{name}]++ }}
probe end {{ foreach (k in n) printf("%s %d\\n", k, n[k]) }}""", "-x", redis.pid).attached(redis.pid)
for i in range(50):
    expect(redis.command("SET", f"key{i}", i), "OK")
    expect(redis.command("GET", f"key{i}"), str(i))
redis.wait_commands()
result = session.stop().expect(status=0)
counts = {name.lower(): int(n) for name, n in (line.split() for line in result.out.splitlines())}
expect_true(counts.get("set", 0) + counts.get("get", 0) > 1000, f"commands counted: {counts}")
expect_untouched(redis.pid)
expect(redis.command("PING"), "PONG")
expect(load.poll(), None, "redis-benchmark's status")
