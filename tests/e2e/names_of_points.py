# Other ways to write probe points: suffixes behind aliases, names of the kernel's points, the order of a netfilter point, init.
from spiletest import *

# What follows an alias, and is meant for functions, changes nothing at system calls: the hits are the calls.
calls = temporary_directory() / "calls.c"
calls.write_text("#include <unistd.h>\nint main() { for (int i = 0; i < 30; i++) getppid(); }\n")
subprocess.run([installed("gcc"), calls, "-o", calls.with_suffix("")], check=True)
spile("-e", """global a, b, c
probe syscall.getppid.return.maxactive(10) { a++ } probe nd_syscall.getppid.return.maxactive(1) { b++ }
probe syscall.getppid.call { c++ }
probe alias = syscall.getppid.return { } probe alias.maxactive(7) { a++ }
probe end { println(a, " ", b, " ", c) }""", "-c", calls.with_suffix("")).expect(status=0, out="60 30 30\n")
for point, message in {"syscall.read.maxactive(10)": "'maxactive' can't follow 'process.syscall'",
                       "syscall.read.return.maxactive(0)": "'maxactive' can't follow 'process.syscall.return'",
                       "syscall.read.return.call": "'call' can't follow 'process.syscall.return'",
                       'process.syscall("read").return.maxactive(10)': "'maxactive' can't follow",
                       "init(1)": "'init' in probe point 'init\\(1\\)' has an unexpected parameter",
                       "init.x": "'x' can't follow 'init'", "lsm": "unknown probe point 'lsm'"}.items():
    spile("-p2", "-e", f"probe {point} {{ next }}").expect(status=1, err_match=message)

# init runs before all begin probes.
spile("-e", 'probe begin(-9223372036854775807) { print("second ") } probe begin { println("third") exit() } '
      'probe init { print("first ") }').expect(status=0, out="first second third\n")

# The program of a debuginfod point is the one of this machine.
spile("-e", f'probe debuginfod.process("{calls.with_suffix("")}").function("main") {{ println(ppfunc()) }}', "-c",
      calls.with_suffix("")).expect(status=0, out="main\n")

if os.geteuid() != 0 or not pathlib.Path("/sys/kernel/btf/vmlinux").exists():
    skip("points of the kernel need root and the kernel's type information")
# The number of an event of a cache is that of perf_event_open(2): the cache, the operation << 8, the result << 16.
shown = spile("-p2", "-e", "probe perf.hw_cache.ll.write.miss.sample(1000), perf.hw_cache.node.prefetch.access { next }").expect(
    status=0)
expect(shown.out.splitlines()[1:3], ["perf.type(3).config(65794).sample(1000) /* <- perf.hw_cache.ll.write.miss.sample(1000) */",
                                     "perf.type(3).config(518) /* <- perf.hw_cache.node.prefetch.access */"])
for points in (['kernel.trace("sched:sched_switch")', 'kernel.tracepoint("sched:sched_switch")',
                'module("sched").tracepoint("sched_switch")', 'module("sched").trace("sched:sched_switch")'],
               ['netfilter.hook("local_in").pf("ipv4").priority(-5)', 'netfilter.pf("ipv4").hook("local_in").priority("-5")'],
               ["kprocess.exec_complete", "kprocess.exec_complete.maxactive(5)"], ["vm.mmap", "vm.mmap.call"],
               ["vm.pagefault", "vm.pagefault.call"], ["generic.fop.llseek", "generic.fop.llseek.return"],
               ["generic.fop.read_iter", "generic.fop.aio_read"], ["generic.fop.mmap", "generic.fop.open"]):
    for point in points:
        spile("-p2", "-e", f"probe {point} {{ next }}").expect(status=0)
for point, message in {'module("nosuch").trace("sched_switch")': "the module 'nosuch' is not loaded",
                       'module.trace("sched_switch")': "module needs the name of a module",
                       "kernel.tracepoint": "tracepoint needs the name of a tracepoint"}.items():
    spile("-p2", "-e", f"probe {point} {{ next }}").expect(status=1, err_match=message)
