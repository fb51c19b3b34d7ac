// Calls who(its pid, its tid) from every kind of thread and process: threads that come and go on one stack and side by side,
// forked and vforked children and their threads, a thread without a thread pointer of its own. `identities ROUNDS`.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) void who(long pid, long tid) { __asm__ volatile("" : : "r"(pid), "r"(tid) : "memory"); }

// Not of the C library: it must not remember anything.
static long ask(long number) {
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number) : "rcx", "r11", "memory");
  return result;
}
static void say_who(void) { who(ask(SYS_getpid), ask(SYS_gettid)); }

static void* thread(void* _) {
  for (int i = 0; i < 10; i++) say_who();
  return NULL;
}

static void some_threads(void) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, thread, NULL);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
}

static volatile int bare_done;
static int bare(void* _) {
  say_who();
  bare_done = 1;
  ask(SYS_getpid);
  return 0;
}

int main(int argc, char** argv) {
  static char stack[65536] __attribute__((aligned(16)));
  puts("ready");
  fflush(stdout);
  if (argc > 2) getchar();
  for (int round = 0; round < atoi(argv[1]); round++) {
    say_who();
    some_threads();
    pid_t child = fork();
    if (child == 0) {
      say_who();
      some_threads();
      say_who();
      _exit(0);
    }
    waitpid(child, NULL, 0);
    child = vfork();
    if (child == 0) {
      say_who();
      _exit(0);
    }
    waitpid(child, NULL, 0);
    // A thread that runs on its parent's thread pointer.
    bare_done = 0;
    clone(bare, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, NULL);
    while (!bare_done) sched_yield();
    say_who();
  }
  return 0;
}
