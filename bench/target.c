// target FILE SECONDS [THREADS [RATE]]: what the per-hit cost is measured on. Calls two functions with the same code,
// `plain` and `probed`, in turn, a chunk of calls of each; only `probed` has a probe, so the difference of the two is
// what the probe adds, on the same processor at the same time. Writes one line of JSON to FILE:
//
//   {"main": nanoseconds of CLOCK_REALTIME when main() began, "calls": calls made to probed() by all threads,
//    "chunks": [[plain, probed], ...]}       ns per call, by thread and chunk
//
// A chunk is as many calls as take about two milliseconds, found anew for each function. Threads run their chunks of
// one function at the same time. With RATE, a thread makes no more than RATE calls of probed() in a second: bursts of
// 100, of which each is timed.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef WITH_LTTNG
#include "lttng_provider.h"
#define TRACEPOINT(a, b) lttng_ust_tracepoint(spile_bench, hit, a, b)
#else
#define TRACEPOINT(a, b)
#endif

#define MEASURED __attribute__((noinline, used, aligned(64)))

MEASURED long plain(long arg, long other) {
  __asm__ volatile("" : "+r"(arg));
  return arg * 3 + other;
}

MEASURED long probed(long arg, long other) {
  TRACEPOINT((int)arg, (int)other);
  __asm__ volatile("" : "+r"(arg));
  return arg * 3 + other;
}

enum { kMaxThreads = 16, kMaxChunks = 4096, kBurst = 100 };

struct worker {
  pthread_t thread;
  long calls;
  int chunks;
  double plain[kMaxChunks], probed[kMaxChunks];
};

static struct worker workers[kMaxThreads];
static pthread_barrier_t barrier;
static int threads = 1;
static long rate;
static double end_time;
static volatile int stop;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

// The loops are the same but for the function they call; each on a line of its own, so that neither is shifted.
__attribute__((noinline, aligned(64))) static double time_plain(long calls) {
  double start = now();
  for (long i = 0; i < calls; i++) plain(i, i + 1);
  return now() - start;
}

__attribute__((noinline, aligned(64))) static double time_probed(long calls) {
  double start = now();
  for (long i = 0; i < calls; i++) probed(i, i + 1);
  return now() - start;
}

static long calls_for(double ns_per_call) {
  long calls = (long)(2e6 / (ns_per_call > 0.2 ? ns_per_call : 0.2));
  return calls < 50 ? 50 : calls;
}

static double paced_chunk(struct worker* w) {
  double spent = 0, begin = now();
  for (long made = 0; made < rate / 500; made += kBurst) {
    while (now() < begin + made * 1e9 / rate) __asm__ volatile("pause");
    spent += time_probed(kBurst);
    w->calls += kBurst;
  }
  return spent / (rate / 500);
}

static void* run(void* data) {
  struct worker* w = data;
  double plain_cost = 5, probed_cost = 5;
  long plain_calls = 1000, probed_calls = 50;
  while (w->chunks < kMaxChunks) {
    if (w == workers) stop = now() >= end_time;
    if (threads > 1) pthread_barrier_wait(&barrier);  // all see the same value of `stop`
    if (stop) break;
    plain_cost = time_plain(plain_calls) / plain_calls;
    plain_calls = calls_for(plain_cost);
    if (threads > 1) pthread_barrier_wait(&barrier);
    if (rate) {
      probed_cost = paced_chunk(w);
    } else {
      probed_cost = time_probed(probed_calls) / probed_calls;
      w->calls += probed_calls;
      probed_calls = calls_for(probed_cost);
    }
    w->plain[w->chunks] = plain_cost;
    w->probed[w->chunks++] = probed_cost;
    if (threads > 1) pthread_barrier_wait(&barrier);
  }
  return NULL;
}

int main(int argc, char** argv) {
  struct timespec began;
  clock_gettime(CLOCK_REALTIME, &began);
  if (argc < 3) return 2;
  if (argc > 3) threads = atoi(argv[3]);
  if (argc > 4) rate = atol(argv[4]);
  if (threads < 1 || threads > kMaxThreads) return 2;
  end_time = now() + atof(argv[2]) * 1e9;
  pthread_barrier_init(&barrier, NULL, threads);
  for (int i = 0; i < threads; i++) pthread_create(&workers[i].thread, NULL, run, &workers[i]);
  long calls = 0;
  for (int i = 0; i < threads; i++) {
    pthread_join(workers[i].thread, NULL);
    calls += workers[i].calls;
  }
  FILE* out = fopen(argv[1], "w");
  if (!out) return 1;
  fprintf(out, "{\"main\": %ld%09ld, \"calls\": %ld, \"chunks\": [", (long)began.tv_sec, began.tv_nsec, calls);
  const char* separator = "";
  for (int i = 0; i < threads; i++)
    for (int k = 2; k < workers[i].chunks; k++, separator = ", ")  // the first two find the size of a chunk
      fprintf(out, "%s[%.3f, %.3f]", separator, workers[i].plain[k], workers[i].probed[k]);
  fprintf(out, "]}\n");
  return fclose(out) != 0;
}
