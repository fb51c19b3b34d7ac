# A script that takes longer to compile than -T allows: the error says what to do, what was learnt until then is kept for the next try,
# and so is the code, also where thousands of probes make it large.
# timing
from spiletest import *

folder = temporary_directory()
(folder / "many.c").write_text("volatile int sink;\n" + "".join(
    f"__attribute__((noipa)) int function{i}(int first{i}, long second{i}) {{ return sink += first{i} + (int)second{i}; }}\n" for i in range(1500))
    + "int main(void) { return function7(1, 2) < 0; }\n")
subprocess.run([installed("gcc"), "-O1", "-g", folder / "many.c", "-o", folder / "many"], check=True)
COMMAND = ["-v", "-e", "global n probe process.function(\"function*@many.c\") { n[ppfunc(), $$parms]++ } probe end { println(n[\"function7\", \"first7=0x1 second7=0x2\"]) }",
           "-c", folder / "many"]


def cold():
    os.environ["XDG_CACHE_HOME"] = str(temporary_directory())
    return pathlib.Path(os.environ["XDG_CACHE_HOME"]) / "spile"


cold()
first = spile(*COMMAND, "-p4").expect(err_match="^Pass 4: compiled [1-9]\\d{6,} bytes")
analysis, compiling = (int(re.search(rf"^Pass {n}: .*/(\d+)real ms", first.err, re.M)[1]) / 1000 for n in (2, 4))
spile(*COMMAND).expect(out="1\n", err_match="^Pass 4: took from the cache")
kept = cold()
limit = round(analysis + compiling / 2, 3)
spile(*COMMAND, "-T", limit).expect(status=1, out="", err_match=f"the {limit:g} s of -T ended before the script was compiled\n  hint: .*-p4")
expect_true(list(kept.glob("*.answers")), "what the analysis has learnt is kept")

# Where nearly all of -T is over when the probes are armed, a warning says so. Here `probe begin` takes it.
for spare in (0.1, 0.2, 0.3):
    script = f'probe begin {{ t = gettimeofday_ms(); while (gettimeofday_ms() - t < {4000 - 1000 * spare:.0f}) {{}} }} probe timer.s(9) {{}}'
    result = spile("-g", "--suppress-time-limits", "-T", 4, "-e", script).expect()
    if "-T were over" in result.err:
        break
expect_match(r"^WARNING: [34]\.\d s of the 4 s of -T were over when the probes were armed\n  hint: ", result.err, "the warning")
