// chained N ROUNDS [THROWS]: two functions call one another last (by jumps, in one place of the stack) N times, as coroutines
// that resume one another do, and at the chain's end a plain function is called, which throws THROWS times, and catches that.
// Says how many calls there were of each, and how long a throw takes.
#include <chrono>
#include <cstdio>
#include <cstdlib>

extern "C" {
using Step = long (*)(long);
long ping(long left);
long pong(long left);
volatile Step to_ping = ping, to_pong = pong;
long pings, pongs, ends, leaves, throws;
double nanoseconds;

__attribute__((noinline)) void thrower() { throw 1; }

__attribute__((noinline)) long leaf(long value) {
  asm volatile("" ::: "memory");
  return value + ++leaves;
}

__attribute__((noinline)) long end_of_chain(long value) {
  ++ends;
  auto begin = std::chrono::steady_clock::now();
  for (long i = 0; i < throws; ++i) {
    try {
      thrower();
    } catch (int number) {
      value += number;
    }
  }
  nanoseconds += std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  for (int i = 0; i < 10; ++i) value += leaf(i);
  return value;
}

__attribute__((noinline)) long ping(long left) {
  ++pings;
  return left > 0 ? to_pong(left - 1) : end_of_chain(left) + 1;
}
__attribute__((noinline)) long pong(long left) {
  ++pongs;
  return left > 0 ? to_ping(left - 1) : end_of_chain(left) + 1;
}
}

int main(int argc, char** argv) {
  long length = atol(argv[1]), rounds = atol(argv[2]);
  throws = argc > 3 ? atol(argv[3]) : 0;
  long sum = 0;
  for (long i = 0; i < rounds; ++i) sum += ping(length - 1);
  printf("%ld %ld %ld %ld %ld\n", pings, pongs, ends, leaves, sum);
  if (throws) printf("throw %.0f\n", nanoseconds / static_cast<double>(rounds * throws));
}
