// returns CASE [N]: calls functions whose returns are probed and leaves them in every way there is. Cases:
//   deep N       recursion N levels deep
//   tail         tail calls through probed functions
//   noreturn     a probed function that never returns, left by longjmp; and one that ends its thread
//   cancel       pthread_cancel of threads that wait within probed frames, with cleanup handlers
//   exit         pthread_exit from within probed frames
//   coroutines   swapcontext between stacks from within probed frames, resumed by other threads too
//   altstack     a handler on an alternate stack, which calls probed functions and leaves them by siglongjmp
//   backtrace    backtrace(3) within probed frames, which must see all of them and change nothing
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define PROBED __attribute__((noinline, noclone, used))

static volatile long sink;

PROBED long deep(long n) {
  long result = n == 0 ? 0 : deep(n - 1) + 1;
  sink = result;
  return result;
}

PROBED long leaf(long arg) {
  sink = arg;
  return arg + 1;
}
PROBED long tail_two(long arg) {
  sink = arg;
  __attribute__((musttail)) return leaf(arg + 1);
}
PROBED long tail_one(long arg) {
  sink = arg;
  __attribute__((musttail)) return tail_two(arg + 1);
}

static jmp_buf back;
PROBED __attribute__((noreturn)) void never(long arg) {
  sink = arg;
  longjmp(back, 1);
}
PROBED long calls_never(long arg) {
  sink = arg;
  if (setjmp(back) == 0) never(arg);
  return arg + sink;
}
PROBED long outer(long arg) { return calls_never(arg) + 1; }

static __thread int cleaned;
static int all_cleaned;
static void clean(void* data) {
  cleaned = 1;
  __atomic_fetch_add(&all_cleaned, leaf((long)data) == (long)data + 1, __ATOMIC_SEQ_CST);
}
static int waiting;
PROBED long waits(long arg) {
  __atomic_fetch_add(&waiting, 1, __ATOMIC_SEQ_CST);
  for (;;) pause();
  return arg;
}
PROBED long waits_cleanly(long arg) {
  long result;
  pthread_cleanup_push(clean, (void*)arg);
  result = waits(arg) + 1;
  pthread_cleanup_pop(0);
  return result;
}
static void* cancelled(void* data) { return (void*)waits_cleanly((long)data); }

PROBED long leaves(long arg) {
  if (arg % 2) pthread_exit((void*)arg);
  return arg;
}
PROBED long leaves_cleanly(long arg) {
  long result;
  pthread_cleanup_push(clean, (void*)arg);
  result = leaves(arg);
  pthread_cleanup_pop(0);
  return result;
}
static void* exits(void* data) { return (void*)leaves_cleanly((long)data); }

enum { kCoroutines = 8, kStack = 64 << 10 };
static ucontext_t scheduler, coroutine[kCoroutines];
static int finished;
PROBED long yields(int self, long arg) {
  swapcontext(&coroutine[self], &scheduler);
  sink = arg;
  return arg * 2;
}
PROBED long yields_twice(int self, long arg) { return yields(self, arg) + yields(self, arg + 1); }
static long coroutine_sum;
static void body(int self) {
  for (long i = 0; i < 50; i++) coroutine_sum += yields_twice(self, i);
  finished++;
  for (;;) swapcontext(&coroutine[self], &scheduler);
}
static void* schedule(void* rounds) {
  for (long round = (long)rounds; round > 0 && finished < kCoroutines; round--) {
    for (int i = 0; i < kCoroutines; i++) swapcontext(&scheduler, &coroutine[(i * 5 + round) % kCoroutines]);
  }
  return NULL;
}

static sigjmp_buf from_signal;
static volatile sig_atomic_t jump_out;
PROBED long in_handler(long arg) {
  sink = arg;
  if (jump_out) siglongjmp(from_signal, 1);
  return arg + 5;
}
static volatile long handled;
static void on_signal(int signal) { handled += in_handler(signal); }
PROBED long raises(long arg) {
  raise(SIGUSR1);
  sink = arg;
  return arg + 1;
}
PROBED long survives(long arg) {
  jump_out = arg % 2;
  if (sigsetjmp(from_signal, 1)) return -1;
  return raises(arg);
}

static int frames_seen;
PROBED int looks(int depth) {
  if (depth == 0) {
    void* frames[64];
    int count = backtrace(frames, 64);
    sink = count;
    return count;
  }
  int count = looks(depth - 1);
  sink = depth;
  return count;
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "deep";
  long n = argc > 2 ? atol(argv[2]) : 10;
  if (!strcmp(way, "deep")) {
    printf("deep %ld\n", deep(n));
  } else if (!strcmp(way, "tail")) {
    long sum = 0;
    for (long i = 0; i < n; i++) sum += tail_one(i);
    printf("tail %ld\n", sum);
  } else if (!strcmp(way, "noreturn")) {
    long sum = 0;
    for (long i = 0; i < n; i++) sum += outer(i);
    printf("noreturn %ld\n", sum);
  } else if (!strcmp(way, "cancel") || !strcmp(way, "exit")) {
    int cancels = way[0] == 'c', ended = 0;
    for (long i = 0; i < n; i++) {
      pthread_t thread;
      void* result;
      pthread_create(&thread, NULL, cancels ? cancelled : exits, (void*)i);
      while (cancels && __atomic_load_n(&waiting, __ATOMIC_SEQ_CST) <= i) usleep(100);
      if (cancels) pthread_cancel(thread);
      pthread_join(thread, &result);
      ended += result == (cancels ? PTHREAD_CANCELED : (void*)i);
    }
    printf("%s %d cleaned %d\n", way, ended, all_cleaned);
  } else if (!strcmp(way, "coroutines")) {
    for (int i = 0; i < kCoroutines; i++) {
      getcontext(&coroutine[i]);
      coroutine[i].uc_stack.ss_sp = malloc(kStack);
      coroutine[i].uc_stack.ss_size = kStack;
      makecontext(&coroutine[i], (void (*)(void))body, 1, i);
    }
    while (finished < kCoroutines) {  // one thread after another resumes them
      pthread_t thread;
      pthread_create(&thread, NULL, schedule, (void*)7);
      pthread_join(thread, NULL);
    }
    printf("coroutines %ld\n", coroutine_sum);
  } else if (!strcmp(way, "altstack")) {
    stack_t stack = {.ss_sp = malloc(kStack), .ss_size = kStack};
    sigaltstack(&stack, NULL);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    sigaction(SIGUSR1, &action, NULL);
    long sum = 0;
    for (long i = 0; i < n; i++) sum += survives(i);
    printf("altstack %ld handled %ld\n", sum, handled);
  } else if (!strcmp(way, "backtrace")) {
    int least = 1000, most = 0;
    for (long i = 0; i < n; i++) {
      int count = looks(20);
      if (count < least) least = count;
      if (count > most) most = count;
    }
    printf("backtrace %d %d\n", least, most);
  }
  return 0;
}
