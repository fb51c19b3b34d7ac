// threads N: starts N short threads one after another, two at a time; each calls foo() 100 times, every third leaves
// by pthread_exit from a probed frame.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define PROBED __attribute__((noinline, noclone, used))

PROBED long foo(long arg) {
  static _Thread_local volatile long sink;
  sink = arg;
  return arg * 3 + 1;
}

PROBED long leave(long arg) {
  if (arg % 3 == 0) pthread_exit((void*)arg);
  return arg;
}

static void* run(void* data) {
  long arg = (long)data;
  for (long i = 0; i < 100; i++) foo(i);
  return (void*)leave(arg);
}

int main(int argc, char** argv) {
  long n = argc > 1 ? atol(argv[1]) : 10, sum = 0;
  for (long i = 0; i < n; i += 2) {
    pthread_t one, two;
    void *first, *second;
    pthread_create(&one, NULL, run, (void*)i);
    pthread_create(&two, NULL, run, (void*)(i + 1));
    pthread_join(one, &first);
    pthread_join(two, &second);
    sum += (long)first + (long)second;
  }
  printf("sum %ld\n", sum);
}
