// sleeper MS: at a line of input, waits in vfork, which is uninterruptible sleep (state D), for a child that nobody else can
// trace and that ends after MS milliseconds. At the next line it calls work() 100 times, and waits for SIGTERM.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static volatile long sink;

static void on_end(int signal) { stop = 1; }

__attribute__((noinline, noclone, used)) long work(long arg) {
  sink = arg;
  return arg * 3 + 1;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  unsigned wait_us = (unsigned)atoi(argv[1]) * 1000;
  signal(SIGTERM, on_end);
  alarm(90);
  puts("ready");
  fflush(stdout);
  getchar();
  pid_t child = vfork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    usleep(wait_us);
    _exit(0);
  }
  waitpid(child, NULL, 0);
  getchar();
  long sum = 0;
  for (long n = 0; n < 100; n++) sum += work(n);
  printf("sum %ld\n", sum);
  fflush(stdout);
  while (!stop) usleep(10000);
  return 0;
}
