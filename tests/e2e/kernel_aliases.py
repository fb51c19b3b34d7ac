# Aliases over tracepoints of the kernel, each with a counted cause, in handlers that look at the command alone.
from spiletest import *


def kernel(script, command, pattern):
    result = spile("-o", "/dev/stderr", "-e", script, "-c", command)
    if "Operation not permitted" in result.err or "no tracepoint" in result.err:
        skip(result.err.strip())
    expect_match(f"^{pattern}$", result.err, f"{script}\n{result}")


LOOP = "i=0; while [ $i -lt 30 ]; do (exit 3); i=$((i+1)); done"

# 30 children: made, started, ended with a status, waited for, and released.
kernel("""global forks, made, exits, codes, ends, starts, waits
probe scheduler.process_fork { if (parent_pid == target()) forks++ }
probe kprocess.create { if (pid() == target()) made += new_pid == new_tid }
probe kprocess.start { if (pid() == target()) starts++ }
probe kprocess.exit { if (task_ppid(task_current()) == target()) { exits++; codes += code == 768 } }
probe scheduler.process_exit { if (task_ppid(task_current()) == target()) ends += pid == tid() }
probe scheduler.process_wait { if (pid() == target()) waits++ }
probe end { printf("%d %d %d %d %d %d %d\\n", forks, made, starts, exits, codes, ends, waits >= 30) }""", LOOP,
       "30 30 30 30 30 30 1")

# 20 sleeps: the task leaves the processor, and somebody wakes it, as often.
kernel("""global away, off, woken, name
probe scheduler.ctxswitch { if (prev_tid == target() && prevtsk_state & 1) { away++; name = prev_task_name;
  off += next_tid != prev_tid } }
probe scheduler.cpu_off { if (tid() == target()) off += task_prev == task_current() && !idle }
probe scheduler.wakeup { if (task_tid == target()) woken += task_pid == target() }
probe end { printf("%d %d %d %d\\n", away >= 20, off >= 2 * away, woken >= 20, strlen(name) > 0) }""",
       f"exec {os.path.realpath(sys.executable)} -S -c 'import time; [time.sleep(0.002) for i in range(20)]'", "1 1 1 1")

# 500 pages are touched for the first time, by writing; and 12 signals of one kind sent.
kernel("""global faults, signals
probe vm.pagefault { if (pid() == target() && write_access && name == "pagefault" && address > 0) faults++ }
probe scheduler.signal_send { if (pid() == target() && signal_number == 23) signals += pid == target() }
probe end { printf("%d %d\\n", faults >= 500 && faults < 5000, signals) }""",
       f"exec {os.path.realpath(sys.executable)} -S -c '\nimport mmap, os\nm = mmap.mmap(-1, 500 * 4096, "
       f"flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\nm.madvise(mmap.MADV_NOHUGEPAGE) if hasattr(mmap, \"MADV_NOHUGEPAGE\") "
       f"else 0\nfor i in range(500): m[i * 4096] = 1\nfor i in range(12): os.kill(os.getpid(), 23)\n'", "1 12")

# 9 signals with a handler: sent to the process, and delivered.
kernel("""global sent, got, named
probe signal.send { if (pid() == target() && sig == 10) { sent += sig_pid == target() && task < 0;
  named += sig_name == "SIGUSR1" } }
probe signal.handle { if (pid() == target() && sig == 10) got += get_sa_handler(ka_addr) > 1 && sig_mode == "User Mode Signal" }
probe end { printf("%d %d %d\\n", sent, got, named) }""",
       f"exec {os.path.realpath(sys.executable)} -S -c '\nimport os, signal\nsignal.signal(10, lambda *a: None)\n"
       f"for i in range(9): os.kill(os.getpid(), 10)\n'", "9 9 9")

# 40 packets of 100 bytes and headers, over the loopback device.
kernel("""global sent, bytes
probe netdev.transmit { if (pid() == target() && dev_name == "lo" && protocol == 0x800 && length >= 128) { sent++;
  bytes += length } }
probe end { printf("%d %d\\n", sent, bytes >= sent * 128) }""",
       f"exec {os.path.realpath(sys.executable)} -S -c '\nimport socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
       f"r = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nr.bind((\"127.0.0.1\", 0))\n"
       f"for i in range(40): s.sendto(b\"x\" * 100, r.getsockname())\n'", "40 1")

# What the kernel knows of a task is what the process knows itself.
kernel("""probe kernel.trace("sched:sched_process_exec") { if (pid() == target()) { t = task_current()
  printf("%d %d %d %d %d %s %d\\n", task_pid(t) == pid(), task_tid(t) == tid(), task_uid(t) == uid(), task_gid(t) == gid(),
    task_nice(t),
         fullpath_struct_path(task_cwd_path(t)), task_open_file_handles(t) >= 3) } }""", "cd /tmp; exec nice -n 7 true",
       f"1 1 1 1 {min(os.nice(0) + 7, 19)} /tmp 1")
