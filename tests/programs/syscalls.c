// Makes system calls in all ways that a program has.
//   syscalls calls N    eight threads, N rounds of three calls each; then children by fork, vfork and posix_spawn
//   syscalls jit N      N calls by code that it has written itself
//   syscalls wait       "ready" with one thread waiting in read and one in poll; a byte on its input lets both go: "went 2"
//   syscalls cancel N   N threads are cancelled while they wait in read; what they clean up is counted
//   syscalls signals N  N calls that end with EINTR after a signal's handler, and N that are made again after one
//   syscalls spawn N    after a byte on its input: two threads call getppid, while N children of each kind come and go; "calls C"
//   syscalls library N PATH   N calls by that library, opened late
//   syscalls getpid N   N calls of getpid, and the nanoseconds that one took
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static long rounds;
static int waited_for[2];
static volatile int went, cleaned, done;

static void *make_calls(void *unused) {
  char byte;
  for (long i = 0; i < rounds; i++) {
    if (syscall(SYS_getppid) <= 0 || getpid() <= 0) abort();
    if (read(-1, &byte, 1) != -1 || errno != EBADF) abort();
  }
  return NULL;
}

static void make_children(int n) {
  for (int i = 0; i < n; i++) {
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) _exit(getppid() > 0 ? 7 : 8);
    if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7) abort();
    pid = vfork();
    if (pid == 0) _exit(9);
    if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 9) abort();
    char *arguments[] = {"true", NULL};
    if (posix_spawn(&pid, "/bin/true", NULL, NULL, arguments, environ)) abort();
    if (waitpid(pid, &status, 0) != pid || status != 0) abort();
  }
}

static void *call_until_done(void *calls) {
  for (; !done; ++*(long *)calls) syscall(SYS_getppid);
  return NULL;
}

static void call_by_own_code(long n) {
  static const unsigned char code[] = {0xb8, 0x6e, 0, 0, 0, 0x0f, 0x05, 0xc3};  // mov $SYS_getppid, %eax; syscall; ret
  unsigned char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memcpy(memory, code, sizeof code);
  mprotect(memory, 4096, PROT_READ | PROT_EXEC);
  for (long i = 0; i < n; i++) {
    if (((long (*)(void))memory)() != getppid()) abort();
  }
}

static void *wait_in_read(void *unused) {
  char byte = 0;
  if (read(waited_for[0], &byte, 1) == 1 && byte == 'x') __sync_fetch_and_add(&went, 1);
  return NULL;
}

static void *wait_in_poll(void *unused) {
  struct pollfd wait = {waited_for[0], POLLIN, 0};
  if (poll(&wait, 1, -1) == 1 && (wait.revents & POLLIN)) __sync_fetch_and_add(&went, 1);
  return NULL;
}

// Returns when so many threads sleep in a system call.
static void await_waiting(int threads) {
  for (int found = 0; found < threads; usleep(1000)) {
    found = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; (task = readdir(tasks));) {
      char path[300], line[300] = "";
      snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
      FILE *file = fopen(path, "r");
      if (!file) continue;
      const char *state = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
      found += state && state[2] == 'S';
      fclose(file);
    }
    closedir(tasks);
  }
}

static void clean_up(int *what) { cleaned += *what; }

static void *wait_for_cancel(void *unused) {
  __attribute__((cleanup(clean_up))) int one = 1;
  char byte;
  read(waited_for[0], &byte, 1);
  return NULL;
}

static void answer(int signal) {
  if (signal == SIGUSR2 && write(waited_for[1], "x", 1) != 1) abort();
  if (getppid() <= 0) abort();
}

static void *interrupt(void *whom) {
  usleep(20000);  // mostly it waits by then; to find out would take other numbers of calls each time, and they are compared
  pthread_kill(*(pthread_t *)whom, SIGUSR2);
  return NULL;
}

static void be_interrupted(long n) {
  struct sigaction action = {.sa_handler = answer};
  sigset_t blocked, none;
  pthread_t self = pthread_self(), other;
  char byte;
  sigaction(SIGUSR1, &action, NULL);
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR2, &action, NULL);
  sigemptyset(&none);
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &blocked, NULL);
  for (long i = 0; i < n; i++) {
    raise(SIGUSR1);
    if (sigsuspend(&none) != -1 || errno != EINTR) abort();
    pthread_create(&other, NULL, interrupt, &self);
    if (read(waited_for[0], &byte, 1) != 1) abort();
    pthread_join(other, NULL);
  }
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  long n = argc > 2 ? atol(argv[2]) : 0;
  pthread_t threads[8];
  pipe(waited_for);
  if (!strcmp(what, "calls")) {
    rounds = n;
    for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, make_calls, NULL);
    for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    make_children(10);
  } else if (!strcmp(what, "jit")) {
    call_by_own_code(n);
  } else if (!strcmp(what, "wait")) {
    char byte;
    pthread_create(&threads[0], NULL, wait_in_poll, NULL);
    pthread_create(&threads[1], NULL, wait_in_read, NULL);
    await_waiting(2);
    write(1, "ready\n", 6);
    if (read(0, &byte, 1) != 1) return 2;
    write(waited_for[1], "xx", 2);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("went %d\n", went);
  } else if (!strcmp(what, "cancel")) {
    for (long i = 0; i < n; i++) {
      pthread_create(&threads[0], NULL, wait_for_cancel, NULL);
      await_waiting(1);
      pthread_cancel(threads[0]);
      void *result = NULL;
      pthread_join(threads[0], &result);
      if (result != PTHREAD_CANCELED) return 3;
    }
    printf("cleaned %d\n", cleaned);
  } else if (!strcmp(what, "spawn")) {
    long calls[2] = {0, 0};
    char byte;
    if (read(0, &byte, 1) != 1) return 2;
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, call_until_done, &calls[i]);
    make_children(n);
    done = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    printf("calls %ld\n", calls[0] + calls[1]);
  } else if (!strcmp(what, "signals")) {
    be_interrupted(n);
#ifndef WITHOUT_LIBRARIES
  } else if (!strcmp(what, "library")) {
    void *library = dlopen(argv[3], RTLD_NOW);
    ((void (*)(long))dlsym(library, "make_calls"))(n);
#endif
  } else if (!strcmp(what, "getpid")) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (long i = 0; i < n; i++) getpid();
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("%.1f ns\n", ((end.tv_sec - begin.tv_sec) * 1e9 + (end.tv_nsec - begin.tv_nsec)) / n);
  }
  return 0;
}
