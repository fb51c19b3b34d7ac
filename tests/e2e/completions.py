# Completion in bash: options, verbs, processes, functions, files, from the words that a user has typed.
from spiletest import *


def completed(*words):
    script = f"""
      source {ROOT}/tools/completion/spile
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
      _spile {SPILE}
      printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    run = subprocess.run(["bash", "-c", script, "bash", "spile", *map(str, words)], capture_output=True, text=True, timeout=60, cwd=folder)
    expect(run.stderr, "", "bash's messages")
    return run.stdout.split()


folder = temporary_directory()
(folder / "top.stp").write_text("")
target = start(program("server"), 120, ready="ready")

help_text = spile("--help").out
verbs = re.findall(r"^       spile \[OPTIONS\] ([a-z]+)", help_text, re.M)
expect_true(len(verbs) >= 16 and set(verbs) <= set(completed("")), f"{verbs}: {completed('')}")
expect(completed("to"), ["top", "top.stp"])
options = completed("-")
for name in ("-x", "-T", "--help", "--json", "--http", "--every", "--hz", "-l"):
    expect_true(name in options, f"{name} in {options}")
# Every option that --help has, and nothing else.
expect(sorted(set(options)), sorted(set(re.findall(r"(?<![\w-])--?[A-Za-z][-A-Za-z]*", "\n".join(re.split(r" {2,}|[ =\[](?!-)", line[2:])[0] for line in help_text.splitlines() if line.startswith("  -"))))))
expect_true(str(target.pid) in completed("-x", str(target.pid)[:-1]), "the process's number")
expect_true("server" in completed("-x", "serv"), "the process's name")
expect(completed("top", "-x", target.pid, "wor"), ["work"])
expect(completed("-T", 5, "-x", target.pid, "lat", "wor"), ["work"])
expect(completed("-o", "to"), ["top.stp"])
expect(completed("-e", "x", "to"), ["top", "top.stp"])
expect(completed("-D", "MAXSTR"), ["MAXSTRINGLEN="])
expect(completed("--runtime=in"), ["--runtime=inproc"])
