# process.begin, .end, thread.begin, thread.end: exactly once each, with the process's own pid and name, whatever way
# children are made; and every child lives.
from spiletest import *

SCRIPT = r"""global live, begins, ends, bad, names
probe process.begin { begins++; live[pid()]++; if (pid() != tid()) bad++; names[execname()]++ }
probe process.end { ends++; live[pid()]--; if (live[pid()] != 0 || pid() != tid()) bad++ }
probe end { printf("begins %d ends %d bad %d\n", begins, ends, bad) }"""


def count(command, begins, what):
    result = spile("-e", SCRIPT, "-c", command)
    got = re.search(r"begins (\d+) ends (\d+) bad (\d+)", result.out)
    expect_true(got is not None, f"{what}: {result}")
    expect(tuple(map(int, got.groups())), (begins, begins, 0), f"{what}\n{result}")
    return result


# An exec is an end and a begin: a child of a shell that execs is two processes in turn.
count("/bin/true", 1, "one program")
count("sh -c '/bin/true; /bin/true; exit 0'", 5, "children of a shell")
expect_match("^2$", count("sh -c 'seq 5 | grep -c [12]; exit 0'", 5, "a pipeline").out)
count("sh -c 'seq 9 | cat | cat | cat | cat | cat | cat | cat | cat | tail -1; exit 0'", 21, "a pipeline of ten")
count("sh -c 'exec sh -c \"exec sh -c \\\"exec true\\\"\"'", 4, "programs that run each other")
count(f"{program('forks')} fork 1000", 1001, "a thousand children")
count(f"{program('forks')} badexec 5", 6, "programs that are not there")
count(f"{program('forks')} memory 5", 6, "children in their parent's memory")
count("sh -c '(exit 3); (exit 4); exit 0'", 3, "subshells")
python = shutil.which("python3")
count(f"{python} -c 'import os; [os.waitpid(os.posix_spawn(\"/bin/true\", [\"true\"], {{}}), 0) for i in range(10)]'", 21,
      "posix_spawn")
count(f"{python} -c 'import os; [os.system(\"true\") for i in range(5)]'", 11, "system()")

spile("-e", r"""global b, e, bad probe process.thread.begin { b++; if (tid() == pid()) bad++ }
probe process.thread.end { e++ } probe end { printf("%d %d %d\n", b, e, bad) }""",
      "-c", f"{program('threads')} 500").expect(status=0)
# Which program, by path; and what is shared with handlers in the process.
spile("-e", r"""global n, calls probe process("/bin/cat").begin { n++; printf("begin %s %d\n", execname(), uid() == 0 || 1) }
probe process("/bin/cat").end { printf("end %s\n", execname()) } probe end { println(n) }""",
      "-c", "sh -c 'cat /dev/null; true; cat /dev/null'").expect(out="begin cat 1\nend cat\nbegin cat 1\nend cat\n2\n")
spile("-e", """global n probe process.function("foo") { n++ } probe process.end { printf("%d calls\\n", n) }""",
      "-c", f"{program('calls')} 1000").expect(out_match="^1000 calls$")
