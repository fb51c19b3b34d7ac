// thread_locals LIBRARY N: threads, one after another, with thread-local variables of the program, of a library it is linked to
// (thread_locals_library.c), and of one that it opens while it runs. Prints what each thread's have become.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define PROBED __attribute__((noinline, noclone))

struct pair { long first; const char* name; };
static __thread long counter = 7;
__thread char letter = 'a';
_Thread_local struct pair pair __attribute__((aligned(64))) = {3, "program"};
extern __thread int library_counter;
long library_step(long by);
static long (*opened_step)(long);

PROBED long step(long number) {
  counter += number;
  letter += 1;
  pair.first *= 2;
  errno = (int)number + 100;
  __asm__ volatile("" ::: "memory");
  return counter;
}
PROBED void before(long number) { __asm__ volatile("" : : "r"(number) : "memory"); }

static void* run(void* argument) {
  long number = (long)argument, sum;
  before(number);
  sum = step(number) + library_step(number) + (number % 2 ? opened_step(number) : 0);
  printf("%ld %ld %c %ld %d %ld\n", number, counter, letter, pair.first, library_counter, sum);
  return NULL;
}

int main(int count, char** words) {
  before(0);
  void* opened = dlopen(words[1], RTLD_NOW);
  opened_step = opened ? (long (*)(long))dlsym(opened, "library_step") : library_step;
  for (long i = 1; i <= atol(words[2]); i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, (void*)i) || pthread_join(thread, NULL)) return 1;
  }
  return 0;
}
