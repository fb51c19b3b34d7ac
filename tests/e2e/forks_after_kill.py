# spile is killed while a program forks within probed functions: no child is harmed, whichever frames it was born in, whether it
# is born before, at or after the kill, forbids itself system calls, throws, or executes a program.
# long
# processors: 2
from spiletest import *

RETURNS = 'global c probe process.function("forks_deep").return { c++ }'
OF_FORK = 'global c probe process("/lib/x86_64-linux-gnu/libc.so.6").function("fork").return { c++ }'
WITH_ENTRY = 'global t probe process.function("forks*").return { t <<< gettimeofday_ns() - @entry(gettimeofday_ns()) }'
ALL = 'global c probe process.function("*").return, process.function("*") { c++ }'
KILLS = 200 if LONG_FORM else 12

chance = random.Random(chosen_seed(3))
target = start(program("killed_forks"), 600, 2, "/bin/true", ready="ready")
for number in range(KILLS):
    session = Session("-e", (RETURNS, OF_FORK, WITH_ENTRY, ALL)[number % 4], "-x", target.pid)
    if chance.random() < 0.8:
        session.attached(target.pid)
    time.sleep(chance.random() ** 2 * 0.2)
    session.process.kill()
    session.process.wait()
    time.sleep(chance.random() * 0.2)  # children that are born now, too
told = finish(target)
expect_match(r"^made \d+ bad 0$", told, "what the program says of its children")
expect(target.returncode, 0, "the program's status")
made = int(re.search(r"made (\d+)", told)[1])
expect_true(made > 20 * KILLS, f"{made} children for {KILLS} kills are too few to tell")
print(f"{KILLS} kills, {made} children")
