// Makes system calls, getppid, and prints what one takes: ns, the least of the chunks.
// usage: kernel_calls [CHUNKS [CALLS]]
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int argc, char** argv) {
  int chunks = argc > 1 ? atoi(argv[1]) : 10, calls = argc > 2 ? atoi(argv[2]) : 20000;
  double least = 0;
  for (int chunk = 0; chunk < chunks; chunk++) {
    double begin = now();
    for (int i = 0; i < calls; i++) syscall(SYS_getppid);
    double each = (now() - begin) / calls;
    if (chunk == 0 || each < least) least = each;
  }
  printf("ns %.1f\n", least);
  return 0;
}
