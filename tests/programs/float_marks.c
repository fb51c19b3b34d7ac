// A mark with floating-point arguments, as newer <sys/sdt.h> and compilers write them: in vector registers and in memory.
#include <stdio.h>

#define MARK(a, b, c, d)                                                                  \
  __asm__ volatile(                                                                       \
      "990: nop\n"                                                                        \
      ".pushsection .note.stapsdt,\"\",\"note\"\n.balign 4\n"                             \
      ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"         \
      "993: .8byte 990b, _.stapsdt.base, 0\n"                                             \
      ".asciz \"spile\"\n.asciz \"floats\"\n.asciz \"4f@%0 8f@%1 4f@%2 8f@%3\"\n994: .balign 4\n" \
      ".popsection\n"                                                                     \
      ".ifndef _.stapsdt.base\n.pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
      ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n_.stapsdt.base: .space 1\n"          \
      ".size _.stapsdt.base, 1\n.popsection\n.endif\n"                                    \
      :                                                                                   \
      : "x"(a), "x"(b), "m"(c), "m"(d))

__attribute__((noinline)) double marked(float a, double b) {
  float c = a * 2;
  double d = b * 2;
  MARK(a, b, c, d);
  return c + d;
}

int main(void) { return printf("%g\n", marked(1.5f, -2.25)) < 0; }
