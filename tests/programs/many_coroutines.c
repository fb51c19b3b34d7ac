// many_coroutines N ROUNDS: N coroutines wait within the probed function `inner`, called by the probed function `outer`, and are
// resumed in turn, now by one thread, now by another; in the end half of them are thrown away, by longjmp or with their stacks,
// and others begin in the same memory. `plain` has the same code and is never probed. Prints how often each was called and left,
// and what a call of both probed functions costs more than two of the plain one, in ns of processor time.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define PROBED __attribute__((noinline, noclone, used))

struct coroutine {
  void* stack_pointer;
  char* stack;
  jmp_buf start;
  int leaves;
};
static struct coroutine* coroutines;
static void* resumer;
static long count, current, stack_size = 16384;
static int probed;
static long calls, returns;

__attribute__((naked, noinline)) static void switch_stacks(void** from, void* to) {
  __asm__("push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; mov %rsp, (%rdi); mov %rsi, %rsp;"
          "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret");
}

static inline __attribute__((always_inline)) long wait_for_turn(long value) {
  switch_stacks(&coroutines[current].stack_pointer, resumer);
  if (coroutines[current].leaves) longjmp(coroutines[current].start, 1);
  return value + 1;
}
PROBED long inner(long value) { return wait_for_turn(value); }
PROBED long outer(long value) {
  long result = inner(value);
  __asm__ volatile("" : "+r"(result));
  return result + 1;
}
PROBED long plain_inner(long value) { return wait_for_turn(value); }
PROBED long plain(long value) {
  long result = plain_inner(value);
  __asm__ volatile("" : "+r"(result));
  return result + 1;
}

static void body(void) {
  setjmp(coroutines[current].start);
  coroutines[current].leaves = 0;
  for (;;) {
    if (!probed) {
      plain(1);
      continue;
    }
    long value = ++calls;
    if (outer(value) != value + 2) abort();
    returns++;
  }
}

static void begin(long which) {
  struct coroutine* coroutine = &coroutines[which];
  uint64_t* top = (uint64_t*)(coroutine->stack + stack_size) - 2 - which % 16 * 8;
  memset(coroutine->stack, 0, stack_size);
  top[0] = (uint64_t)body;
  coroutine->stack_pointer = top - 6;
  coroutine->leaves = 0;
}

static void* resume_all(void* unused) {
  for (current = 0; current < count; current++) switch_stacks(&resumer, coroutines[current].stack_pointer);
  return unused;
}
static void resume_all_elsewhere(void) {
  pthread_t thread;
  pthread_create(&thread, 0, resume_all, 0);
  pthread_join(thread, 0);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1e9 + time.tv_nsec;
}

int main(int words, char** word) {
  count = atol(word[1]);
  long rounds = atol(word[2]);
  coroutines = calloc(count, sizeof *coroutines);
  char* stacks = mmap(0, count * stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (long n = 0; n < count; n++) {
    coroutines[n].stack = stacks + n * stack_size;
    begin(n);
  }
  double best[2] = {1e18, 1e18};
  for (int repeat = 0; repeat < 10; repeat++) {
    probed = repeat & 1;
    resume_all(0);
    double start = now();
    for (long round = 0; round < rounds; round++) resume_all(0);
    double each = (now() - start) / (rounds * count);
    if (each < best[probed]) best[probed] = each;
    for (int moves = 0; moves < 4; moves++) resume_all_elsewhere();
  }
  for (int times = 0; times < 4; times++) {
    for (long n = times & 1; n < count; n += 2) {
      if (n % 4 < 2) coroutines[n].leaves = 1;
      else begin(n);
    }
    resume_all_elsewhere();
    resume_all(0);
  }
  printf("calls %ld returns %ld\n", calls, returns);
  fprintf(stderr, "more %.1f\n", best[1] - best[0]);
  return 0;
}
