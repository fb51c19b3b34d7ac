// Loaded into a server by LD_PRELOAD while arming is measured: a thread that notes the longest time for which it did
// not run, in nanoseconds, in the first eight bytes of the file named by HEARTBEAT. The bench reads and resets it.
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void* beat(void* data) {
  _Atomic int64_t* longest = data;
  int64_t last = now();
  for (;;) {
    struct timespec pause = {0, 100000};
    nanosleep(&pause, NULL);
    int64_t time = now();
    if (time - last > atomic_load(longest)) atomic_store(longest, time - last);
    last = time;
  }
  return NULL;
}

__attribute__((constructor)) static void start(void) {
  const char* path = getenv("HEARTBEAT");
  int file = path ? open(path, O_RDWR | O_CREAT, 0600) : -1;
  if (file < 0 || ftruncate(file, 4096)) return;
  void* shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  pthread_t thread;
  if (shared != MAP_FAILED) pthread_create(&thread, NULL, beat, shared);
}
