// forks WAY N: starts N children and waits for them; each child and the parent call foo() 10 times.
//   fork    plain children            vfork   vfork, then exec of /bin/true
//   spawn   posix_spawn of /bin/true  system  system("true")
//   exec    calls foo(), then replaces itself by `forks fork N`
//   popen   popen of a shell        badexec  plain children whose exec fails
//   memory  clone into the same memory, with a stack of its own, no vfork
//   parent  clone with CLONE_PARENT: brothers, whose end a pipe reports
//   daemon  (forks daemon SECONDS FILE) goes into the background and calls foo() until SECONDS have passed; FILE gets its
//           process number and, at the end, whether all was right
#define _GNU_SOURCE
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
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

static int run_here(void* unused) { return ten() != 145; }

static int in_brother(void) {
  int ends[2], status = 1;
  if (pipe(ends)) return 1;
  if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) == 0) {
    status = run_here(NULL);
    _exit(write(ends[1], &status, sizeof status) != sizeof status);
  }
  if (read(ends[0], &status, sizeof status) != sizeof status) status = 1;
  close(ends[0]);
  close(ends[1]);
  return status;
}

static int daemonise(int seconds, const char* path) {
  if (fork()) return 0;
  setsid();
  if (fork()) _exit(0);
  FILE* file = fopen(path, "w");
  fprintf(file, "%d\n", (int)getpid());
  fflush(file);
  freopen("/dev/null", "w", stdout);
  int bad = 0;
  for (time_t end = time(NULL) + seconds; time(NULL) < end; usleep(100)) bad |= ten() != 145;
  fprintf(file, bad ? "bad\n" : "good\n");
  fclose(file);
  _exit(bad);
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
  if (!strcmp(way, "daemon")) return daemonise(n, argv[3]);
  for (int i = 0; i < n; i++) {
    pid_t child = 0;
    int status = 0;
    if (!strcmp(way, "parent")) {
      if (in_brother() == 0) good++;
      continue;
    }
    if (!strcmp(way, "popen")) {
      char line[16] = "";
      FILE* stream = popen("echo 1 | cat", "r");
      if (fgets(line, sizeof line, stream) && line[0] == '1' && pclose(stream) == 0) good++;
      continue;
    }
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
    } else if (!strcmp(way, "memory")) {
      static char stack[65536] __attribute__((aligned(16)));
      child = clone(run_here, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL);
    } else if (!strcmp(way, "badexec")) {
      child = fork();
      if (child == 0) _exit(execv("/nonexistent/program", command) == -1 && execv("/dev/null", command) == -1 ? ten() != 145 : 1);
    } else {
      child = fork();
      if (child == 0) _exit(ten() == 145 ? 0 : 1);
    }
    if (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0) good++;
  }
  printf("good %d sum %ld\n", good, ten());
  return good != n;
}
