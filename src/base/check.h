#pragma once
// CHECK: tests a condition that only a mistake in spile can break; no input can. Where it is false, prints the condition and its
// place to standard error and aborts, in every build type.

namespace spile {
[[noreturn]] void check_failed(const char* expression, const char* file, int line);
}

#define CHECK(expression) \
  (static_cast<bool>(expression) ? static_cast<void>(0) : ::spile::check_failed(#expression, __FILE__, __LINE__))
