#pragma once
// Names and numbers of the machine's system calls, with those of other kinds than the processes' own (foreign_calls.h).
// Freestanding.

#include "abi/selected_machine.h"
#include SPILE_MACHINE_FILE(abi, foreign_calls.h)
#include SPILE_MACHINE_FILE(abi, system_call_names.h)

#include <stddef.h>
#include <stdint.h>

namespace spile::abi {

// One behind another from number 0 on, each ended by a NUL; "" for numbers that are not in use.
inline constexpr auto& kSystemCallNames = SPILE_MACHINE::kSystemCallNames;

constexpr bool same_text(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

// Returns the number of a system call; -1: no call has that name.
constexpr int32_t system_call_number(const char* wanted) {
  if (!*wanted) return -1;
  const char* name = kSystemCallNames;
  const char* end = kSystemCallNames + sizeof(kSystemCallNames) - 1;
  for (int32_t number = 0; name < end; ++number) {
    if (same_text(name, wanted)) return number;
    while (*name) ++name;
    ++name;
  }
  return -1;
}

// Returns the name of a system call; "": no call has that number.
constexpr const char* system_call_name(int32_t wanted) {
  const char* name = kSystemCallNames;
  const char* end = kSystemCallNames + sizeof(kSystemCallNames) - 1;
  for (int32_t number = 0; name < end; ++number) {
    if (number == wanted) return name;
    while (*name) ++name;
    ++name;
  }
  return "";
}

constexpr int32_t count_system_calls() {
  int32_t count = 0;
  for (size_t i = 0; i + 1 < sizeof kSystemCallNames; ++i) count += kSystemCallNames[i] == 0;
  return count;
}
using SPILE_MACHINE::is_old_sigreturn;
using SPILE_MACHINE::kForeignCallFlag;
// Numbers from here on belong to no call.
inline constexpr int32_t kSystemCallNumbers = count_system_calls();

// Returns the number of the system call to which the tracepoint syscalls:sys_enter_NAME belongs; -1: not known.
constexpr int32_t traced_system_call_number(const char* tracepoint) {
  for (const auto& traced : SPILE_MACHINE::kTracedSystemCalls) {
    if (same_text(traced.tracepoint, tracepoint)) return system_call_number(traced.name);
  }
  return system_call_number(tracepoint);
}

}  // namespace spile::abi
