// The library of thread_locals.c; built twice, as one that the program is linked to and as one that it opens.
__thread int library_counter = 11;
static __thread long hidden = 13;
static __thread char block[70000];  // more than what glibc keeps in reserve for libraries opened late
static int library_calls = 17;      // not thread-local

__attribute__((noinline, noclone)) void library_seen(long by) { __asm__ volatile("" : : "r"(by) : "memory"); }
long library_step(long by) {
  library_calls++;
  library_seen(by);
  library_counter += by;
  hidden += 2 * by;
  block[by] = 1;
  library_seen(by);
  return hidden + block[by];
}
