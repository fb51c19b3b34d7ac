// killed_forks SECONDS THREADS [PROGRAM]: threads that fork all the time, some frames deep, until SIGTERM comes or SECONDS
// have passed. The parent returns by the functions in which it forked before its child does. Children end at once, call
// functions under strict seccomp, fork themselves, or throw through the frames that they were forked in; one in eight executes
// PROGRAM, if one is named. A child that does not end with status 0 is bad. Prints "ready" at the start, the first bad
// statuses, and at the end "made N bad N".
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/seccomp.h>

#define PROBED extern "C" __attribute__((noinline, noclone, used))

static volatile sig_atomic_t stop;
static long made, bad;
static const char* executed;
static double end_at;

static void on_end(int) { stop = 1; }

static double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

PROBED long work(long arg) {
  asm volatile("" : "+r"(arg));
  return arg * 3 + 1;
}

PROBED pid_t forks_deep(long depth) {
  pid_t child = depth > 0 ? forks_deep(depth - 1) : fork();
  asm volatile("" : "+r"(child));
  return child;
}

// Whether the child threw, in the parent's eyes: the parent returns.
PROBED pid_t forks_and_throws(long depth, bool throws) {
  pid_t child = forks_deep(depth);
  if (child == 0 && throws) throw 1;
  return child;
}

[[noreturn]] static void end_child(int status) {
  syscall(SYS_exit, status);  // which strict seccomp allows
  for (;;) {
  }
}

static int status_of(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && !stop) {
  }
  return status;
}

[[noreturn]] static void live(long kind) {
  long sum = 0;
  if (kind == 1 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) end_child(3);
  for (long n = 0; n < 20; n++) sum += work(n);
  if (sum != 590) end_child(4);
  if (kind == 2) {
    pid_t child = forks_deep(2);
    if (child == 0) end_child(work(1) == 4 ? 0 : 5);
    end_child(child < 0 || status_of(child) != 0 ? 6 : 0);
  }
  if (kind == 7 && executed) {
    execl(executed, executed, nullptr);
    end_child(7);
  }
  end_child(0);
}

static void* run(void*) {
  for (long i = 0; !stop && now() < end_at; i++) {
    pid_t child = 0;
    long kind = i % 8;
    try {
      child = forks_and_throws(i % 5, kind == 3);
      if (child == 0 && kind == 3) end_child(8);
    } catch (int thrown) {
      if (thrown != 1) end_child(9);
    }
    if (child == 0) live(kind);
    if (child < 0) continue;
    int status = status_of(child);
    __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
    if (status != 0 && __atomic_fetch_add(&bad, 1, __ATOMIC_RELAXED) < 20) {
      printf("child %d of kind %ld: status %#x\n", child, kind, static_cast<unsigned>(status));
      fflush(stdout);
    }
  }
  return nullptr;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  end_at = now() + atof(argv[1]);
  int count = atoi(argv[2]);
  executed = argc > 3 ? argv[3] : nullptr;
  struct sigaction action = {};
  action.sa_handler = on_end;
  sigaction(SIGTERM, &action, nullptr);
  puts("ready");
  fflush(stdout);
  pthread_t threads[16];
  for (int i = 0; i < count && i < 16; i++) pthread_create(&threads[i], nullptr, run, nullptr);
  for (int i = 0; i < count && i < 16; i++) pthread_join(threads[i], nullptr);
  printf("made %ld bad %ld\n", made, bad);
  return 0;
}
