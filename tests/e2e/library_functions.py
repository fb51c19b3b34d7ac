# Every function of the library by its result, in spile itself and in a traced program: a script of many lines each.
# variants: controller target
from spiletest import *

# What is printed for each expression. A function that gives nothing is a statement, and what it prints is the result.
CASES = r"""
strlen("abc") | 3
strlen("") | 0
substr("hello", 1, 3) | ell
substr("hello", 3, 10) | lo
substr("hello", 9, 1) |
substr("hello", -1, 2) |
stringat("a", 0) | 97
stringat("ab", 1) | 98
isinstr("abc", "bc") | 1
isinstr("abc", "x") | 0
strpos("hello", "l") | 2
strpos("a", "x") | -1
strtol("0x1f", 0) | 31
strtol("-12z", 10) | -12
strtol("z", 10) | 0
strtol(" 1", 10) | 0
strtol("+1", 10) | 0
strtol("-0x1f", 0) | -31
isdigit("5a") | 1
isdigit("a5") | 0
isdigit("") | 0
str_replace("a-b-c", "-", "++") | a++b++c
str_replace("abc", "", "x") | abc
text_str("a\tb\"c\001") | a\tb\"c\001
text_str("aä€😀z") | a\u00e4\u20ac\U0001f600z
text_str("\344\303x\340\200\200\355\240\200\364\220\200\200\303") | \344\303x\340\200\200\355\240\200\364\220\200\200\303
string_quoted("ä\n") | "\u00e4\n"
text_strn("aä", 6, 0) | a
text_strn("aä", 7, 0) | a\u00e4
text_strn("aä", 9, 1) | "a\u00e4"
text_strn("aä", 8, 1) | "a"...
text_strn("abcdefghij", 5, 0) | abcde
text_strn("abcdefghij", 9, 1) | "abcd"...
text_strn("abc", 9, 1) | "abc"
string_quoted("x\"y") | "x\"y"
tokenize("  one,two", " ,") | one
tokenize("", " ,") | two
tokenize("", " ,") |
str_join("a", "b", "-") | a-b
str_join("", "b", "-") | b
errno_str(2) | ENOENT
errno_str(3333) | E#3333
errno_str(-2) | ENOENT
errno_str(-3333) | E#-3333
errno_p(-11) | 11
errno_p(0) | 0
errno_p(-9999) | 0
errno_p(2) | 2
errno_str(errno_p(-13)) | EACCES
errno_p(9999) | 0
errno("ENOENT") | 2
errno("ENO") | 0
return_str(1, -2) | -2 (ENOENT)
return_str(1, 7) | 7
return_str(2, 255) | 0xff
return_str(3, 8) | 010
retstr(-13) | -13 (EACCES)
htons(0x1234) | 13330
big_endian2(0x1234) | 13330
big_endian4(0x01020304) | 67305985
big_endian8(1) | 72057594037927936
little_endian2(0x12345) | 9029
little_endian4(0x01020304) | 16909060
little_endian8(-1) | -1
arch_bytes() | 8
uarch_bytes() | 8
qs_time() > 0 | 1
nsecs_to_string(61000000001) | 1m1.000000001s
nsecs_to_string(1500) | 0m0.000001500s
htonl(0x01020304) | 67305985
htonll(1) | 72057594037927936
ntohs(0x3412) | 4660
ntohl(0x04030201) | 16909060
ntohll(72057594037927936) | 1
ip_ntop(0x0100007f) | 127.0.0.1
format_ipaddr(0x0100007f, 2) | 127.0.0.1
format_ipaddr(1, 3) |
MKDEV(8, 1) | 8388609
MAJOR(8388609) | 8
MINOR(8388609) | 1
usrdev2kerndev(0x801) | 8388609
signal_str(9) | SIGKILL
signal_str(35) | SIGRTMIN+3
signal_str(99) | UNKNOWN SIGNAL:99
sa_handler_str(0) | default
sa_handler_str(1) | ignored
sa_handler_str(4096) | 0x1000
sa_flags_str(0x10000004) | SIGINFO|RESTART
sigset_mask_str(0x103) | SIGHUP|SIGINT|SIGKILL
syscall_name(59) | execve
syscall_name(9999) | 9999
syscall_name(-1) | -1
syscall_num("openat") | 257
syscall_num("nope") | -1
syscall_num("") | -1
rlimit_from_str("RLIMIT_NOFILE") | 7
rlimit_from_str("x") | -1
WIFEXITED(3 << 8) | 1
WIFEXITED(9) | 0
WEXITSTATUS(3 << 8) | 3
WIFSIGNALED(139) | 1
WIFSIGNALED(0x137f) | 0
WTERMSIG(139) | 11
WCOREDUMP(139) | 1
WCOREDUMP(11) | 0
WIFSTOPPED(0x137f) | 1
WSTOPSIG(0x137f) | 19
WIFCONTINUED(0xffff) | 1
msg_flags_num2str(0x4042) | PEEK|DONTWAIT|NOSIGNAL
msg_flags_num2str(0x100400) | 0x100400
msg_flags_num2str(0) |
sock_flags_num2str(0x24) | NOSPACE|0x20
sock_type_num2str(5) | SEQPACKET
sock_type_num2str(99) | UNKNOWN(99)
sock_type_str2num("DGRAM") | 2
sock_type_str2num("x") | -1
tcp_sockopt_str(1) | TCP_NODELAY
tcp_sockopt_str(999) | 999
sock_prot_num2str(6) | TCP
sock_prot_num2str(999) | UNKNOWN(999)
sock_prot_str2num("UDP") | 17
sock_fam_num2str(2) | INET
sock_fam_str2num("INET6") | 10
sock_state_num2str(3) | CONNECTED
sock_state_str2num("x") | -1
mem_page_size() | 4096
bytes_to_string(5) |     5
bytes_to_string(2048) |  2.0K
bytes_to_string(153600) |  150K
bytes_to_string(3 << 20) |  3.0M
bytes_to_string(5 << 30) |  5.0G
pages_to_string(10) | 40.0K
proc_mem_size() > 0 | 1
proc_mem_rss_pid(pid()) > 0 | 1
proc_mem_size_pid(-5) | 0
proc_mem_size(pid()) == proc_mem_size() && proc_mem_rss(pid()) > 0 | 1
proc_mem_data(-5) + proc_mem_shr(-5) + proc_mem_txt(-5) | 0
proc_mem_string(pid()) == proc_mem_string() | 1
task_utime(tid()) + task_stime(tid()) == task_utime_tid(tid()) + task_stime_tid(tid()) | 1
tokenize("a, b", ", ") . tokenize(" ") . tokenize(" ") | ab
proc_mem_string() != "" | 1
msecs_to_string(61001) | 1m1.001s
usecs_to_string(1000001) | 0m1.000001s
nsecs_to_string(1000001) | 0m0.001000001s
cputime_to_msecs(3) | 30
cputime_to_usecs(3) | 30000
cputime_to_string(150) | 0m1.500s
task_utime() >= 0 | 1
task_start_time() > 0 | 1
task_time_string() != "" | 1
ctime(0) | Thu Jan  1 00:00:00 1970
ctime(5000000000) | far far in the future...
strlen(ctime()) | 24
tz_ctime(0) | Thu Jan  1 00:00:00 1970 UTC
tz_gmtoff() | 0
tz_name() | UTC
gettimeofday_s() > 1700000000 | 1
gettimeofday_ns() / 1000000000 - gettimeofday_s() <= 1 | 1
local_clock_us() > 0 && cpu_clock_ms(0) > 0 && get_cycles() > 0 | 1
ktime_get_ns() > 0 | 1
jiffies() / HZ() >= ktime_get_ns() / 1000000000 - 1 | 1
randint(1) | 0
randint(0) | 0
randint(5) < 5 | 1
fp_to_string(fp_div(long_to_fp(1), long_to_fp(3)), 5) | 0.33333
fp_to_string(fp_add(string_to_fp("0.1"), string_to_fp("0.2")), 17) | 0.30000000000000004
fp_to_string(fp_sub(long_to_fp(1), long_to_fp(3)), 0) | -2
fp_to_string(fp_mul(string_to_fp("1.5"), long_to_fp(-3)), 2) | -4.50
fp_to_string(fp_sqrt(long_to_fp(2)), 10) | 1.4142135624
fp_to_string(fp_rem(long_to_fp(7), long_to_fp(4)), 1) | -1.0
fp_to_string(fp_div(long_to_fp(1), 0), 1) | inf
fp_to_string(string_to_fp("none"), 1) | nan
fp_to_string(fp32_to_fp64(0x40490fdb), 6) | 3.141593
fp_to_long(string_to_fp("2.5"), 0, 0) | 2
fp_to_long(string_to_fp("-2.5"), 2, 0) | -3
fp_eq(long_to_fp(2), string_to_fp("2.0")) | 1
fp_le(long_to_fp(2), long_to_fp(1)) | 0
fp_lt(long_to_fp(1), long_to_fp(2)) | 1
user_string_quoted(0) | NULL
user_string_quoted(8) | 0x8
user_string(8, "bad") | bad
user_string_nofault(8) |
user_string_n(8, 5, "bad") | bad
user_string_n_quoted(0, 1, 1) | NULL
user_string_n_quoted(8, 1) | 0x8
user_string_utf16(8, "bad") | bad
user_string_utf32(8, "bad") | bad
user_string2_utf16(8, "bad") | bad
user_string2_utf32(8, "bad") | bad
user_string_n2_quoted(0, 1, 1) | NULL
user_string_quoted_utf16(0) | NULL
user_string_quoted_utf32(8) | 0x8
user_buffer_quoted(0, 1) | NULL
user_buffer_quoted(8, 1, 1) | 0x8
user_int(8) | 0
user_uint8(8) | 0
kernel_string(8, "bad") | bad
kernel_string_quoted(0) | NULL
kernel_string_quoted(8) | 0x8
kernel_string_utf16(8, "bad") | bad
kernel_string_utf32(8, "bad") | bad
kernel_string2_utf16(8, "bad") | bad
kernel_string2_utf32(8, "bad") | bad
kernel_string_quoted_utf16(0) | NULL
kernel_string_quoted_utf32(8) | 0x8
nfsderror(0) | NFS_OK
nfsderror(70) | NFSERR_STALE
nfsderror(htonl(70)) | NFSERR_STALE
nfsderror(10008) | NFSERR_JUKEBOX
nfsderror(htonl(10048)) | NFSERR_CB_PATH_DOWN
nfsderror(3) | 3
nfsderror(-5) | -5
kernel_buffer_quoted(8, 2) | 0x8
kernel_or_user_string_quoted(8) | 0x8
pid() == tid() | 1
ns_pid() == pid() && ns_tid() == tid() && ns_ppid() == ppid() | 1
ppid() > 0 | 1
pgrp() | GROUP
sid() | SESSION
uid() == euid() && gid() == egid() && cpu() >= 0 | 1
pexecname() == pid2execname(ppid()) | 1
pid2execname(pid()) == execname() | 1
pid2execname(-1) |
env_var("SPILE_TEST_VARIABLE") | its value
env_var("SPILE_TEST_VARIABL") |
cmdline_arg(1000) |
cmdline_str() == cmdline_args(0, -1, " ") | 1
is_myproc() | 1
remote_id() | 0
remote_uri() |
probing_32bit_app() | 0
module_size() |
module_name() == sprintf("spile_%d", stp_pid()) | 1
speculation() | 1
speculation() | 2
indent_depth(1) | 1
indent_depth(1) | 2
indent_depth(-1) | 2
indent_depth(-1) | 1
thread_indent_depth(2) | 2
thread_indent_depth(-2) | 2
substr(indent(1), 6, 9) . "|" | :|
substr(indent(1), 6, 9) . "|" | : |
substr(indent(-1), 6, 9) . "|" | : |
substr(indent(-1), 6, 9) . "|" | :|
isinstr(thread_indent(1), sprintf(" %s(%d):", execname(), tid())) | 1
read_stopwatch_ns("none") | 0
qsq_utilization("none", 100) | 0
qsq_throughput("none", 1) | 0
argc | 2
argv[1] . argv[2] | firstsecond
"""

# Each raises an error, which is caught and printed.
ERRORS = r"""
println(user_string(8)) | read fault at 0x8
println(user_int_error(8)) | read fault at 0x8
println(user_string_utf16(8)) | read fault at
println(user_buffer_quoted_error(8, 1, 0)) | read fault at
println(kernel_string(8)) | kernel read fault at 0x8
println(kernel_int(8)) | kernel read fault at
println(kernel_string_utf16(8)) | kernel read fault at
println(kernel_long(8)) | kernel read fault at
println(atomic_read(8)) | kernel read fault at
println(task_pid(1)) | not the address of a task: only probes that run in the kernel know these
println(task_current()) | task_current: only available to probes that run in the kernel; --runtime=bpf has those of processes and system calls run there
println(task_execname(1)) | not the address of a task: only probes that run in the kernel know these
println(pid2task(1)) | pid2task: only available to probes that run in the kernel; --runtime=bpf has those of processes and system calls run there
println(d_name(1)) | not an address of the kernel's memory: only probes that run in the kernel know these
printk(1, "x") | printk: only kernel modules write to the kernel's log
ftrace("x") | ftrace: only kernel modules write to the kernel's trace buffer
error("mine") | mine
println(stringat("ab", 2)) | position 2 is outside of the string
println(stringat("ab", -1)) | position -1 is outside of the string
println(stringat("", 0)) | position 0 is outside of the string
assert(0) | assertion failed
assert(1 == 2, "told so") | told so
"""


def rows(text):
    for line in text.strip("\n").split("\n"):
        expression, _, wanted = line.partition(" |")
        yield expression, wanted[1:] if wanted.startswith(" ") else wanted


# The session may be one of a PID namespace outside, whose number is 0 in here.
CASES = CASES.replace("SESSION", str(os.getsid(0))).replace("GROUP", str(os.getpgrp()))
body, wanted = "", ""
for expression, value in rows(CASES):
    body += f'  printf("%s\\n", sprint({expression}))\n'
    wanted += value + "\n"
for statement, message in rows(ERRORS):
    # Handlers of spile itself know the kernel's tasks where spile may read its memory (controller_reads_kernel.py).
    if VARIANT == "controller" and re.match(r"println\((task_current|pid2task)", statement):
        continue
    body += f'  try {{ {statement} }} catch (message) {{ println(substr(message, 0, {len(message)})) }}\n'
    wanted += message + "\n"

wanted += (
    "\033[1;1H\033[J\033[31m\033[44;31m\033[44;31;1m\033[44;31m\033[44;31;1m\033[0;0m\n\033[5;3H\033[?25l\033[?25h\033[s\033[u\n")
body += """ansi_clear_screen() ansi_set_color(31) ansi_set_color(31, 44) ansi_set_color(31, 44, 1) ansi_set_color2(31, 44)
  ansi_set_color3(31, 44, 1) ansi_reset_color() ansi_new_line() ansi_cursor_move(3, 5) ansi_cursor_hide() ansi_cursor_show()
  ansi_cursor_save() ansi_cursor_restore() println("")
  s = speculation() t = speculation()
  speculate(s, "one ") speculate(t, "never ") speculate(s, "two\\n") commit(s) discard(t) commit(t) commit(99)
  start_stopwatch("w") stop_stopwatch("w") println(read_stopwatch_s("w") + read_stopwatch_ms("w") / 1000) delete_stopwatch("w")
  qs_wait("q") qs_run("q") qs_done("q") qsq_start("q") qs_done("q") qsq_print("none")
  log("logged")
"""
wanted += ("one two\n0\nnone: 0.000 ops/s, 0.000 qlen, 0 await, 0 svctm, 0% wait, 0% util\nlogged\n")

os.environ["SPILE_TEST_VARIABLE"] = "its value"
os.environ["TZ"] = "UTC"
script = temporary_directory() / "all.stp"
if VARIANT == "controller":
    script.write_text("probe begin {\n" + body + "  exit() println(\"last\") }\n")
    wanted += "last\n"
    arguments = []
else:
    script.write_text('probe process.function("bar") {\n' + body + "}\n")
    arguments = ["-c", f"{program('calls')} 1", "-o", "/dev/stderr"]
result = spile("-w", "-D", "MAXACTION=100000", *arguments, script, "first", "second")
output = result.out if VARIANT == "controller" else result.err
expect(output, wanted, str(result) if result.status else "the output")
if VARIANT == "target":
    shown = spile("-e", 'probe process.function("bar") { print_regs() exit() }', "-c", f"{program('calls')} 1", "-o",
                  "/dev/stderr").expect(status=0)
    expect_match(r"^RIP: [0-9a-f]{16}\nRSP: [0-9a-f]{16}  EFLAGS: [0-9a-f]{8}\nRAX: (.*\n){3}R10: .*\nR13: [0-9a-f]{16} "
                 r"R14: [0-9a-f]{16} R15: [0-9a-f]{16}$", shown.err)
