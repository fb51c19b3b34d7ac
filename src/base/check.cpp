#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace spile {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "spile: internal error at %s:%d: %s does not hold\n", file, line, expression);
  std::abort();
}

}  // namespace spile
