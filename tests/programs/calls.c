// calls N [THREADS]: calls foo() N times (THREADS times N with threads), and a few of everything else a probe may meet
// beside it. Prints what it computed, so that a test sees that probing changed nothing:
//
//   foo(i) returns i * 3 + 1; the sum over i in [0, N) is 3 * N * (N - 1) / 2 + N for each thread.
//
// Every function here is noinline and noclone, so that a call in the source is a call in the machine code.
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBED __attribute__((noinline, noclone, used))

struct node {
  long value;
  struct node* next;
  const char* name;
  int numbers[4];
};

volatile long sink;

PROBED long foo(long arg) {
  sink = arg;
  return arg * 3 + 1;
}

// A function that does nothing: one byte (ret), or five with -fcf-protection.
PROBED void empty(void) { __asm__ volatile(""); }

// Leaf in the red zone: a local that lives below the stack pointer.
PROBED long leaf(long a, long b) {
  volatile long local = a;
  return local + b;
}

PROBED long bar(struct node* p) { return p->value + p->next->value + p->numbers[2]; }

// The seventh and eighth argument are on the stack.
PROBED long eight(long a, long b, long c, long d, long e, long f, long g, long h) {
  sink = a;
  return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

// The barrier keeps compilers from turning one of the two calls into a loop.
PROBED long fibonacci(long n) {
  if (n < 2) return n;
  long one = fibonacci(n - 1), two = fibonacci(n - 2);
  __asm__ volatile("" : "+r"(one), "+r"(two));
  return one + two;
}

PROBED long greet(const char* name) { return (long)strlen(name); }

PROBED double mixed(int a, double x, char c) {
  sink = a + c;
  return x * a;
}

PROBED long variadic(int count, ...) {
  va_list list;
  va_start(list, count);
  long sum = 0;
  for (int i = 0; i < count; i++) sum += va_arg(list, long);
  va_end(list);
  return sum;
}

// The loop's head is the function's first instruction: a branch goes back to the entry.
PROBED long countdown(long n);
__asm__(
    ".text\n.globl countdown\n.type countdown, @function\n.p2align 4\n"
    "countdown:\n  dec %rdi\n  jnz countdown\n  mov $42, %eax\n  ret\n"
    ".size countdown, . - countdown\n");

static void* run(void* count) {
  long n = *(long*)count, sum = 0;
  for (long i = 0; i < n; i++) sum += foo(i);
  return (void*)sum;
}

int main(int argc, char** argv) {
  long n = argc > 1 ? atol(argv[1]) : 1000, sum = 0;
  int threads = argc > 2 ? atoi(argv[2]) : 0;
  if (argc > 3) getchar();  // begins when it is told to
  if (threads > 0) {
    pthread_t thread[64];
    if (threads > 64) return 2;
    for (int i = 0; i < threads; i++) pthread_create(&thread[i], NULL, run, &n);
    for (int i = 0; i < threads; i++) {
      void* result;
      pthread_join(thread[i], &result);
      sum += (long)result;
    }
  } else {
    sum = (long)run(&n);
  }
  struct node second = {.value = 20, .name = "second"};
  struct node first = {.value = 10, .next = &second, .name = "first", .numbers = {1, 2, 3, 4}};
  printf("foo %ld\n", sum);
  printf("bar %ld\n", bar(&first));
  printf("eight %ld\n", eight(1, 2, 3, 4, 5, 6, 7, 8));
  printf("leaf %ld\n", leaf(40, 2));
  printf("fibonacci %ld\n", fibonacci(15));
  printf("greet %ld\n", greet("world"));
  printf("mixed %g\n", mixed(3, 1.5, 'x'));
  printf("variadic %ld\n", variadic(3, 1L, 2L, 3L));
  printf("countdown %ld\n", countdown(10));
  empty();
  return 0;
}
