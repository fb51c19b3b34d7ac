// Floating-point arguments and results, without debug information.
#include <stdio.h>

#define PROBED __attribute__((noinline, noclone, visibility("default")))

PROBED double among(int a, double b, const char* c, float d, long e, double f) {
  return a + b + *c + d + (double)e + f;
}

PROBED float nine(double a, double b, double c, double d, double e, double f, double g, double h, double i) {
  return (float)(a + b + c + d + e + f + g + h + i);
}

// The compiler makes no copies of the function for constants.
static const char* volatile text = "A";

int main(int argc, char** argv) {
  printf("%g ", among(argc, 2.5, text, -0.75f, 3, 1e100));
  return printf("%g\n", nine(argc, 2, 3, 4, 5, 6, 7, 8.5, 9)) < 0;
}
