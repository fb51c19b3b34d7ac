# -T counts from the moment when the probes are armed: neither the passes before nor `probe begin` are part of it. What a
# compilation that was ended has learnt is kept for the next one.
# long
from spiletest import *

folder = temporary_directory()
(folder / "many.c").write_text("volatile int sink;\n" + "".join(
    f"__attribute__((noipa)) int function{i}(int first{i}, long second{i}) {{ return sink += first{i} + (int)second{i}; }}\n" for i in range(1500))
    + "int main(void) { return function7(1, 2) < 0; }\n")
subprocess.run([installed("gcc"), "-O1", "-g", folder / "many.c", "-o", folder / "many"], check=True)
COMMAND = ["-v", "-DMAXOWNHANDLERS=1500", "-e", "global n probe process.function(\"function*@many.c\") { n[ppfunc(), $$parms]++ } probe end { println(n[\"function7\", \"first7=0x1 second7=0x2\"]) }",
           "-c", folder / "many"]


def cold():
    os.environ["XDG_CACHE_HOME"] = str(temporary_directory())
    return pathlib.Path(os.environ["XDG_CACHE_HOME"]) / "spile"


cold()
compiled = spile(*COMMAND, "-p4").expect(err_match="^Pass 4: compiled [1-9]\\d{6,} bytes")
times = {int(number): int(ms) / 1000 for number, ms in re.findall(r"^Pass (\d):.*/(\d+)real ms", compiled.err, re.M)}
cold()
spile(*COMMAND, "-T", f"{times[4] / 10:.1f}").expect(out="1\n", err_match="^Pass 4: compiled")

# Ended in the midst of the compilation, unless the machine has become busier, or less so.
limit = times[1] + times[2] + (times[3] + times[4]) / 2
for _ in range(8):
    kept = cold()
    session = Session(*COMMAND)
    try:
        session.process.wait(limit)
        limit /= 1.5
        continue
    except subprocess.TimeoutExpired:
        session.process.terminate()
        session.wait()
    if list(kept.glob("*.answers")):
        break
    limit *= 1.5
expect_true(list(kept.glob("*.answers")), "what the analysis has learnt is kept")

# What `probe begin` takes, which is longer, is not part of -T.
script = "global n probe begin { " \
         " t = gettimeofday_ms(); while (gettimeofday_ms() - t < 2500) {} } probe timer.ms(100) { n++ } probe end { println(n) }"
spile("-g", "--suppress-time-limits", "-p4", "-e", script).expect()
expect_true(int(spile("-g", "--suppress-time-limits", "-T", 2, "-e", script).expect().out) >= 1,
            "the timer has run in the time of the session")
