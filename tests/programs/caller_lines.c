// Calls whose return address is behind the call's line, and behind its function: the last call of ends() never returns, and
// follows() begins where it would return to.
#include <stdlib.h>

#define OWN __attribute__((noinline))

volatile int seen;

OWN void probed(int value) {
  seen = value;  // probed
}

OWN int twice(int value) {
  probed(value);  // twice
  seen += value;
  return seen;
}

__attribute__((noreturn)) OWN void leaves(int value) {
  probed(value);  // leaves
  exit(seen != value);
}

__attribute__((noreturn)) OWN void ends(int value) {
  seen = value;
  leaves(value);  // ends
}

OWN int follows(int value) {  // follows
  seen += value;
  return seen;
}

int main(int argc, char** argv) {
  seen = twice(argc);  // main, first

  if (argc > 1) follows(argc);
  ends(argc + 1);  // main, last
}
