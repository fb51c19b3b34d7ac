// filtered ACTION: calls foo() once, puts itself under a seccomp filter that lets little more pass than read, write and the
// making of threads and children (ACTION: kill, trap or errno for all else), says "ready", and then for each line
// "MAIN THREAD CHILD" calls foo() that often in its main thread, in a new one, and in a forked child. Ends with its input.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, noclone, used))

volatile long sink;
static volatile int traps;

PROBED long foo(long arg) {
  sink = arg;
  return arg * 3 + 1;
}

static void on_trap(int signal) { traps++; }

static void *call(void *times) {
  for (long i = 0; i < (long)times; i++) foo(i);
  return NULL;
}

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void put_filter(const char *action) {
  unsigned other = !strcmp(action, "kill")   ? SECCOMP_RET_KILL_PROCESS
                   : !strcmp(action, "trap") ? SECCOMP_RET_TRAP
                                             : SECCOMP_RET_ERRNO | ENOSYS;
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(SYS_read), ALLOW(SYS_write), ALLOW(SYS_exit), ALLOW(SYS_exit_group), ALLOW(SYS_rt_sigreturn),
      ALLOW(SYS_restart_syscall), ALLOW(SYS_clone), ALLOW(SYS_clone3), ALLOW(SYS_futex), ALLOW(SYS_wait4),
      // What glibc makes a thread with, and ends it with; its stack is taken before.
      ALLOW(SYS_set_robust_list), ALLOW(SYS_rseq), ALLOW(SYS_rt_sigprocmask), ALLOW(SYS_madvise),
      BPF_STMT(BPF_RET | BPF_K, other),
  };
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) _exit(99);
}

// Within the filter nothing may be printed through stdio before its buffer exists.
static void say(const char *text) { write(1, text, strlen(text)); }

int main(int argc, char **argv) {
  signal(SIGSYS, on_trap);
  pthread_t thread;
  // One thread's stack, kept by glibc for the next.
  pthread_create(&thread, NULL, call, (void *)0);
  pthread_join(thread, NULL);
  char line[100], answer[100];
  setvbuf(stdin, malloc(4096), _IOLBF, 4096);
  if (argc < 3) foo(0);
  put_filter(argv[1]);
  say("ready\n");
  for (;;) {
    long length = read(0, line, sizeof line - 1), in_main, in_thread, in_child;
    if (length <= 0) _exit(traps);
    line[length] = 0;
    if (sscanf(line, "%ld %ld %ld", &in_main, &in_thread, &in_child) != 3) _exit(98);
    call((void *)in_main);
    if (pthread_create(&thread, NULL, call, (void *)in_thread)) _exit(97);
    pthread_join(thread, NULL);
    pid_t child = fork();
    if (child == 0) {
      call((void *)in_child);
      _exit(3);
    }
    int status = -1;
    waitpid(child, &status, 0);
    snprintf(answer, sizeof answer, "child %d.%d traps %d\n", WEXITSTATUS(status), WTERMSIG(status), traps);
    say(answer);
  }
}
