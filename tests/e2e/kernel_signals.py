# signal.send.return and what signals carry, in handlers in the kernel that look at the command alone; and strings of wide
# characters of the kernel's.
from spiletest import *


def kernel(script, program, pattern):
    result = spile("-o", "/dev/stderr", "-e", script, "-c", f"exec {os.path.realpath(sys.executable)} -S -c '\n{program}'")
    if "Operation not permitted" in result.err or "no tracepoint" in result.err:
        skip(result.err.strip())
    expect_match(f"^{pattern}$", result.err, f"{script}\n{result}")


# 9 signals to the process, 7 to its one thread. With no room in the queue, 5 signals of the real-time kind are lost, which kill()
# says only of sigqueue()'s.
kernel("""global whole, one, kept, lost, entries, texts, mine
probe signal.send { mine = pid() == target() && (sig == 10 || sig == 40) }
probe signal.send.return { if (pid() == target() && mine && name == "signal_generate") {
  if (retstr == "0") { kept++; shared ? whole++ : one++ } else { lost++; texts[retstr] = 1 }
  entries += send2queue } }
probe end { printf("%d %d %d %d %d", kept, whole, one, lost, entries) foreach (t in texts) printf(" %s", t) println("") }""",
       """import ctypes, os, resource, signal, threading
signal.signal(10, lambda *a: None)
for i in range(9): os.kill(os.getpid(), 10)
for i in range(7): signal.pthread_kill(threading.get_ident(), 10)
resource.setrlimit(resource.RLIMIT_SIGPENDING, (0, 0))
signal.pthread_sigmask(signal.SIG_BLOCK, [40])
info = (ctypes.c_int * 32)(40, 0, -1)
for i in range(5): ctypes.CDLL(None).syscall(129, os.getpid(), 40, info)""", r"16 9 7 5 0 -11 \(EAGAIN\)")

# 4 ends of a timer of timer_create(2): the kernel keeps the entry of the queue. The registers are those with which the thread has
# entered the kernel, and the set is what it blocks (signal 12).
kernel("""global ends, others, right, sets
probe signal.send { if (sig_pid == target() && sig == 10) { ends += send2queue; others += !send2queue } }
probe signal.handle { if (pid() == target() && sig == 10) {
  right += @cast(regs, "pt_regs", "kernel")->cs & 3
  sets += @cast(oldset_addr, "sigset_t", "kernel")->sig[0] == 1 << 11 } }
probe end { printf("%d %d %d %d\\n", ends, others, right / 3, sets) }""",
       """import ctypes, os, signal, time
ended = []
signal.signal(10, lambda *a: ended.append(1))
signal.pthread_sigmask(signal.SIG_BLOCK, [12])
c = ctypes.CDLL(None)
event, timer = (ctypes.c_int * 16)(0, 0, 10, 0), ctypes.c_int()
c.syscall(222, 1, event, ctypes.byref(timer))
for i in range(4):
    c.syscall(223, timer, 0, (ctypes.c_long * 4)(0, 0, 0, 1000000), None)
    while len(ended) <= i: signal.sigtimedwait([], 1)
for i in range(2): os.kill(os.getpid(), 10)""", "4 2 6 6")

# A thread's name is 16 bytes with zeros behind: here two letters of UTF-16, and one of UTF-32. Before Linux 6.12 quoted strings
# have octal numbers.
kernel("""global texts probe kernel.trace("syscalls:sys_enter_getppid") { if (pid() == target()) {
  name = &@cast(task_current(), "task_struct", "kernel")->comm
  texts[16] = kernel_string_utf16(name, "bad") . kernel_string_quoted_utf16(name)
  texts[32] = kernel_string_utf32(name, "bad") . kernel_or_user_string_quoted_utf32(name) . kernel_string_utf16(8, "none")
  println(texts[16], texts[32]) } }""",
       """import ctypes, os
for name in b"-N\\x87e", b"\\x01\\xf6\\x01":
    ctypes.CDLL(None).prctl(15, name)
    os.getppid()""",
       r'(.*\n)?\u4e2d\u6587"(\\u4e2d\\u6587|\\344\\270\\255\\346\\226\\207)"bad0xffff\w+none\n'
       r'.*\U0001f601"(\\U0001f601|\\360\\237\\230\\201)"none')
