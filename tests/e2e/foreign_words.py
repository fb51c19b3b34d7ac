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
                      ("usdt:/bin/true:a { }", "mark")):
    refused(script, "this is bpftrace's language", here)
refused('interval = 3', "statements belong inside a probe")
for name, near in (("printl", "println"), ("gettimeofday_n", "gettimeofday_ns"), ("str", "user_string"), ("strcmp", "a == b"),
                   ("xyzzyxyzzy", "spile --dump-functions")):
    refused(f'probe begin {{ {name}("x") }}', f"unresolved function '{name}'", near)
refused('probe proces.function("f") { }', "did you mean 'process'?")
