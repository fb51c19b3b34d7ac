// coroutines N: two coroutines take turns from within probed functions, N rounds each, resumed by several threads; prints how
// often each function was called.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

#define PROBED __attribute__((noinline, noclone, used))

static ucontext_t coroutines[2], scheduler;
static int current;
static long rounds, steps, yields;
static int finished[2];

PROBED long yield(long id, long i) {
  yields++;
  swapcontext(&coroutines[id], &scheduler);
  return id * 1000000 + i;
}
PROBED long step(long id, long i) {
  steps++;
  long result = yield(id, i);
  if (i % 3 == 0) result = yield(id, i);
  return result + 1;
}

static void body(int id) {
  for (long i = 0; i < rounds; i++) {
    if (step(id, i) != id * 1000000 + i + 1) abort();
  }
  finished[id] = 1;
  for (;;) swapcontext(&coroutines[id], &scheduler);
}

static void take_turns(long turns) {
  for (; turns > 0 && !(finished[0] && finished[1]); turns--, current ^= 1) swapcontext(&scheduler, &coroutines[current]);
}
static void* take_turns_elsewhere(void* unused) {
  take_turns(rounds / 7 + 1);
  return unused;
}

int main(int count, char** words) {
  rounds = atol(words[1]);
  for (int id = 0; id < 2; id++) {
    getcontext(&coroutines[id]);
    coroutines[id].uc_stack.ss_sp = malloc(1 << 16);
    coroutines[id].uc_stack.ss_size = 1 << 16;
    makecontext(&coroutines[id], (void (*)(void))body, 1, id);
  }
  while (!(finished[0] && finished[1])) {
    pthread_t thread;
    take_turns(rounds / 11 + 1);
    pthread_create(&thread, 0, take_turns_elsewhere, 0);
    pthread_join(thread, 0);
  }
  printf("steps %ld yields %ld\n", steps, yields);
  return 0;
}
