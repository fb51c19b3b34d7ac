# -l --json and -L --json of points of every kind: the documented fields, and the same points, variables and order as the texts
# have. As root also those of the kernel.
import json

from spiletest import *

folder = temporary_directory()
(folder / "works.c").write_text("""
__attribute__((noinline)) int work(int n) { asm volatile("" ::: "memory"); return n * 3; }
__attribute__((noinline)) int work2(int n) { return work(n) + 1; }
int main(int argc, char** argv) { again: if (work2(argc) > 100) goto again; return 0; }
""")
works, bare = folder / "works", folder / "bare"
subprocess.run(["gcc", "-g", "-O1", "-o", works, folder / "works.c"], check=True)
subprocess.run(["strip", "-g", "-o", bare, works], check=True)
of = f'process("{works}")'
points = [f'{of}.{rest}' for rest in ('function("*")', 'function("work*").call', 'function("work").return',
                                      'function("work2").callee("*")', 'function("work2").callees',
                                      'statement("work*@works.c:*")',
                                      'syscall', 'syscall.return', 'begin', 'end', 'thread.begin', 'thread.end', 'plt("*")')]
points += [f'process("{program("float_marks")}").mark("*")', f'process("{bare}").function("work*")', "process.begin",
           "timer.ms(100)", "timer.profile", "perf.sw.cpu_clock", 'procfs("x").read', "netfilter.ip.local_in", "begin", "end",
           "error", "never",
           "oneshot"]
kernel = ['kernel.trace("sched:sched_w*")', 'kernel.function("vfs_re*")', 'kernel.function("vfs_read").return', "syscall.open*",
          "syscall.read.return", "nd_syscall.read", "vm.*", "tty.*"]
if os.geteuid() == 0 and "sched_waking" in spile("-l", 'kernel.trace("sched:sched_waking")').out:
    points += [point for point in kernel if spile("-l", point).status == 0]
for point in points:
    texts = spile("-l", point).expect(status=0, err="").out.splitlines()
    objects = [json.loads(line) for line in spile("-l", point, "--json").expect(status=0, err="").out.splitlines()]
    expect([list(each) for each in objects], [["point"]] * len(texts), f"-l {point}")
    expect([each["point"] for each in objects], texts, f"-l {point}")
    texts = spile("-L", point).expect(status=0, err="").out.splitlines()
    objects = [json.loads(line) for line in spile("-L", point, "--json").expect(status=0, err="").out.splitlines()]
    expect_true(all(list(each) == ["point", "variables"] and all(list(v) == ["name", "type"] for v in each["variables"])
                    for each in objects), f"-L {point}: {objects}")
    expect([" ".join([each["point"], *(v["name"] + (":" + v["type"] if v["type"] else "") for v in each["variables"])])
            for each in objects], texts, f"-L {point}")
for point in ('process("/bin/nosuch").function("x")', "nosuch.point", f'{of}.function("nosuch")', f'{of}.mark("nosuch")'):
    for option in ("-l", "-L"):
        spile(option, point, "--json").expect(status=1, out="", err_match="error: ")
