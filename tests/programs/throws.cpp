// throws N: throws an exception through probed frames N times and catches it two frames up; prints what it caught.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#define PROBED extern "C" __attribute__((noinline, noclone, used))

static int destroyed;
struct Guard {
  ~Guard() { destroyed++; }
};

PROBED long thrower(long arg) {
  if (arg % 2) throw std::runtime_error("odd " + std::to_string(arg));
  return arg;
}

PROBED long middle(long arg) {
  Guard guard;
  return thrower(arg) + 1;
}

PROBED long catcher(long arg) {
  try {
    return middle(arg);
  } catch (const std::runtime_error& error) {
    return -static_cast<long>(std::string(error.what()).size());
  }
}

int main(int argc, char** argv) {
  long n = argc > 1 ? atol(argv[1]) : 10, sum = 0;
  for (long i = 0; i < n; i++) sum += catcher(i);
  std::printf("sum %ld destroyed %d\n", sum, destroyed);
}
