// Numbers that have names: system calls and signals of Linux.

#include "abi/script_codes.h"
#include "abi/system_calls.h"
#include "runtime/core/script_functions.h"
#include "runtime/names.h"

namespace spile::rt {

namespace {

using abi::kSystemCallNames;

}  // namespace

extern "C" {

// "": no system call has that number.
[[gnu::noinline]] void spile_fn___system_call_name(Context*, int64_t number, char* out) {
  const char* name = kSystemCallNames;
  const char* end = kSystemCallNames + sizeof(kSystemCallNames) - 1;
  for (; number > 0 && name < end; --number) {
    while (*name) ++name;
    ++name;
  }
  spile_rt_string_copy(out, number == 0 && name < end ? name : "");
}

// -1: no system call has that name.
[[gnu::noinline]] int64_t spile_fn___system_call_number(Context*, const char* wanted) {
  const char* name = kSystemCallNames;
  const char* end = kSystemCallNames + sizeof(kSystemCallNames) - 1;
  for (int64_t number = 0; name < end; ++number) {
    uint32_t at = 0;
    while (name[at] && name[at] == wanted[at]) ++at;
    if (at && !name[at] && !wanted[at]) return number;
    while (name[at]) ++at;
    name += at + 1;
  }
  return -1;
}

// Writes SIGINT for 2, SIGRTMIN+3 for 35, and "" for numbers that no signal has.
[[gnu::noinline]] void spile_fn___signal_name(Context*, int64_t number, char* out) {
  uint32_t at = 0;
  if (number >= 1 && number < 32) {
    const char* name = kSignals[number];
    uint32_t length = 0;
    while (length < sizeof(kSignals[0]) && name[length]) ++length;
    at = spile_rt_format_literal(out, 0, "SIG", 3);
    at = spile_rt_format_literal(out, at, name, length);
  } else if (number >= 32 && number <= 64) {
    at = spile_rt_format_literal(out, 0, number == 32 ? "SIGRTMIN" : "SIGRTMIN+", number == 32 ? 8 : 9);
    if (number > 32) at = spile_rt_format_long(out, at, number - 32, abi::kFormatSigned, 0, -1, -1);
  }
  spile_rt_format_end(out, at);
}

// ENOENT to 2; 0 where no error is called so.
[[gnu::noinline]] int64_t spile_fn___errno_number(Context*, const char* wanted) {
  for (uint32_t number = 1; number < kErrorCount; ++number) {
    const char* name = error_name(number);
    uint32_t at = 0;
    while (at < 16 && name[at] && name[at] == wanted[at]) ++at;
    if (at && !wanted[at] && (at == 16 || !name[at])) return number;
  }
  return 0;
}

}  // extern "C"

}  // namespace spile::rt
