// forks WAY N: starts N children and waits for them; each child and the parent call foo() 10 times.
//   fork    plain children            vfork   vfork, then exec of /bin/true
//   spawn   posix_spawn of /bin/true  system  system("true")
//   exec    calls foo(), then replaces itself by `forks fork N`
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, noclone, used))

volatile long sink;
extern char** environ;

PROBED long foo(long arg) {
  sink = arg;
  return arg * 3 + 1;
}

static long ten(void) {
  long sum = 0;
  for (long i = 0; i < 10; i++) sum += foo(i);
  return sum;
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "fork";
  int n = argc > 2 ? atoi(argv[2]) : 1, good = 0;
  char* const command[] = {"true", NULL};
  if (!strcmp(way, "exec")) {
    ten();
    execl("/proc/self/exe", argv[0], "fork", argc > 2 ? argv[2] : "1", (char*)NULL);
    return 1;
  }
  for (int i = 0; i < n; i++) {
    pid_t child = 0;
    int status = 0;
    if (!strcmp(way, "system")) {
      if (system("true") == 0) good++;
      continue;
    }
    if (!strcmp(way, "spawn")) {
      if (posix_spawn(&child, "/bin/true", NULL, NULL, command, environ)) return 1;
    } else if (!strcmp(way, "vfork")) {
      child = vfork();
      if (child == 0) {
        execv("/bin/true", command);
        _exit(127);
      }
    } else {
      child = fork();
      if (child == 0) _exit(ten() == 145 ? 0 : 1);
    }
    if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0) good++;
  }
  printf("good %d sum %ld\n", good, ten());
  return good != n;
}
