# process("PATH").begin, .end, .thread, .syscall without -x and -c: of all processes that execute that very file, and of no
# others. Handlers of such scripts work over maps of the kernel, as all did before Linux 6.12 (docs/language.md): what of the
# language these have. In a PID namespace of its own, as in a container, spile knows processes by that one's numbers.
# variants: lives own_pids system_calls language
# long
from spiletest import *

if VARIANT == "own_pids" and os.environ.get("SPILE_TEST_OWN_PIDS") != "1":
    os.environ["SPILE_TEST_OWN_PIDS"] = "1"
    os.execvp("unshare", ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, *sys.argv])

if os.geteuid() != 0:
    skip("needs root; the virtual machine's tests cover it")
directory = temporary_directory()


def everywhere(script):
    session = Session("-e", script + ' global ticks probe timer.ms(20) { if (!ticks++) println("armed") }')
    return session.wait_output("^armed$")


if VARIANT in ("lives", "own_pids"):
    shell, sleep, calls = shutil.copy("/bin/dash", directory / "sh"), shutil.copy("/bin/sleep", directory / "sleep"), shutil.copy(
        program("calls"), directory / "calls")
    old = start(sleep, 100)
    wait_until(lambda: os.readlink(f"/proc/{old.pid}/exe") == str(sleep), 20, "sleep to be executed")
    session = everywhere(f"""global n, births, deaths
        probe process("{sleep}").begin {{ n["begin"]++ }} probe process("{sleep}").end {{ n["end"]++; if (pid() == {old.pid}) n["old"]++ }}
        probe process("{shell}").begin {{ n["shell begin"]++ }} probe process("{shell}").end {{ n["shell end"]++ }}
        probe process("{calls}").thread.begin {{ births++ }} probe process("{calls}").thread.end {{ deaths++ }}
        probe end {{ printf("%d %d %d, %d %d, %d %d\\n", n["begin"], n["end"], n["old"], n["shell begin"], n["shell end"], births, deaths) }}""")
    # A shell with ten children that execute it; an exec leaves the shell. Each child is a shell before it is sleep.
    subprocess.run([shell, "-c", f"i=0; while [ $i -lt 10 ]; do {sleep} 0; i=$((i + 1)); done; exec /bin/true"], check=True)
    subprocess.run(["/bin/sleep", "0"], check=True)
    subprocess.run([calls, "100", "7"], check=True, stdout=subprocess.DEVNULL)
    old.kill()
    old.wait()
    session.stop().expect(out_match="^10 11 1, 11 11, 7 7$")

if VARIANT == "system_calls":
    path = shutil.copy("/bin/dd", directory / "dd")
    copies = lambda: subprocess.run([path, "if=/dev/zero", "of=/dev/null", "bs=3", "count=400"], check=True,
                                    stderr=subprocess.DEVNULL)
    session = everywhere(f"""global c, r, others
        probe process("{path}").syscall {{ if (execname() != "dd") others++; if ($syscall == 1 && $arg3 == 3) c++ }}
        probe process("{path}").syscall.return {{ if ($syscall == 1 && $return == 3) r++ }}
        probe end {{ printf("%d %d %d\\n", c, r, others) }}""")
    copies()
    subprocess.run(["dd", "if=/dev/zero", "of=/dev/null", "bs=3", "count=1000"], check=True, stderr=subprocess.DEVNULL)
    copies()
    session.stop().expect(out_match="^800 800 0$")
    spile("-e", 'probe process("/no/such/program").begin {}').expect(status=1, err_match="No such file or directory")

if VARIANT == "language":
    path = shutil.copy("/bin/true", directory / "true")
    session = everywhere(f"""global a, b, s, n
        function half:long(x) {{ if (x % 2) error(sprintf("%d is odd", x)); return x / 2 }}
        probe process("{path}").begin {{
            s["k"] = sprintf("%5d|%-5d|%05d|%x|%X|%o|%p|%s|%6s|%-6s|%.2s|%c|%#x|%+d", -42, 42, 42, 255, 255, 511, 255, execname(), execname(), execname(), execname(), 65, 255, 7)
            s["k"] .= "."; println(s["k"])
            try {{ println(half(8)); println(half(7)) }} catch (m) {{ println("caught ", m) }}
            try {{ println(kernel_string(-1)) }} catch {{ println("no string") }}
            println(errno_str(-2), errno_str(4000), signal_str(2), signal_str(35), signal_str(0))
            println(execname() =~ "^t.*e$", execname() =~ "^x", "ab1" !~ "[0-9]$")
            for (i = 0; i < 20; i++) {{ a[i] = i; b[i, execname()] = execname() }}
            delete a; delete b; a[7] = ++n; println(a[1], b[1, "true"], 7 in a, [2, "true"] in b) }}
        probe end {{ foreach (k in a) println(k, " ", a[k]); foreach ([k, t] in b) println(k, t) }}""")
    for i in range(2):
        subprocess.run([path], check=True)
    once = r"  -42\|42   \|00042\|ff\|FF\|777\|0x00000000000000ff\|true\|  true\|true  \|tr\|A\|0xff\|\+7\.\n4\ncaught 7 is odd\nno string\n" \
           r"ENOENTE#4000SIGINTSIGRTMIN\+3UNKNOWN SIGNAL:0\n100\n010\n"
    session.stop().expect(out_match=f"^({once}){{2}}7 2$")
    # A handler that eBPF has no room for is named by its place: LLVM would end spile.
    lines = "\n".join(f"n += {i} * (n & 7) + gettimeofday_us() % {i + 2}" for i in range(1300))
    script = directory / "large.stp"
    script.write_text(f'global n\nprobe process("{path}").begin {{\n{lines}\n}}')
    large = spile("-p4", "-DMAXACTION=100000", script, timeout=100)
    expect_match(r"^spile: .*large.stp:2:1: a handler is too large for the kernel", large.expect(status=1).err)
