// A program to be probed. Obeys lines on standard input and answers each with one line:
//   calls N     every worker calls every function N times, and checks what it gets
//   spin, rest  workers do so in the background, until told to stop
//   ...         see main
// With a second argument N: makes N calls of each function, and exits with 11.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((noinline, visibility("default")))

extern char** environ;

EXPORT long leaf(long x) {
  asm volatile("" : "+r"(x));
  return x + 1;
}
EXPORT long tiny(void) {
  asm volatile("");
  return 7;
}
EXPORT long many(long a, long b, long c, long d, long e, long f, long g, long h) {
  asm volatile("");
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}
EXPORT double variadic(int n, ...) {
  va_list list;
  va_start(list, n);
  double sum = 0;
  for (int i = 0; i < n; i++) sum += va_arg(list, double);
  va_end(list);
  return sum;
}
EXPORT long recurse(long n) {
  if (n <= 0) return 0;
  long rest = recurse(n - 1);
  asm volatile("" : "+r"(rest));
  return rest + n;
}
struct large {
  long v[6];
};
EXPORT struct large give_large(long x) {
  struct large result = {{x, x + 1, x + 2, x + 3, x + 4, x + 5}};
  asm volatile("" : : "r"(&result) : "memory");
  return result;
}
EXPORT long call_through(long (*function)(long), long x) {
  long y = function(x);
  asm volatile("");
  return y;
}
// (n < 5) + 2 * n, by way of the red zone; `marked` is a place where the flags are live.
extern long by_red_zone(long n);
extern char marked[];
__attribute__((visibility("default"))) volatile unsigned short mark_semaphore;
__asm__(
    ".pushsection .text\n.globl by_red_zone, marked\n.type by_red_zone, @function\n.type marked, @function\n"
    "by_red_zone: movq %rdi, -8(%rsp)\n movq %rdi, -128(%rsp)\n xorl %eax, %eax\n cmpq $5, %rdi\n"
    "marked: nop\n adcq $0, %rax\n addq -8(%rsp), %rax\n addq -128(%rsp), %rax\n ret\n"
    ".size by_red_zone, .-by_red_zone\n.size marked, .-marked\n.popsection\n");
// Functions that no 5-byte jump fits into: a loop to the second byte, where following bytes lead nowhere that is free; the
// same with room for a punned jump; a jump table's label; a loop to the entry; three bytes between other functions.
extern long cramped(long n), punned(long n), tight(long n);
__asm__(
    ".pushsection .text\n.globl cramped, punned, tight\n"
    ".type cramped, @function\n.type punned, @function\n.type tight, @function\n"
    ".p2align 4\ncramped: nop\n1: mov $0, %eax\n dec %rdi\n jg 1b\n lea 7(%rdi), %rax\n ret\n"
    ".size cramped, .-cramped\n"
    ".p2align 4\npunned: movl %edi, %eax\n1: dec %rdi\n jg 1b\n ret\n.size punned, .-punned\n"
    ".p2align 4\ntight: mov %edi, %eax\n ret\n.size tight, .-tight\n"
    "behind_tight: mov %edi, %eax\n add %eax, %eax\n ret\n.popsection\n");
// Packed without padding, as compilers do with code that is meant to be small: a single return, whose second byte is the first
// of what follows; a short jump; three bytes and a return; a loop to the second byte; and longer ones between them.
#define TEN(text) text text text text text text text text text text
extern long packed_return(long), packed_next(long), packed_jump(long), packed_add(long), packed_loop(long), packed_long(long);
__asm__(
    ".pushsection .text\n.globl packed_return, packed_next, packed_jump, packed_add, packed_loop, packed_long\n"
    ".p2align 4\n.type packed_return, @function\npacked_return: ret\n.size packed_return, .-packed_return\n"
    ".type packed_next, @function\npacked_next: mov %rdi, %rax\n add %rdi, %rax\n lea 3(%rax), %rax\n ret\n"
    ".size packed_next, .-packed_next\n"
    ".type packed_jump, @function\npacked_jump: jmp 1f\n.size packed_jump, .-packed_jump\n"
    ".type packed_add, @function\npacked_add: lea 1(%rdi), %eax\n ret\n.size packed_add, .-packed_add\n"
    ".type packed_loop, @function\npacked_loop: push %rbx\n2: dec %rdi\n jg 2b\n lea 5(%rdi), %rax\n lea 1(%rax), %rax\n"
    " lea 1(%rax), %rax\n lea 1(%rax), %rax\n pop %rbx\n ret\n.size packed_loop, .-packed_loop\n"
    ".type packed_long, @function\npacked_long: mov %rdi, %rax\n1: mov %rdi, %rax\n" TEN("lea 1(%rax), %rax\n")
    TEN("lea 2(%rax), %rax\n") " ret\n.size packed_long, .-packed_long\n.popsection\n");
static jmp_buf place;
EXPORT void jump_out(int depth) {
  if (depth == 0) longjmp(place, 1);
  jump_out(depth - 1);
  asm volatile("");
}
EXPORT long fork_inside(long x) {
  pid_t pid = fork();
  if (pid == 0) return -x;
  int status = 0;
  waitpid(pid, &status, 0);
  return status == 0 ? x : -1;
}
EXPORT void pointer_taker(const long* p) { asm volatile("" : : "r"(p) : "memory"); }

static void check(int right, const char* what) {
  if (right) return;
  printf("WRONG %s\n", what);
  fflush(stdout);
  abort();
}

static void call_all(long n) {
  for (long i = 0; i < n; i++) {
    check(leaf(i) == i + 1, "leaf");
    check(tiny() == 7, "tiny");
    check(many(1, 2, 3, 4, 5, 6, 7, 8) == 204, "many");
    check(variadic(3, 1.5, 2.5, 3.0) == 7.0, "variadic");
    check(recurse(3) == 6, "recurse");
    check(give_large(i).v[5] == i + 5, "give_large");
    check(call_through(leaf, i) == i + 1, "call_through");
  }
}

static long rounds;
static int workers = 1;
static volatile int stop;
static volatile long ticks;

static void* work(void* argument) {
  call_all(rounds);
  return NULL;
}

static void calls(void) {
  pthread_t threads[64];
  for (int i = 0; i < workers; i++) pthread_create(&threads[i], NULL, work, NULL);
  for (int i = 0; i < workers; i++) pthread_join(threads[i], NULL);
}

static void* spin(void* argument) {
  while (!stop) call_all(100);
  return NULL;
}

static void on_tick(int signal) {
  check(leaf(1) == 2, "leaf in a handler");
  ticks++;
}
static void on_fault(int signal) {
  printf("fault caught\n");
  fflush(stdout);
  _exit(3);
}

static void wait_in(const char* what) {
  struct timespec from, to;
  clock_gettime(CLOCK_MONOTONIC, &from);
  long result = 0;
  errno = 0;
  if (!strcmp(what, "nanosleep")) result = usleep(300000);
  if (!strcmp(what, "poll")) {
    int fd = epoll_create1(0);
    struct epoll_event event;
    result = epoll_wait(fd, &event, 1, 300);
    close(fd);
  }
  int error = errno;
  clock_gettime(CLOCK_MONOTONIC, &to);
  long ms = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
  printf("waited %ld %d %s\n", result, error, ms >= 295 && ms < 900 ? "in time" : "WRONG time");
}

static char** own_arguments;
static void* exec_here(void* argument) {
  char* arguments[] = {own_arguments[0], own_arguments[1], NULL};
  execv("/proc/self/exe", arguments);
  return NULL;
}

int main(int argc, char** argv) {
  own_arguments = argv;
  char line[512], word[64], text[400];
  long n;
  if (argc > 1) workers = atoi(argv[1]);
  pthread_t spinners[64];
  void* library = NULL;
  if (argc > 2) {
    call_all(atol(argv[2]));
    return 11;
  }
  printf("ready %d\n", getpid());
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    n = 0;
    text[0] = 0;
    sscanf(line, "%63s", word);
    if (!strcmp(word, "calls")) {
      sscanf(line, "%*s %ld", &rounds);
      calls();
      printf("done\n");
    } else if (!strcmp(word, "spin")) {
      stop = 0;
      for (int i = 0; i < workers; i++) pthread_create(&spinners[i], NULL, spin, NULL);
      printf("done\n");
    } else if (!strcmp(word, "rest")) {
      stop = 1;
      for (int i = 0; i < workers; i++) pthread_join(spinners[i], NULL);
      printf("done\n");
    } else if (!strcmp(word, "mark")) {
      sscanf(line, "%*s %ld", &n);
      printf("marked %ld %d\n", by_red_zone(n), mark_semaphore);
    } else if (!strcmp(word, "short")) {
      long sum = 0;
      sscanf(line, "%*s %ld", &n);
      for (long i = 0; i < n; i++) sum += cramped(3) + punned(5) + tight(9);
      printf("sum %ld\n", sum);
    } else if (!strcmp(word, "packed")) {
      long sum = 0;
      sscanf(line, "%*s %ld", &n);
      for (long i = 0; i < n; i++) {
        packed_return(i);
        sum += packed_next(2) + packed_jump(1) + packed_add(4) + packed_loop(3) + packed_long(10);
      }
      printf("sum %ld\n", sum);
    } else if (!strcmp(word, "longjmp")) {
      sscanf(line, "%*s %ld", &n);
      for (long i = 0; i < n; i++) {
        if (setjmp(place) == 0) jump_out(5);
        check(recurse(3) == 6, "recurse");
      }
      printf("done\n");
    } else if (!strcmp(word, "fork")) {
      sscanf(line, "%*s %ld", &n);
      pid_t pid = fork();
      if (pid == 0) {
        for (long i = 0; i < n; i++) leaf(i);
        _exit(5);
      }
      int status;
      waitpid(pid, &status, 0);
      printf("child %d\n", WEXITSTATUS(status));
    } else if (!strcmp(word, "inside")) {
      long value = fork_inside(9);
      if (value == -9) _exit(0);
      printf("inside %ld\n", value);
    } else if (!strcmp(word, "vfork")) {
      pid_t pid = vfork();
      if (pid == 0) {
        leaf(1);
        _exit(6);
      }
      int status;
      waitpid(pid, &status, 0);
      printf("child %d\n", WEXITSTATUS(status));
    } else if (!strcmp(word, "spawn")) {
      // Runs itself, which makes N calls of each function.
      sscanf(line, "%*s %399s", text);
      char* arguments[] = {argv[0], "1", text, NULL};
      pid_t pid;
      int failed = posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ), status = 0;
      waitpid(pid, &status, 0);
      printf("spawned %d %d\n", failed, WEXITSTATUS(status));
    } else if (!strcmp(word, "exec")) {
      char* arguments[] = {argv[0], argv[1], NULL};
      execv("/proc/self/exe", arguments);
    } else if (!strcmp(word, "threadexec")) {
      pthread_t thread;
      pthread_create(&thread, NULL, exec_here, NULL);
      pthread_join(thread, NULL);
    } else if (!strcmp(word, "here")) {
      sscanf(line, "%*s %ld", &n);
      call_all(n);
      printf("done\n");
    } else if (!strcmp(word, "seccomp")) {
      // From here on nothing but read, write, exit and sigreturn; anything else is death.
      sscanf(line, "%*s %ld", &n);
      fflush(stdout);
      prctl(PR_SET_SECCOMP, 1 /* SECCOMP_MODE_STRICT */);
      call_all(n);
      write(1, "filtered\n", 9);
    } else if (!strcmp(word, "dlopen")) {
      sscanf(line, "%*s %399s %ld", text, &n);
      library = dlopen(text, RTLD_NOW);
      long (*function)(long) = library ? (long (*)(long))dlsym(library, "late") : NULL;
      for (long i = 0; function && i < n; i++) check(function(i) == i + 3, "late");
      printf("loaded %s\n", library ? "yes" : dlerror());
    } else if (!strcmp(word, "dlclose")) {
      dlclose(library);
      printf("done\n");
    } else if (!strcmp(word, "wait")) {
      sscanf(line, "%*s %399s", text);
      wait_in(text);
    } else if (!strcmp(word, "ticks")) {
      struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
      sigaction(SIGALRM, &action, NULL);
      struct itimerval every = {{0, 1000}, {0, 1000}};
      setitimer(ITIMER_REAL, &every, NULL);
      printf("done\n");
    } else if (!strcmp(word, "pointer")) {
      sscanf(line, "%*s %lx", (unsigned long*)&n);
      signal(SIGSEGV, on_fault);
      long good = 42;
      pointer_taker(n ? (const long*)n : &good);
      printf("pointer\n");
    } else if (!strcmp(word, "crash")) {
      signal(SIGSEGV, on_fault);
      *(volatile long*)n = 1;
    } else if (!strcmp(word, "quit")) {
      return 17;
    }
    fflush(stdout);
  }
  return 0;
}
