// family READY [traced]: forks a child every 10 ms, every third of which forks one of its own, until SIGUSR1 comes; then each
// of them calls work() 10 times and ends. Prints "ready" when there are READY children, and at the end how many of them there
// were. traced: the first child is traced by its parent, so that nobody else can. Everything ends after 60 s.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t go;
static volatile long sink;
static int start[2];

static void on_go(int signal) { go = 1; }

__attribute__((noinline, noclone, used)) long work(long arg) {
  sink = arg;
  return arg * 3 + 1;
}

static void be_child(int has_child) {
  char byte;
  close(start[1]);
  pid_t child = has_child ? fork() : 0;
  while (read(start[0], &byte, 1) > 0) {
  }
  for (long n = 0; n < 10; n++) work(n);
  if (child > 0) waitpid(child, NULL, 0);
  _exit(0);
}

int main(int argc, char** argv) {
  if (argc < 2 || pipe(start) != 0) return 2;
  int ready = atoi(argv[1]), traced = argc > 2 && strcmp(argv[2], "traced") == 0;
  signal(SIGUSR1, on_go);
  alarm(60);
  int children = 0, grandchildren = 0;
  for (int n = 0; !go && n < 1500; n++) {
    if (traced && n == ready) {
      pause();
      break;
    }
    pid_t child = fork();
    if (child == 0) {
      alarm(60);
      if (traced && n == 0) ptrace(PTRACE_TRACEME, 0, 0, 0);
      be_child(n % 3 == 2);
    }
    children++;
    grandchildren += n % 3 == 2;
    if (children == ready) {
      puts("ready");
      fflush(stdout);
    }
    usleep(10000);
  }
  close(start[1]);
  while (wait(NULL) > 0) {
  }
  printf("members %d\n", children + grandchildren);
  return 0;
}
