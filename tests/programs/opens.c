// opens: prints "ready"; for each line of input opens the library of that name and calls work() 100 times.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile long sink;

__attribute__((noinline, noclone, used)) long work(long arg) {
  sink = arg;
  return arg * 3 + 1;
}

int main(void) {
  alarm(60);
  puts("ready");
  fflush(stdout);
  char line[4096];
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    void* library = dlopen(line, RTLD_NOW);
    long sum = 0;
    for (long n = 0; n < 100; n++) sum += work(n);
    printf("%s %ld\n", library ? "opened" : dlerror(), sum);
    fflush(stdout);
  }
  return 0;
}
