# Completion in bash: options, verbs, processes, functions, files, from the words that a user has typed.
from spiletest import *


def completed(*words):
    script = f"""
      source '{ROOT}/tools/completion/spile'
      COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
      _spile '{SPILE}'
      printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    run = subprocess.run(["bash", "-c", script, "bash", "spile", *map(str, words)], capture_output=True, text=True, timeout=300, cwd=folder)
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
expect(completed("record", "to"), ["top", "top.stp"])
expect(completed("record", "top", "-x", target.pid, "wor"), ["work"])
expect(completed("-o", "to"), ["top.stp"])
expect(completed("-e", "x", "to"), ["top", "top.stp"])
expect(completed("-D", "MAXSTR"), ["MAXSTRINGLEN="])
expect(completed("--runtime=in"), ["--runtime=inproc"])

# The same in fish and zsh, where they are installed.
path = {**os.environ, "PATH": f"{pathlib.Path(SPILE).parent}:{os.environ['PATH']}", "HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}


def in_fish(line):
    run = subprocess.run(["fish", "--no-config", "-c", f"source '{ROOT}/tools/completion/spile.fish'; complete -C {line!r}"],
                         capture_output=True, text=True, timeout=300, cwd=folder, env=path)
    expect(run.stderr, "", "fish's messages")
    return {word.partition("\t")[0]: word.partition("\t")[2] for word in run.stdout.splitlines()}


def in_zsh(*words):
    """With zsh's own functions replaced by ones that print."""
    script = f"""
      compadd() {{ while [[ $1 == -* && $1 != -- ]]; do [[ $1 == -S ]] && shift; shift; done; shift; local w; for w; do [[ $w == $words[CURRENT]* ]] && print -r -- $w; done }}
      _files() {{ print -rl -- $words[CURRENT]*(N) }}
      source '{ROOT}/tools/completion/_spile'
      words=("$@"); CURRENT=$#words; _spile"""
    run = subprocess.run(["zsh", "-fc", script, "zsh", "spile", *map(str, words)], capture_output=True, text=True, timeout=300, cwd=folder, env=path)
    expect(run.stderr, "", "zsh's messages")
    return run.stdout.split()


if shutil.which("fish"):
    expect_true(set(verbs) <= set(in_fish("spile ")), in_fish("spile "))
    expect(sorted(in_fish("spile to")), ["top", "top.stp"])
    expect_match("are called how often", in_fish("spile to")["top"])
    expect(sorted(in_fish("spile record to")), ["top", "top.stp"])
    expect(sorted(set(options) - set(in_fish("spile -")) - set(in_fish("spile --"))), [], "options in fish")
    expect_true(str(target.pid) in in_fish(f"spile -x {str(target.pid)[:-1]}"), "the process's number")
    expect_true("work" in in_fish(f"spile top -x {target.pid} wor"), in_fish(f"spile top -x {target.pid} wor"))
    expect_true("--runtime=inproc" in in_fish("spile --runtime=in"), in_fish("spile --runtime=in"))
if shutil.which("zsh"):
    expect_true(set(verbs) <= set(in_zsh("")), in_zsh(""))
    expect(sorted(in_zsh("to")), ["top", "top.stp"])
    expect(sorted(set(in_zsh("-"))), sorted(set(options)), "options in zsh")
    expect_true(str(target.pid) in in_zsh("-x", str(target.pid)[:-1]), "the process's number")
    expect(in_zsh("top", "-x", target.pid, "wor"), ["work"])
    expect(in_zsh("-T", 5, "-x", target.pid, "lat", "wor"), ["work"])
    expect(in_zsh("-o", "to"), ["top.stp"])
    expect(sorted(in_zsh("record", "to")), ["top", "top.stp"])
    expect(in_zsh("--runtime=in"), ["--runtime=inproc"])
