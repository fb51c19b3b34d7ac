// vforks SECONDS: until SIGTERM comes or SECONDS have passed, vforks one child after another. Each calls foo() for some
// 10 ms in its parent's memory, which waits; every other one then runs /bin/true instead of ending. A second thread
// calls foo() all the time. Prints "ready" at the start, and at the end how many children there were and how many went wrong.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, noclone, used))

static volatile sig_atomic_t stop;
static volatile long sink, wrong;

static void on_end(int signal) { stop = 1; }

PROBED long foo(long arg) {
  sink = arg;
  return arg * 3 + 1;
}

static long milliseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void* run(void* data) {
  for (long i = 0; !stop; i++) {
    if (foo(i) != i * 3 + 1) wrong++;
    if (i % 1000 == 0) usleep(100);
  }
  return NULL;
}

int main(int argc, char** argv) {
  signal(SIGTERM, on_end);
  signal(SIGALRM, on_end);
  alarm(argc > 1 ? (unsigned)atoi(argv[1]) : 10);
  puts("ready");
  fflush(stdout);
  pthread_t thread;
  pthread_create(&thread, NULL, run, NULL);
  long children = 0;
  for (; !stop; children++) {
    int status = 1;
    pid_t child = vfork();
    if (child == 0) {
      int bad = 0;
      for (long i = 0, end = milliseconds() + 10; i % 1000 || milliseconds() < end; i++) bad |= foo(i) != i * 3 + 1;
      if (bad || children % 2) _exit(bad);
      execl("/bin/true", "true", (char*)NULL);
      _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) wrong++;
  }
  pthread_join(thread, NULL);
  printf("children %ld wrong %ld\n", children, wrong);
  return wrong != 0;
}
