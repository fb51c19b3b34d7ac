// toggled LIBRARY SECONDS: says "running"; eight threads call step0() to step7() (with MANY_STEPS: step0000() to step1777(), octal) and steady()
// all the time, with SIGPROF at 1 kHz, whose handler calls them too, while another thread forks children, and opens and closes
// LIBRARY. At the end, or when a line comes on standard input: how often steady() was called in this process, and how many results were
// wrong.
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, used))
#define STEP(n) \
  PROBED long step##n(long arg) { __asm__ volatile("" : "+r"(arg)); return arg * (0##n + 2) + 1; }
#define POINTER(n) step##n,
#define EIGHT(of, n) of(n##0) of(n##1) of(n##2) of(n##3) of(n##4) of(n##5) of(n##6) of(n##7)
#define SIXTY_FOUR(of, n) \
  EIGHT(of, n##0) EIGHT(of, n##1) EIGHT(of, n##2) EIGHT(of, n##3) EIGHT(of, n##4) EIGHT(of, n##5) EIGHT(of, n##6) EIGHT(of, n##7)
#ifdef MANY_STEPS
#define FIVE_HUNDRED(of, n) \
  SIXTY_FOUR(of, n##0) SIXTY_FOUR(of, n##1) SIXTY_FOUR(of, n##2) SIXTY_FOUR(of, n##3) \
  SIXTY_FOUR(of, n##4) SIXTY_FOUR(of, n##5) SIXTY_FOUR(of, n##6) SIXTY_FOUR(of, n##7)
#define ALL(of) FIVE_HUNDRED(of, 0) FIVE_HUNDRED(of, 1)
#else
#define ALL(of) EIGHT(of, )
#endif
ALL(STEP)
PROBED long steady(long arg) { __asm__ volatile("" : "+r"(arg)); return arg - 3; }

static long (*const steps[])(long) = {ALL(POINTER)};
enum { kSteps = sizeof steps / sizeof *steps };
static volatile int stop;
static long calls, wrong;

static long round_of(long n) {
  int bad = 0;
  for (int i = 0; i < kSteps; i++) bad += steps[i](n) != n * (i + 2) + 1;
  bad += steady(n) != n - 3;
  if (bad) __atomic_fetch_add(&wrong, bad, __ATOMIC_RELAXED);
  __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
  return n;
}
static void on_profile(int signal) { round_of(17); }

static void* hammer(void* data) {
  for (long n = (long)data; !stop; n++) {
    round_of(n);
    if ((n & 0x3ff) == 0) usleep(1000);  // leave processor time to others
  }
  return NULL;
}

static void* disturb(void* library) {
  while (!stop) {
    pid_t child = fork();
    if (child == 0) _exit(steps[3](5) == 26 ? 0 : 1);
    int status = 1;
    if (waitpid(child, &status, 0) != child || status != 0) __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    void* opened = dlopen(library, RTLD_NOW);
    if (!opened || dlclose(opened) != 0) __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    usleep(2000);
  }
  return NULL;
}

int main(int argc, char** argv) {
  struct sigaction action = {.sa_handler = on_profile, .sa_flags = SA_RESTART};
  sigaction(SIGPROF, &action, NULL);
  struct itimerval every = {{0, 1000}, {0, 1000}};
  pthread_t threads[9];
  for (long i = 0; i < 8; i++) pthread_create(&threads[i], NULL, hammer, (void*)(i * 1000));
  pthread_create(&threads[8], NULL, disturb, argv[1]);
  setitimer(ITIMER_PROF, &every, NULL);
  printf("running\n");
  fflush(stdout);
  struct timespec now, end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec += atoi(argv[2]);
  struct pollfd line = {0, POLLIN, 0};
  do {
    char first;
    if (poll(&line, 1, 100) > 0) {
      if (read(0, &first, 1) == 1) break;
      line.fd = -1;  // nothing more will come
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (now.tv_sec < end.tv_sec);
  stop = 1;
  for (int i = 0; i < 9; i++) pthread_join(threads[i], NULL);
  struct itimerval none = {{0, 0}, {0, 0}};
  setitimer(ITIMER_PROF, &none, NULL);
  printf("calls %ld wrong %ld\n", calls, wrong);
  return wrong != 0;
}
