// A library that the victim loads late; its constructor calls the probed function once.
__attribute__((noinline, visibility("default"))) long late(long x) {
  __asm__ volatile("" : "+r"(x));
  return x + 3;
}
static volatile long result;
__attribute__((constructor)) static void start(void) { result = late(1); }
