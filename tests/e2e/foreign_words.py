# Words of other languages, and names that were not typed to their end: the error says what is meant here.
from spiletest import *


def refused(script, *texts):
    result = spile("-p2", "-e", script).expect(status=1)
    for text in texts:
        expect_true(text in result.err, f"{script}: {text!r} is not in\n{result.err}")


for script, here in (("BEGIN { printf(\"hi\") }", "probe begin"), ("END { }", "probe end"),
                     ("uprobe:/bin/true:main { @[comm] = count(); }", 'process("PROGRAM").function("NAME")'),
                     ("uretprobe:/bin/true:main { }", ".return"), ("kprobe:vfs_read /pid == 3/ { }", "kernel.function"),
                     ("k:vfs_read { }", "kernel.function"), ("tracepoint:syscalls:sys_enter_openat { }", "syscall.NAME"),
                     ("interval:s:1 { }", "timer.s(1)"), ("profile:hz:99 { }", "timer.profile"),
                     ("usdt:/bin/true:a { }", "mark"), ("config = { max_map_keys = 3 }", "-D"),
                     ("fn f($a : int64) : int64 { return 1 }", "function NAME"), ("iter:task { }", "foreach"),
                     ("self:signal:SIGUSR1 { }", "process.begin")):
    refused(script, "this is bpftrace's language", here)
for script in "@a = 1", "@a[pid()] = 1", "@a++":
    refused(f"probe begin {{ {script} }}", "unknown operator or macro '@a'", "bpftrace's maps are globals here: global a")
refused("probe begin { @[pid()] = 1 }", "a name must follow '@'", "bpftrace's maps are globals here")
refused('interval = 3', "statements belong inside a probe")
for name, near in (("printl", "println"), ("gettimeofday_n", "gettimeofday_ns"), ("str", "user_string"), ("strcmp", "a == b"),
                   ("xyzzyxyzzy", "spile --dump-functions")):
    refused(f'probe begin {{ {name}("x") }}', f"unresolved function '{name}'", near)
refused('probe proces.function("f") { }', "did you mean 'process'?")
