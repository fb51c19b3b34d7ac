// loads LIBRARY N: opens LIBRARY at run time, calls its plugin_step() N times, closes it, opens and calls it again.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static long round_of(const char* path, long n) {
  void* library = dlopen(path, RTLD_NOW);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
  long (*step)(long) = (long (*)(long))dlsym(library, "plugin_step");
  long sum = 0;
  for (long i = 0; i < n; i++) sum += step(i);
  dlclose(library);
  return sum;
}

int main(int argc, char** argv) {
  long n = argc > 2 ? atol(argv[2]) : 100;
  long first = round_of(argv[1], n), second = round_of(argv[1], n);
  printf("sums %ld %ld\n", first, second);
}
