# Forms that scripts of the field have, which are written for SystemTap of any age: all of them pass the first two passes, or are
# refused with a reason that helps. Each script is one form.
# variants: language system_calls kernel_names
from spiletest import *

ACCEPTED = [
    # The preprocessor.
    "@define limit %( 5 %) probe begin { if (1 > @limit) exit() }",
    '@define now %( %( "1" != "" %? gettimeofday_us() %: 0 %) %) probe begin { println(@now) }',
    '%( "" != "" %? probe begin { nonsense(1) } %: probe begin { next } %)',
    "%( kernel_v >= \"2.6.32\" %? probe begin { next } %: probe nonsense { next } %)",
    '%( kernel_vr == "2.6.9-30.ELsmp" %? %( arch == "i686" %? %: BADARCH %) %) probe begin { next }',
    "%( CONFIG_NO_SUCH_SETTING == \"y\" %? nonsense %) probe begin { next }",
    "@define pair(a, b) %( @a, @b %) global t probe begin { t[@pair(1, 2)] = 3; println(t[1, 2]) }",
    "@define each %( printf(\"%s\\n\", pp()) %) probe begin, end { @each }",
    '@define program %( "/bin/sh" %) probe process(@program).begin { next }',
    'global trace function trace(depth, extra) { %( $# > 1 %? if (tid() in trace) %) printf("%d %s\\n", depth, extra) } '
    'probe begin { trace(1, "x") }',
    # Aliases of the script's own, by their beginning, and in braces.
    "global n probe group.one = begin { kind = \"one\" } probe group.two = end { kind = \"two\" } probe group.* { n[kind]++ }",
    "probe both = begin, end {} probe both { println(pn()) }",
    "probe timer.{s(1),ms(100)} { next }",
    "probe first = never ! , begin { x = 1 } probe first { println(x) }",
    # Statements and expressions.
    "global interval, output function report() { println(1) } probe timer.s(1) { interval && (++output == 3) && exit(); "
    "!interval && report() }",
    "global a%, b%[100] probe begin { a[1] <<< 2; foreach ([k+] in a) println(k, @count(a[k])); b[1] = 1; delete b }",
    "global s probe begin { s[1, \"x\"] <<< 1; foreach ([k, n] in s- limit 3) printf(\"%d %s %d\\n\", k, n, @sum(s[k, n])) }",
    "global seen probe begin { if (!([tid()] in seen)) seen[tid()] = 1; if (pid() in seen) next }",
    "probe begin { for (;;) { if (1) break } while (0) ; text = \"\"; text .= \"x\" . \";\"; println(text) }",
    "probe begin { printf(\"%1b%-5d|%5i|%#X|%05d|%*s|%c|%%\\n\", 72, 1, 2, 255, 3, 4, \"x\", 65) }",
    "probe begin { println(\"a\" \"b\", 1 ? \"c\" : \"d\") } # a remark\n// another\n/* and one */",
    "global DEAD = -1, RUNNING = 1, state probe begin { if ((state = RUNNING) > 0) println(state == DEAD) }",
    "function f:string(a:long, b) { try { return sprintf(\"%d %s\", a, b) } catch (m) { return m } } "
    "probe begin { println(f(1, \"x\")) }",
    "private global own private function helper() { return own++ } probe begin { println(helper()) }",
    "global text probe procfs(\"counts\").read { $value .= sprintf(\"%d\\n\", 3) } probe procfs(\"counts\").write { "
    "text = $value } probe end { print(text) }",
    "probe begin, timer.s(3) { ansi_clear_screen() } probe error, end { println(\"over\") }",
    "global slow probe begin { foreach (ms- in slow limit 10) println(ms) slow[1] = 2 }",
]

# With -c: of the calls of its processes.
CALLS = [
    "probe syscall.epoll_ctl { if ($op == 1 && $fd > 2) println(argstr) }",
    "probe syscall.read.return { printf(\"%d %d %d\\n\", @entry($fd), $return, gettimeofday_us() - @entry(gettimeofday_us())) }",
    "global lat probe syscall.*.return { lat[name] <<< gettimeofday_us() - @entry(gettimeofday_us()) } "
    "probe end { foreach (n in lat-) println(n, @avg(lat[n])) }",
    "probe nd_syscall.openat.return { printf(\"%d %s\\n\", returnval(), user_string2(@entry(pointer_arg(2)), \"-\")) }",
    "global at probe nd_syscall.sendto { at[pid(), uint_arg(1)] = gettimeofday_ns() } probe nd_syscall.recvfrom.return { "
    "d = at[pid(), @entry(uint_arg(1))]; println(d) }",
    "probe syscall.{open,openat}, syscall.exec* { println(name, argstr) }",
    "probe syscall.write { printf(\"%s %s %d\\n\", $$parms, $$vars, @var(\"count\")) }",
    "probe syscall.close if (pid() == target()) { println($fd) }",
    "probe syscall.fsync.return if (@entry($fd) > 2) { println(retstr) }",
]

if VARIANT == "language":
    for script in ACCEPTED:
        result = spile("-p2", "-e", script)
        expect(result.status, 0, f"{script}\n{result}")
elif VARIANT == "system_calls":
    for script in CALLS:
        result = spile("-p2", "-e", script, "-c", "true")
        expect(result.status, 0, f"{script}\n{result}")
    for script, message, hint in [
        ("probe syscall.read { println($nonsense) }", r"unknown variable '\$nonsense' at a system call",
         r"known here: .*\$fd \$buf \$count"),
        ("probe syscall.epoll_ctl { println($event->events) }", r"'\$event' is a number here",
         r'@cast\(\$event, "TYPE", "kernel"\)->MEMBER'),
        ("probe syscall.read { println(@entry($fd)) }", "@entry needs a .return probe", ""),
        ("probe syscall.read.return { println(@entry(@entry($fd))) }", "@entry can't contain another @entry", ""),
    ]:
        err = spile("-p2", "-e", script, "-c", "true").expect(status=1).err
        expect_match(message, err, script)
        expect_match(hint, err, script)
    # The values of calls that began before the probes were armed are not known: such a return is left out. Of the others each has
    # its own.
    work = temporary_directory() / "work.py"
    work.write_text("import os\nfor i in range(50):\n  fd = os.open('/dev/null', os.O_WRONLY)\n  "
                    "assert os.write(fd, b'x' * (1000 + i)) == 1000 + i\n  os.close(fd)\n")
    out = spile("-e", """global sizes, n
probe syscall.write.return { if (@entry($count) >= 1000 && $return == @entry($count)) { sizes <<< $return; n++ } }
probe end { printf("%d %d %d\\n", n, @min(sizes), @max(sizes)) }""", "-c",
                f"{os.path.realpath(sys.executable)} -S -E {work}").expect(status=0).out
    expect(out, "50 1000 1049\n")
else:
    # A command line as main() has it, from its second word on, by a function that only the library has.
    expect_match(r'(?m)^"3" "a b"$', spile("-e", 'probe process.function("main") { println(__get_argv(pointer_arg(2), 1)) }',
                                           "-c", f"{program('calls')} 3 'a b'").expect(status=0).out)
    # Names that other kernels have: what this one has in place of them.
    names = {line.split()[2] for line in open("/proc/kallsyms")}
    for old, new, hint in [("page_cache_read", "filemap_fault", r"it is gone[\s\S]*hint: today: filemap_fault"),
                           ("mark_page_accessed_x", "mark_page_accessed", "did you mean 'mark_page_accessed'")]:
        if new not in names or old in names:
            continue
        result = spile("-p2", "-e", f'probe kernel.function("{old}") {{ next }}')
        if "kernel.function" in result.err and "no function" not in result.err:
            skip(result.err.strip())
        expect_match(hint, result.expect(status=1).err)
    # A variable of the function, which the tracepoint lacks.
    if "handle_mm_fault" in names:
        result = spile("-p2", "-e", 'probe vm.pagefault { printf("%d %d %d\\n", address, write_access, $vma->vm_start) }')
        if "kernel.function" not in result.err:
            expect_match(r'kernel.function\("handle_mm_fault"\).* <- vm.pagefault ', result.expect(status=0).out)
        expect_match("page_fault_user",
                     spile("-p2", "-e", "probe vm.pagefault { println($address, write_access) }").expect(status=0).out)
        expect_match("page_fault_user", spile("-p2", "-e", "probe vm.pagefault if (1) { println($$vars) }").expect(status=0).out)
    # The same functions under new names, and members that have moved.
    for new, script, point in [("kernel_clone", 'kernel.function("do_fork") { println(pid()) }', "kernel_clone"),
                               ("tcp_v4_rcv", 'tcp.ipv4.receive { println(saddr, dport) }', "tcp_v4_rcv"),
                               ("__x64_sys_recv", 'kernel.function("sys_recv").return { println(@entry($fd), '
                                                  '@entry($ubuf), $return) }', "__x64_sys_recv"),
                               ("tcp_v4_do_rcv", 'kernel.function("tcp_v4_do_rcv") { println(ip_ntop(@cast($sk, '
                                                 '"inet_sock")->daddr), ntohs(@cast($sk, "inet_sock")->sport), @cast($sk, '
                                                 '"inet_sock")->num) }', "tcp_v4_do_rcv"),
                               ("__x64_sys_openat", 'kernel.function("sys_openat") { println($dfd, user_string($filename), '
                                                    '$flags, $$parms) }', "__x64_sys_openat"),
                               ("__x64_sys_read", 'kernel.function("SyS_read").return { println($return, @entry($count)) }',
                                "__x64_sys_read"),
                               ("kmem_cache_alloc_noprof", 'kernel.function("kmem_cache_alloc") { println($gfpflags) }',
                                "kmem_cache_alloc_noprof"),
                               ("vfs_read", 'kernel.function("vfs_read") { println($file->f_dentry->d_inode->i_ino, '
                                            '@cast(task_current(), "task_struct")->state) }', "vfs_read"),
                               ("tcp_close", 'kernel.function("tcp_close") { println($sk->sk_family, $sk->sk_state, @cast($sk, '
                                             '"inet_sock")->inet_dport) }', "tcp_close")]:
        if new not in names:
            continue
        result = spile("-p2", "-e", "probe " + script)
        if "kernel.function" in result.err and "no function" not in result.err:
            skip(result.err.strip())
        expect_match(point, result.expect(status=0).out)
