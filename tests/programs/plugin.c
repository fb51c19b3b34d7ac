// A shared library with one function to probe, loaded late by loads.c.
__attribute__((noinline, noclone, visibility("default"))) long plugin_step(long arg) {
  static volatile long sink;
  sink = arg;
  return arg + 5;
}
