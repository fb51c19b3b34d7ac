// weights: what flame graphs of memory, waits and calls have to show: 100 times 3,000 bytes from big() and 10 times 100 bytes from small(); ten naps of 20 ms; a lock that two
// threads take ten times for 30 ms each.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, noclone, used))

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
volatile void* sink;

PROBED void big(void) { sink = malloc(3000); }
PROBED void small(void) { sink = calloc(10, 100); }
PROBED void nap(void) { usleep(20000); }
PROBED void hold(void) {
  pthread_mutex_lock(&mutex);
  usleep(30000);
  pthread_mutex_unlock(&mutex);
}
static void* hold_too(void* unused) {
  for (int i = 0; i < 10; i++) hold();
  return unused;
}

int main(void) {
  pthread_t other;
  for (int i = 0; i < 100; i++) big(), small();
  for (int i = 0; i < 10; i++) nap();
  pthread_create(&other, 0, hold_too, 0);
  hold_too(0);
  return pthread_join(other, 0);
}
