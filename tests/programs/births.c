// Threads, two at a time, that call step() three times each, a hundred times; then 50 children that call it once.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) void step(int i) { __asm__ volatile("" : : "r"(i) : "memory"); }

static void* run(void* unused) {
  for (int i = 0; i < 3; ++i) step(i);
  return unused;
}

int main(void) {
  for (int turn = 0; turn < 100; ++turn) {
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) pthread_create(&threads[i], 0, run, 0);
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], 0);
  }
  for (int child = 0; child < 50; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      step(9);
      _exit(0);
    }
    waitpid(pid, 0, 0);
  }
  return 0;
}
