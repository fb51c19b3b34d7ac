// toggled LIBRARY SECONDS: says "running"; eight threads call step0() to step7() and steady() all the time, with SIGPROF at 1 kHz, whose handler
// calls them too, while another thread forks children, and opens and closes LIBRARY. At the end: how often steady() was called
// in this process, and how many results were wrong.
#include <dlfcn.h>
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
  PROBED long step##n(long arg) { __asm__ volatile("" : "+r"(arg)); return arg * (n + 2) + 1; }
STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
PROBED long steady(long arg) { __asm__ volatile("" : "+r"(arg)); return arg - 3; }

static long (*const steps[])(long) = {step0, step1, step2, step3, step4, step5, step6, step7};
static volatile int stop;
static long calls, wrong;

static long round_of(long n) {
  int bad = 0;
  for (int i = 0; i < 8; i++) bad += steps[i](n) != n * (i + 2) + 1;
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
    if (child == 0) _exit(step3(5) == 26 ? 0 : 1);
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
  struct timespec left = {atoi(argv[2]), 0};
  while (nanosleep(&left, &left) != 0) {}
  stop = 1;
  for (int i = 0; i < 9; i++) pthread_join(threads[i], NULL);
  struct itimerval none = {{0, 0}, {0, 0}};
  setitimer(ITIMER_PROF, &none, NULL);
  printf("calls %ld wrong %ld\n", calls, wrong);
  return wrong != 0;
}
