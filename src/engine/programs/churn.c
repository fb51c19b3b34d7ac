// Threads and children that are born and die all the time, while a tracer attaches and detaches.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline, visibility("default"))) long leaf(long x) {
  __asm__ volatile("" : "+r"(x));
  return x + 1;
}

static void* body(void* argument) {
  for (long i = 0; i < 50; i++) {
    if (leaf(i) != i + 1) abort();
  }
  return NULL;
}

static void* churn(void* argument) {
  for (;;) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, body, NULL);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  }
  return NULL;
}

static void* fork_children(void* argument) {
  for (;;) {
    pid_t pid = fork();
    if (pid == 0) _exit(leaf(1) == 2 ? 0 : 1);
    int status;
    if (waitpid(pid, &status, 0) != pid || status != 0) {
      printf("WRONG child: status %#x\n", status);
      fflush(stdout);
      abort();
    }
    usleep(500);
  }
  return NULL;
}

int main(void) {
  pthread_t threads[3];
  pthread_create(&threads[0], NULL, churn, NULL);
  pthread_create(&threads[1], NULL, churn, NULL);
  pthread_create(&threads[2], NULL, fork_children, NULL);
  printf("ready %d\n", getpid());
  fflush(stdout);
  char line[64];
  while (fgets(line, sizeof line, stdin)) {
    printf("done\n");
    fflush(stdout);
  }
  return 0;
}
