# Hardware watchpoints: each access once, with the registers and the stack of it.
from spiletest import *

if not watchpoints_work():
    skip("the processor raises no watchpoints here")

path = program("watched")
result = spile("-e", r"""global writes, all, smalls, from
probe process.data("counter").write { writes++; from[usymname(ustack(0)), usymname(ustack(1))]++ }
probe process.data("counter").rw { all++ }
probe process.data("small").write { smalls++ }
probe end {
  printf("writes %d all %d small %d\n", writes, all, smalls)
  foreach ([a, b] in from) printf("%s from %s: %d\n", a, b, from[a, b])
}""", "-c", f"{path} 20")
if "set a watchpoint" in result.err:
    skip("no hardware watchpoints here")
result.expect(out="190\nwrites 20 all 40 small 20\nfirst from main: 20\n")
for probe, message in [('process.data("nothing").write', "no variable 'nothing'"),
                       ('process.data("counter")', "names no kind of access"),
                       ('process.data("counter").length(3).write', "3 bytes at .* can't be watched"),
                       ('process.data("counter").execute', "'execute' can't follow"),
                       ('process.data.write', "needs an address or the name")]:
    spile("-p2", "-e", f"probe {probe} {{ exit() }}", "-c", path).expect(status=1, err_match=message)

# A thread has four; each counts exactly, in threads of every age.
four = ["tick", "shared", "wide", "hidden"]
points = "".join(f' probe process.data("{name}").write {{ n["{name}"]++ }}' for name in four)
spile("-e", "global n" + points + ' probe end { foreach (k+ in n) printf("%s %d\\n", k, n[k]) }', "-c", f"{program('profiled')} 0"
      ).expect(out="done 40000\nhidden 40000\nshared 40000\ntick 40000\nwide 40000\n")
spile("-e", "global n" + points + ' probe process.data("fifth").rw { n["fifth"]++ }', "-c", program("profiled")).expect(
    status=1, err_match="more than 4 watchpoints: the processor has 4 for each thread")
# A library's variable, in a process that has mapped it.
target = server(20)
libc = next(path for _, _, _, path in executable_mappings(target.pid) if "/libc.so" in path)
spile("-e", f'probe process("{libc}").data("optind").rw {{ println("read") }} probe timer.ms(50) {{ exit() }}', "-x", target.pid
      ).expect(status=0, err="")

# What is read of memory is not what was written: said where a script does so.
late = spile("-e", 'probe process.data("counter").write { println(@var("counter")) print_ubacktrace() exit() }', "-c",
             f"{path} 20").expect(status=0)
expect_match("^<input>:1:47: warning: the value is read some time after the access", late.err)
