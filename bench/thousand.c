// thousand FILE SECONDS [FUNCTIONS]: what a call costs where many functions are probed, and their code, tables and counts no longer fit the processor's first caches. Calls
// FUNCTIONS (1,000) functions `probed_*` in turn, and as many with the same code, `plain_*`; only the former are probed. A chunk is as many turns as take about two
// milliseconds. Writes a line of JSON to FILE:
//
//   {"calls": calls of probed_*, "counter": ns that reading the processor's time counter takes, "chunks": [[plain, probed], ...]}       ns per call
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FUNCTION(name)                                                                     \
  __attribute__((noinline, used, aligned(64))) static long name(long arg, long other) {    \
    __asm__ volatile("" : "+r"(arg));                                                      \
    return arg * 3 + other;                                                                \
  }
#define BOTH(n) FUNCTION(plain_##n) FUNCTION(probed_##n)
#define EACH10(m, n) m(n##0) m(n##1) m(n##2) m(n##3) m(n##4) m(n##5) m(n##6) m(n##7) m(n##8) m(n##9)
#define EACH100(m, n) EACH10(m, n##0) EACH10(m, n##1) EACH10(m, n##2) EACH10(m, n##3) EACH10(m, n##4) EACH10(m, n##5) EACH10(m, n##6) EACH10(m, n##7) EACH10(m, n##8) EACH10(m, n##9)
#define EACH1000(m) EACH100(m, 0) EACH100(m, 1) EACH100(m, 2) EACH100(m, 3) EACH100(m, 4) EACH100(m, 5) EACH100(m, 6) EACH100(m, 7) EACH100(m, 8) EACH100(m, 9)

EACH1000(BOTH)

typedef long (*function)(long, long);
#define PLAIN(n) plain_##n,
#define PROBED(n) probed_##n,
static const function plain[] = {EACH1000(PLAIN)};
static const function probed[] = {EACH1000(PROBED)};
enum { kAll = sizeof plain / sizeof *plain, kMaxChunks = 4096 };

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static volatile long sink;

// Returns ns.
static double time_of(const function* of, int functions, long turns) {
  const double start = now();
  for (long turn = 0; turn < turns; ++turn) {
    for (int i = 0; i < functions; ++i) sink += of[i](turn, i);
  }
  return now() - start;
}

// Returns the ns of a reading of the time counter, in the quietest of 100 turns: handlers that take times can't cost less than their readings.
static double time_of_counter(void) {
  enum { kReadings = 10000 };
  double least = 1e9;
  for (int turn = 0; turn < 100; ++turn) {
    const double start = now();
    for (int i = 0; i < kReadings; ++i) sink += (long)__builtin_ia32_rdtsc();
    const double each = (now() - start) / kReadings;
    if (each < least) least = each;
  }
  return least;
}

static double chunks[kMaxChunks][2];

int main(int argc, char** argv) {
  if (argc < 3) return fprintf(stderr, "thousand FILE SECONDS [FUNCTIONS]\n"), 2;
  const double end = now() + atof(argv[2]) * 1e9;
  const int functions = argc > 3 && atoi(argv[3]) > 0 && atoi(argv[3]) < kAll ? atoi(argv[3]) : kAll;
  const function* of[] = {plain, probed};
  long turns[2], calls = 0;
  for (int k = 0; k < 2; ++k) {
    for (turns[k] = 1;; turns[k] *= 2) {
      calls += k * turns[k] * functions;
      if (time_of(of[k], functions, turns[k]) >= 2e6) break;
    }
  }
  int chunk = 0;
  for (; chunk < kMaxChunks && now() < end; ++chunk) {
    for (int k = 0; k < 2; ++k) {
      chunks[chunk][k] = time_of(of[k], functions, turns[k]) / turns[k] / functions;
      calls += k * turns[k] * functions;
    }
  }
  FILE* file = fopen(argv[1], "w");
  if (!file) return perror(argv[1]), 1;
  fprintf(file, "{\"calls\": %ld, \"counter\": %.2f, \"chunks\": [", calls, time_of_counter());
  for (int i = 0; i < chunk; ++i) fprintf(file, "%s[%.3f, %.3f]", i ? ", " : "", chunks[i][0], chunks[i][1]);
  fprintf(file, "]}\n");
  return fclose(file) != 0;
}
