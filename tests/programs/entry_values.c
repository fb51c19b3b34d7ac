// entry_values N [SECONDS]: functions whose parameters are needed for a moment only, so that the compiler leaves nothing
// but their value at the function's entry further on. The test knows what is passed. With SECONDS, some of them are called
// for that long, all by one call of `lasting`, which says so before it begins.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, noclone, used))

volatile long sink, total;
static jmp_buf back;

// Takes every register that calls may change.
PROBED void clobber(long value) {
  sink = value;
  __asm__ volatile("" ::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
}

// a to f are dead after the first line, g is read to the end.
PROBED long dies_early(long a, int b, const char* c, unsigned char d, long e, short f, long g) {
  sink = a + b + c[0] + d + e + f;
  clobber(1);
  total += g;  // after_clobber
  clobber(2);
  return g;
}

PROBED long recurse(long depth, long n) {
  sink = n;
  if (depth == 0) return 0;
  long below = recurse(depth - 1, n + 3);
  total += below;  // after_recursion
  clobber(below);
  return below + 1;
}

static inline __attribute__((always_inline)) long inlined(long q, long r) {
  sink = q ^ r;
  clobber(3);
  total += sink;  // in_inlined
  clobber(4);
  return sink;
}
PROBED long around(long p, long q) {
  sink = p - q;
  long made = inlined(p, q);
  total += made;  // after_inlined
  return made + 1;
}

PROBED void jumper(long n) {
  sink = n;
  clobber(n);
  if (sink % 2) longjmp(back, 1);
}
PROBED void jumps_out(long n) {
  sink = n * 5;
  jumper(n);
  total += sink;  // not_jumped
  clobber(n);
}

// Each goes on as the other, in the same frame.
PROBED long tail_b(long n, long mark);
PROBED long tail_a(long n, long mark) {
  clobber(n + mark);
  total += sink;  // in_tail_a
  long left = sink - 1 - 1000;
  return left > 0 ? tail_b(left, 1000) : 0;
}
PROBED long tail_b(long n, long mark) {
  clobber(n + mark);
  total += sink;  // in_tail_b
  long left = sink - 1 - 1000;
  return left > 0 ? tail_a(left, 1000) : 0;
}

// The loop goes back to the first instruction, which does not enter the function then.
static volatile int turns;
PROBED void loops(long n) {
  long m = n;
  do {
    __asm__ volatile("incq %0" : "+D"(m));
  } while (--turns);
  total += 1;  // after_loop
}

// A child goes on in the calls that its parent has made.
PROBED int forks(long n, long m) {
  sink = n * m;
  int child = fork();
  total += child != 0;  // after_fork
  clobber(child);
  return child;
}

static long N;
static void* thread(void* arg) {
  long sum = 0;
  for (long i = 0; i < N; i++) sum += dies_early(i, (int)(i + 1), "xyz" + i % 3, (unsigned char)i, i * 7, (short)-i, (long)arg);
  return (void*)sum;
}

PROBED void rounds(long n) {
  char text[] = "abc";
  for (long i = 0; i < n; i++) {
    dies_early(i, (int)-i, text, (unsigned char)i, i << 40, (short)i, i * 2);
    around(i, i * 11);
    jumps_out(i * 2);
    if (!setjmp(back)) jumps_out(i * 2 + 1);
    tail_a(4, 1000);
  }
}

PROBED void lasting(long n, long seconds) {
  sink = n;
  time_t end = time(0) + seconds;
  puts("lasting");
  fflush(stdout);
  do {
    rounds(10);  // still_in
    usleep(1000);
  } while (time(0) < end);
}

int main(int argc, char** argv) {
  N = argc > 1 ? atol(argv[1]) : 10;
  if (argc > 2) return lasting(N, atol(argv[2])), 0;
  rounds(N);
  recurse(3, N);
  recurse(10000, 1);
  turns = 5;
  loops(N);
  pthread_t threads[4];
  for (long i = 0; i < 4; i++) pthread_create(&threads[i], 0, thread, (void*)(i + 100));
  for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
  int child = forks(N, 12);
  if (child == 0) {
    dies_early(-1, -2, "q", 3, -4, -5, -6);
    _exit(0);
  }
  waitpid(child, 0, 0);
  puts("done");
}
