// profiled MS: three threads that each spend MS milliseconds of processor time, 70, 20 and 10 % of it under seventy(),
// twenty() and ten(), in an order left to chance; then, one after the other, each thread writes to four variables 10,000
// times, and so does main.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#define KEEP __attribute__((noinline, noclone, noipa))

volatile int tick, shared, fifth;
volatile long wide;
static volatile short hidden;
static __thread volatile long sink;
static long milliseconds;

static long spent_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}
KEEP void burn(long turns) {
  for (long i = 0; i < turns; i++) sink += i;
}
KEEP void seventy(long turns) { burn(turns); sink++; }
KEEP void twenty(long turns) { burn(turns); sink++; }
KEEP void ten(long turns) { burn(turns); sink++; }

// Sampling by a clock sees a program that does the same in every period of it wrongly.
static void* spend(void* seed) {
  unsigned long chance = (unsigned long)seed;
  while (spent_ms() < milliseconds) {
    chance = chance * 6364136223846793005ul + 1442695040888963407ul;
    unsigned long k = (chance >> 33) % 10;
    (k < 7 ? seventy : k < 9 ? twenty : ten)(30000);
  }
  return NULL;
}

static void* write_all(void* unused) {
  for (int i = 0; i < 10000; i++) {
    tick++;
    shared = i;
    wide = i;
    hidden = (short)i;
  }
  return unused;
}

int main(int argc, char** argv) {
  pthread_t threads[3];
  milliseconds = argc > 1 ? atol(argv[1]) : 0;
  for (long i = 0; i < 3; i++) pthread_create(&threads[i], NULL, spend, (void*)(i + 1));
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 3; i++) {
    pthread_create(&threads[i], NULL, write_all, NULL);
    pthread_join(threads[i], NULL);
  }
  write_all(NULL);
  printf("done %d\n", tick);
}
