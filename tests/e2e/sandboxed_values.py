# What handlers know of who runs them, in programs that end for almost any system call: handlers make none, whether the filter was
# there before the probes or came later. Names and users are right from the call on that changes them.
# variants: strict filter
import subprocess

from spiletest import *

if os.geteuid() != 0:
    skip("needs root to change users")
SOURCE = r"""
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
__attribute__((noipa)) int work(int n) { return n + 1; }
static int n;
static void calls(int count) { for (int i = 0; i < count; i++) n = work(n); }
#define ALLOW(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
static void shut(int strict) {
  struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                               ALLOW(SYS_read), ALLOW(SYS_write), ALLOW(SYS_exit), ALLOW(SYS_exit_group),
                               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  struct sock_fprog filter = {sizeof code / sizeof *code, code};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (strict ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter))
    _exit(3);
}
static void *other(void *arg) { calls(7); return arg; }
int main(int argc, char **argv) {
  int strict = !strcmp(argv[1], "strict"), first = argc > 2;
  char go;
  pthread_t thread;
  if (!first) {
    if (write(1, "ready\n", 6) != 6 || read(0, &go, 1) != 1) return 2;
    calls(1);
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < 20; i++) {  // names that change all the time are not mixed up
      prctl(PR_SET_NAME, i % 2 ? "odd" : "even");
      calls(10);
    }
    pthread_setname_np(pthread_self(), "boxed");
    calls(2);
    if (setresgid(7, 8, 9)) return 4;
    calls(3);
    if (setresuid(1, 2, 3)) return 5;
    calls(4);
  }
  shut(strict);
  if (first && (write(1, "ready\n", 6) != 6 || read(0, &go, 1) != 1)) return 2;
  calls(5);
  syscall(SYS_exit, 0);
}
"""
VALUES = ('execname()', 'uid()', 'euid()', 'gid()', 'egid()')
SCRIPT = f"""global c, wrong
probe process.function("work") {{
  c[{", ".join(VALUES)}]++
  if (pid() != target() || ns_pid() <= 0 || ppid() <= 0 || pgrp() != GROUP || sid() != SESSION || pid2execname(pid()) == "" ||
      proc_mem_size() <= 0 || task_utime() < 0 || ktime_get_ns() <= 0 || ns_uid() != uid() || ns_egid() != egid() ||
      cmdline_arg(1) != "{VARIANT}" || env_var("SPILE_TEST_BOX") != "yes" || gettimeofday_s() <= 0) wrong++
}}
probe end {{
  foreach ([n, u, e, g, f] in c) printf("%s %d %d %d %d: %d\\n", n, u, e, g, f, c[n, u, e, g, f])
  printf("%d wrong\\n", wrong)
}}"""
directory = temporary_directory()
binary = directory / "box"
subprocess.run(["gcc", "-g", "-O1", "-D_GNU_SOURCE", "-x", "c", "-o", binary, "-", "-pthread"], input=SOURCE.encode(), check=True)


def run(*arguments):
    target = start(binary, VARIANT, *arguments, ready="ready", stdin=subprocess.PIPE, env=os.environ | {"SPILE_TEST_BOX": "yes"})
    # Both are 0 where a session's leader is outside of the PID namespace.
    script = SCRIPT.replace("GROUP", str(os.getpgid(target.pid))).replace("SESSION", str(os.getsid(target.pid)))
    session = Session("-e", script, "-x", target.pid).attached(target.pid)
    target.stdin.write(b"g")
    target.stdin.flush()
    expect(target.wait(60), 0, "status of the program")
    return sorted(session.wait().expect().out.splitlines())


expect(run(), sorted(["box 0 0 0 0: 8", "even 0 0 0 0: 100", "odd 0 0 0 0: 100", "boxed 0 0 0 0: 2", "boxed 0 0 7 8: 3",
                      "boxed 1 2 7 8: 9", "0 wrong"]), "who runs, with the filter put on later")
expect(run("first"), ["0 wrong", "box 0 0 0 0: 5"], "who runs, with the filter put on before")
