// forkers SECONDS THREADS LOG: threads that fork all the time, within foo_forks(), until SIGTERM comes or SECONDS have
// passed. Each child calls foo() 10 times and ends with status 0 if all was right. LOG gets a record for each child that
// has ended. Prints "ready" at the start, and at the end the number of children and of those that went wrong.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, noclone, used))

struct record {
  int32_t thread, pid, status, unused;
  int64_t start_ns, end_ns;  // CLOCK_MONOTONIC, before the fork and after the wait
};

static volatile sig_atomic_t stop;
static volatile long sink;
static int log_file;
static long children, wrong;

static void on_end(int signal) { stop = 1; }

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

PROBED long foo(long arg) {
  sink = arg;
  return arg * 3 + 1;
}

// Returns twice, and must in both processes return to where it was called.
PROBED pid_t foo_forks(long arg) {
  sink = arg;
  pid_t child = fork();
  sink = child;
  return child;
}

static void* run(void* data) {
  for (long i = 0; !stop; i++) {
    struct record record = {.thread = (int32_t)(intptr_t)data, .start_ns = now()};
    record.pid = foo_forks(i);
    if (record.pid == 0) {
      long sum = 0;
      for (long n = 0; n < 10; n++) sum += foo(n);
      _exit(sum == 145 ? 0 : 1);
    }
    if (record.pid < 0) break;
    waitpid(record.pid, &record.status, 0);
    record.end_ns = now();
    if (write(log_file, &record, sizeof record) != sizeof record) abort();
    __atomic_fetch_add(&children, 1, __ATOMIC_RELAXED);
    if (record.status != 0) __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    usleep(200);
  }
  return NULL;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  int threads = atoi(argv[2]);
  log_file = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  signal(SIGTERM, on_end);
  signal(SIGALRM, on_end);
  alarm((unsigned)atoi(argv[1]));
  puts("ready");
  fflush(stdout);
  pthread_t thread[16];
  for (intptr_t i = 0; i < threads && i < 16; i++) pthread_create(&thread[i], NULL, run, (void*)i);
  for (int i = 0; i < threads && i < 16; i++) pthread_join(thread[i], NULL);
  printf("children %ld wrong %ld\n", children, wrong);
  return wrong != 0;
}
