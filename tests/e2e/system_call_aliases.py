# syscall.* and nd_syscall.*: variables, flags as names, results, and counts, in processes by an ordinary way and in the kernel.
# variants: in_process in_kernel names any counts second_names
# long
from spiletest import *

WORK = temporary_directory() / "work.py"
FILE = temporary_directory() / 'a "quoted" name'
WORK.write_text(f"""
import ctypes, mmap, os, signal, socket, time
call = ctypes.CDLL(None).syscall
name = {str(FILE)!r}
fd = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o640)
os.write(fd, b"two\\nlines")
os.pread(fd, 5, 2)
os.lseek(fd, -3, os.SEEK_END)
os.close(fd)
os.chmod(name, 0o600)
os.unlink(name)
try: os.open("/nowhere/at/all", os.O_WRONLY | os.O_APPEND)
except OSError: pass
m = mmap.mmap(-1, 12345, prot=mmap.PROT_READ)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 5000)
s.connect(("127.0.0.1", 4711))
socket.socket(socket.AF_INET, socket.SOCK_STREAM).setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
os.kill(os.getpid(), 0)
call(139, 1, b"ext4", 0)
call(263, -100, b"/nowhere/folder", 0x200)
call(291, 0x80000)
u = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
try: u.connect("/nowhere/socket")
except OSError: pass
os.kill(os.getpid(), signal.SIGURG)
os.setpriority(os.PRIO_PROCESS, 0, 5)
call(230, 1, 0, ctypes.byref((ctypes.c_long * 2)(0, 1000)), 0)
call(202, ctypes.byref(ctypes.c_int(7)), 129, 3, 0, 0, 0)
os._exit(0)
""")
PYTHON = f"{os.path.realpath(sys.executable)} -S -E {WORK}"

# The point, a condition, what its handler prints then (the arguments of printf), and the expected text, a pattern where it has
# \\d.
CASES = [
    ("openat", 'filename_unquoted == "%s"' % str(FILE).replace('"', '\\"'), '"%s", argstr',
     'AT_FDCWD, "%s", O_RDWR|O_CLOEXEC|O_CREAT|O_EXCL, 0640' % str(FILE).replace('"', '\\"')),
    ("openat", 'filename =~ "nowhere/at"', '"%s %d %s %s", name, dfd, flags_str, argstr',
     'openat -100 O_WRONLY|O_APPEND|O_CLOEXEC AT_FDCWD, "/nowhere/at/all", O_WRONLY|O_APPEND|O_CLOEXEC'),
    ("write", "count == 9", '"%s", buf_str', '"two\\nlines"'),
    ("pread", "offset == 2", '"%s %d %d", name, count, offset', "pread 5 2"),
    ("lseek", "offset == -3", '"%s", whence_str', "SEEK_END"),
    ("chmod", 'path =~ "quoted"', '"%o", mode', "600"),
    ("unlink", 'pathname =~ "quoted"', '"%s", name', "unlink"),
    ("mmap2", "length == 12345", '"%s %s %d", prot_str, flags_str, fd', "PROT_READ MAP_SHARED|MAP_ANONYMOUS -1"),
    ("socket", "family == 2", '"%s", argstr', "AF_INET, SOCK_DGRAM|SOCK_CLOEXEC, IPPROTO_IP"),
    ("setsockopt", "optlen == 4 && level == 1", '"%s %s", level_str, optname_str', "SOL_SOCKET SO_RCVBUF"),
    ("setsockopt", "level == 6", '"%s", argstr', r"\d+, SOL_TCP, TCP_NODELAY, 0x[0-9a-f]+, 4"),
    ("kill", "sig == 0", '"%s %s", sig_name, argstr', r"0 \d+, 0"),
    ("sysfs", "option == 1", '"%s %d", user_string(arg1), $arg1', "ext4 1"),
    ("unlinkat", 'pathname =~ "nowhere/folder"', '"%s", argstr', 'AT_FDCWD, "/nowhere/folder", AT_REMOVEDIR'),
    ("epoll_create", "flags > 0", '"%s", argstr', "EPOLL_CLOEXEC"),
    ("connect", 'uaddr_af == "AF_INET"', '"%s:%s %s", uaddr_ip, uaddr_ip_port, argstr',
     r"127.0.0.1:4711 \d+, {AF_INET, 127.0.0.1, 4711}, 16"),
    ("connect", 'uaddr_af == "AF_UNIX"', '"%s", argstr', r'\d+, {AF_UNIX, "/nowhere/socket"}, 18'),
    ("kill", "sig == 23", '"%s", sig_name', "SIGURG"),
    ("setpriority", "prio == 5", '"%s", argstr', "PRIO_PROCESS, 0, 5"),
    ("clock_nanosleep", "flags == 0", '"%s %s", clk_id_str, req_str', "CLOCK_MONOTONIC [0.000001000]"),
    ("futex", "op == 129 && val == 3", '"%s", op_str', "FUTEX_WAKE|FUTEX_PRIVATE_FLAG"),
    ("exit_group", "status == 0", '"%d", status', "0"),
    ("openat.return", "retval == -2", '"%s %s", name, retstr', "openat -2 (ENOENT)"),
    ("mmap2.return", "1", '"%d", isinstr(retstr, "0x7")', "1"),
    ("connect.return", "retval < 0", '"%s", retstr', "-2 (ENOENT)"),
    # By the names of the kernel's sources, by number, and what the call began with.
    ("lseek", "$whence == 2", '"%d %d", $offset, int_arg(3)', "-3 2"),
    ("openat", '$dfd == -100 && user_string(@var("filename"), "") =~ "nowhere/at"', '"%o %d", $mode, s32_arg(1)', "0 -100"),
    ("setsockopt", "$optlen == 4 && $level == 1", '"%d", user_int($optval)', "5000"),
    ("setpriority", "$niceval == 5", '"%s", $$parms', "which=0x0 who=0x0 niceval=0x5"),
    ("openat.return", "returnval() == -2", '"%d %d", @entry($dfd), @entry(int_arg(1))', "-100 -100"),
    ("write.return", "@entry(ulong_arg(3)) == 9", '"%d %d", $return, gettimeofday_ns() > @entry(gettimeofday_ns())', "9 1"),
    ("unlink.return", "1", '"%s", @entry(user_string_quoted($pathname))', '"%s"' % str(FILE).replace('"', '\\"')),
    # Variables of the begin, and a script's own variable of the same name.
    ("pread.return", "offset == 2", '"%s %d %d %s", name, count, retval, retstr', "pread 5 5 5"),
    ("write.return", 'buf_str =~ "two"', '"%s %d", argstr, retval', r'\d+, "two\\nlines", 9 9'),
    ("lseek.return", "$arg3 == 2 && (whence = \"mine\") == whence", '"%s", whence', "mine"),
]


def check_variables(*options):
    for i, (point, condition, printed, expected) in enumerate(CASES):
        family = "nd_syscall" if i % 3 == 0 else "syscall"
        printed = printed.replace('"', '"= ', 1).replace('",', '\\n",', 1)
        script = f"probe {family}.{point} {{ if (pid() == target() && ({condition})) printf({printed}) }}"
        result = spile(*options, "-e", script, "-c", PYTHON)
        if "Operation not permitted" in result.err:
            skip(result.err.strip())
        result.expect(status=0)
        pattern = expected if "\\d" in expected else re.escape(expected)
        expect_match(f"^= {pattern}$", result.out, f"{script}\n{result}")


if VARIANT == "in_process":
    check_variables()
elif VARIANT == "in_kernel":
    check_variables("--runtime=bpf")
elif VARIANT == "names":
    # Every name of the machine's calls, and their counts by one handler each.
    made = temporary_directory()
    page = made / "page.md"
    expect(subprocess.run([ROOT / "tools/syscalls/make_tapset", made, page]).returncode, 0)
    expect_true(page.read_text() == (ROOT / "docs/syscalls.md").read_text(), "docs/syscalls.md is not what ./dev docs makes")
    for file in made.glob("*.stp"):
        expect_true(file.read_text() == (ROOT / "tapset" / file.name).read_text(),
                    f"tapset/{file.name} is not what ./dev docs makes")
    expect(len(list(made.glob("*.stp"))),
           len([*(ROOT / "tapset").glob("syscalls_*.stp"), *(ROOT / "tapset").glob("syscall_names_*.stp")]))
    listed = spile("-l", "syscall.*").expect(status=0).out.splitlines()
    returns = spile("-l", "syscall.*.return").expect(status=0).out.splitlines()
    expect_true(len(listed) > 350 and len(returns) > 350, f"{len(listed)} {len(returns)}")
    # A name that stands for two calls, beside another one.
    spile("-p2", "-e", "probe syscall.mmap2, syscall.mprotect { println(name) }", "-c", "true").expect(status=0)
    # All bodies are right, with all of their variables.
    spile("-p2", "-e", "probe syscall.* { println($$vars) } probe syscall.*.return { println($$vars) }", "-c",
          "true").expect(status=0)
    # What is wrong is said.
    for point, message in (('process.syscall("opn")', "no system call is named 'opn'"),
                           ('process("true").syscall("read")', "probed of all processes"),
                           ("process.syscall(3)", "unexpected parameter"), ("syscall.opn", "did you mean 'syscall.open'"),
                           ('process.syscall("read").begin', "can't follow")):
        expect_match(message, spile("-p2", "-e", f"probe {point} {{ next }}", "-c", "true").expect(status=1).err)
elif VARIANT == "any":
    # One handler for all calls shows what the call's own alias shows.
    own = "\n".join('probe syscall.%s { printf("%%s(%%s)\\n", name, argstr) }' % name
                    for name in ("openat", "write", "lseek", "chmod", "socket", "connect", "setsockopt", "setpriority", "futex",
                                 "clock_nanosleep"))
    one = (
        'probe syscall.* { '
        'if (name =~ "^(openat|write|lseek|chmod|socket|connect|setsockopt|setpriority|futex|clock_nanosleep)$") '
        'printf("%s(%s)\\n", name, argstr) }')
    def lines(script):
        return re.sub(r"0x[0-9a-f]+", "0x", spile("-e", script, "-c", PYTHON).expect(status=0).out)
    expect(lines(one), lines(own))
    expect_match(r"^openat\(", lines(one))
    names = spile("-e", 'probe syscall.*.return { if (retval == -2) printf("%s %s %s\\n", pn(), name, retstr) }', "-c",
                  PYTHON).expect(status=0).out
    expect_match(r"^syscall.openat.return openat -2 \(ENOENT\)$", names)
elif VARIANT == "counts":
    script = """global entered, left
    probe syscall.* { if (pid() == target()) entered[name]++ }
    probe syscall.*.return { if (pid() == target()) left[name] <<< retval }
    probe end { printf("%d %d %d\\n", entered["getppid"], @count(left["getppid"]), entered["read"] - @count(left["read"])) }"""
    for options in ([], ["--runtime=bpf"]):
        result = spile(*options, "-e", script, "-c", f"{program('syscalls')} getpid 500", "-o", "/dev/stderr")
        if "Operation not permitted" in result.err:
            skip(result.err.strip())
        expect_match(r"^0 0 0$", result.expect(status=0).err)
    script = script.replace("getppid", "getpid")
    for options in ([], ["--runtime=bpf"]):
        result = spile(*options, "-e", script, "-c", f"{program('syscalls')} getpid 500", "-o", "/dev/stderr").expect(status=0)
        expect_match(r"^500 500 0$", result.err, str(result))
elif VARIANT == "second_names":
    # send() and recv() are sendto and recvfrom without an address. Patterns count each call once.
    work = temporary_directory() / "net.py"
    work.write_text("""import socket
a, b = socket.socketpair()
for i in range(5): a.send(b"hello")
for i in range(4): b.recv(5)
u, r = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for i in range(2))
r.bind(("127.0.0.1", 0))
for i in range(3): u.sendto(b"abc", r.getsockname())
for i in range(2): r.recvfrom(10)
""")
    script = """global n, shown
probe syscall.send { n[name]++; shown = argstr } probe syscall.recv { n[name]++ }
probe syscall.send.return { n[name . ".return"] += len == retval }
probe nd_syscall.recv.return { n[name . ".return"] += retval == 5 }
probe syscall.sendto, syscall.recvfrom { n["own " . name]++ } probe syscall.send* { n["send* " . name]++ }
probe syscall.* { if (name =~ "^(send|recv)") n["all " . name]++ }
probe syscall.*.return { if (name =~ "^(send|recv)") n["all.return " . name]++ }
probe end { foreach (k+ in n) printf("%s %d, ", k, n[k]); println(substr(shown, isinstr(shown, ",") + 1, 100)) }"""
    expected = ("all recvfrom 6, all sendto 8, all.return recvfrom 6, all.return sendto 8, own recvfrom 6, own sendto 8, recv 4, "
                "recv.return 4, send 5, send* sendto 8, send.return 5,  \"hello\", 5, 0x0\n")
    out = spile("-e", script, "-c", f"{os.path.realpath(sys.executable)} -S -E {work}").expect(status=0).out
    expect(out, expected)
    listed = spile("-l", "syscall.send*").expect(status=0).out.split()
    expect_true("syscall.sendto" in listed and "syscall.send" not in listed, listed)
    expect_match("syscall.send ", spile("-L", "syscall.send").expect(status=0).out)
