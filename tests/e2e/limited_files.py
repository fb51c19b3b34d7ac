# A limit of file sizes (ulimit -f): what can't be written ends in an error with its reason, not by SIGXFSZ, and commands have the
# action for that signal, and the limit, which spile was started with.
import resource
from spiletest import *

directory = temporary_directory()
KIB = 1024


def limited(limit, *words, ignored=False, **more):
    def prepare():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN if ignored else signal.SIG_DFL)

    environment = os.environ | {"XDG_CACHE_HOME": str(directory / "cache")}
    return subprocess.run([str(SPILE), *map(str, words)], preexec_fn=prepare, restore_signals=False, text=True, timeout=300,
                          env=environment, **({"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more))


flood = 'probe timer.ms(1) { for (i = 0; i < 100; i++) printf("%080d\\n", i) } probe timer.s(20) { exit() }'
REASON = "File too large\n  hint: a limit of file sizes \\(ulimit -f\\) holds for spile: raise it"
for words in (["-o", directory / "text"],
              ["--rlimit-fsize=4096", "-o", directory / "option"], ["-S", "1", "-o", directory / "row"]):
    ended = limited(resource.RLIM_INFINITY if "--rlimit-fsize=4096" in words else 4 * KIB, *words, "-e", flood)
    expect(ended.returncode, 1, str(ended))
    expect_match(f"write output file .*{REASON}", ended.stderr)
with open(directory / "standard", "w") as out:
    ended = limited(4 * KIB, "-e", flood, stdout=out)
expect(ended.returncode, 1, str(ended))
expect_match(f"write output: {REASON}", ended.stderr)
expect((directory / "standard").stat().st_size, 4 * KIB)

(directory / "calls.c").write_text("""__attribute__((noinline)) int work(int n) { __asm__ volatile(""); return n; }
int main(void) { return work(1) + work(2) + work(3) - 6; }
""")
calls = directory / "calls"
subprocess.run(["gcc", "-O1", "-g", "-o", calls, directory / "calls.c"], check=True)
for words in (["-e", 'probe process.function("work") { println("hit") }', "-c", calls], ["trace", "work", "-c", calls],
              ["record", "-o", directory / "a.run", "-e", flood], ["--emit-bundle", "-o", directory / "b", "-e", flood]):
    ended = limited(4 * KIB, *words)
    expect_true(ended.returncode in (0, 1), str(ended))
    if ended.returncode == 1:
        expect_match("ulimit -f|unknown option|File too large\n  hint: the run is readable up to here", ended.stderr)
with open(directory / "listed", "w") as out:
    ended = limited(KIB, "funcs", "/lib/x86_64-linux-gnu/libc.so.6", stdout=out)
expect(ended.returncode, 1, str(ended))
expect_match("write output: File too large", ended.stderr)

# What a command gets.
reads = "/bin/grep SigIgn /proc/self/status"
for ignored in False, True:
    for words in (["-e", "probe begin { }", "-c", reads], ["-e", f'probe begin {{ system("{reads}") exit() }}']):
        ended = limited(1 << 40, *words, ignored=ignored)
        expect(ended.returncode, 0, str(ended))
        mask = int(re.search(r"SigIgn:\s*(\w+)", ended.stdout)[1], 16)
        expect(bool(mask & 1 << signal.SIGXFSZ - 1), ignored, ended.stdout)
