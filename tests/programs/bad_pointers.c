// bad_pointers THREADS: threads that call follow() with a bad pointer all the time; says "ready". For each line on standard input:
//   ask       says whether the action for SIGSEGV is the default one
//   handle    sets a handler for SIGSEGV, then meets 100 bad pointers itself, and says how many the handler has seen
//   default   sets the default action again
//   still     ends the threads
//   fault, deep, send    a bad pointer of its own, a stack that overflows, kill(2): the end, by SIGSEGV
// At the end of the input it says how often follow() was called, and how often it did not return what it should.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, noclone, used))

struct node { struct node* next; long value; };
PROBED long follow(struct node* node) { __asm__ volatile("" : "+r"(node)); return (long)node + 1; }

static volatile int stop;
struct share { long calls, wrong; };
static void* run(void* data) {
  struct share* share = data;
  for (long i = 0; !stop; i++) {
    long at = 16 + i % 512 * 8;
    if (follow((struct node*)at) != at + 1) share->wrong++;
    share->calls++;
    if ((i & 0xff) == 0) usleep(100);  // leave processor time to others
  }
  return NULL;
}

static sigjmp_buf out;
static volatile long seen;
static void on_fault(int number, siginfo_t* info, void* context) {
  if (info->si_addr == (void*)8) seen++;
  siglongjmp(out, 1);
}
PROBED void fault(void) { *(volatile long*)8 = 1; }
PROBED long deep(volatile char* above) {
  volatile char room[4096];
  room[0] = above[0];
  return deep(room) + room[0];
}

static int threads;
static pthread_t thread[16];
static struct share shares[16];
static void join_threads(void) {
  stop = 1;
  for (; threads > 0; threads--) pthread_join(thread[threads - 1], NULL);
}

int main(int argc, char** argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  int given = atoi(argv[1]);
  threads = given < 16 ? given : 16;
  for (int i = 0; i < threads; i++) pthread_create(&thread[i], NULL, run, &shares[i]);
  printf("ready\n");
  char line[16];
  while (fgets(line, sizeof line, stdin)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    if (strcmp(line, "ask\n") == 0) {
      sigaction(SIGSEGV, NULL, &action);
      printf("%s\n", action.sa_handler == SIG_DFL ? "default" : "another");
    } else if (strcmp(line, "handle\n") == 0) {
      action.sa_sigaction = on_fault;
      action.sa_flags = SA_SIGINFO;
      sigaction(SIGSEGV, &action, NULL);
      seen = 0;
      for (volatile int i = 0; i < 100; i++) {
        if (sigsetjmp(out, 1) == 0) fault();
      }
      printf("handled %ld\n", seen);
    } else if (strcmp(line, "default\n") == 0) {
      signal(SIGSEGV, SIG_DFL);
      printf("done\n");
    } else if (strcmp(line, "still\n") == 0) {
      join_threads();
      printf("still\n");
    } else if (strcmp(line, "fault\n") == 0) {
      fault();
    } else if (strcmp(line, "deep\n") == 0) {
      deep(line);
    } else if (strcmp(line, "send\n") == 0) {
      kill(getpid(), SIGSEGV);
    }
  }
  join_threads();
  long calls = 0, wrong = 0;
  for (int i = 0; i < 16; i++) {
    calls += shares[i].calls;
    wrong += shares[i].wrong;
  }
  printf("calls %ld wrong %ld\n", calls, wrong);
  return wrong != 0;
}
