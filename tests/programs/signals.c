// signals N: calls foo() N times while a timer interrupts it about 1,000 times a second; the handler calls foo() too.
// Prints the sum of the results of the main loop, which must be right, and that the handler ran.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#define PROBED __attribute__((noinline, noclone, used))

volatile long sink;
static volatile long from_handler, wrong;

PROBED long foo(long arg) {
  sink = arg;
  return arg * 3 + 1;
}

static void on_alarm(int signal) {
  from_handler++;
  if (foo(-1) != -2) wrong++;
}

int main(int argc, char** argv) {
  long n = argc > 1 ? atol(argv[1]) : 1000, sum = 0;
  struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  struct itimerval every = {{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &every, NULL);
  for (long i = 0; i < n; i++) sum += foo(i);
  signal(SIGALRM, SIG_IGN);
  printf("foo %ld wrong %ld\n", sum, wrong);
  fprintf(stderr, "handler %ld\n", from_handler);
}
