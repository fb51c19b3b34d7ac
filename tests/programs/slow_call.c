// slow_call ROUNDS SLOW THREADS: each thread calls work() ROUNDS times, which calls inner() three times; round SLOW (from 0; below 0: none) of the first thread takes 1.5 s
// in its second inner(). All is within serve(), which ends with the thread. Then prints "done", and waits for the end of its input.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, noclone, used))

static long rounds, slow;
volatile long sink;

PROBED long inner(long round, long turn, long is_first) {
  sink = turn;
  if (is_first && round == slow && turn == 1) usleep(1500000);
  return round + turn;
}
PROBED long work(long round, long is_first) {
  long sum = 0;
  for (long turn = 0; turn < 3; turn++) sum += inner(round, turn, is_first);
  return sum + 1;
}
PROBED void* serve(void* number) {
  for (long round = 0; round < rounds; round++) work(round, number == 0);
  if (number == 0) {
    puts("done");
    fflush(stdout);
    char byte;
    if (read(0, &byte, 1) != 0) sink = byte;
  }
  return 0;
}

int main(int count, char** words) {
  rounds = atol(words[1]), slow = atol(words[2]);
  long threads = atol(words[3]);
  pthread_t others[64];
  for (long i = 1; i < threads; i++) pthread_create(&others[i], 0, serve, (void*)i);
  serve(0);
  for (long i = 1; i < threads; i++) pthread_join(others[i], 0);
  return 0;
}
