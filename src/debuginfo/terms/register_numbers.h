#pragma once
// Which of the machine's registers the places of this folder may name, by DWARF's numbers.

#include "abi/machine.h"

namespace spile::debuginfo {

// Whether it is the number of a general register: those are what handlers can read everywhere.
inline constexpr bool is_general_register(int64_t number) { return number >= 0 && number < abi::kConvention.general_registers; }
// Whether a function's entry can keep it for location::EntryValue. The stack pointer follows from the CFA.
inline constexpr bool is_kept_register(int64_t number) {
  return is_general_register(number) && number != abi::kConvention.stack_pointer;
}

}  // namespace spile::debuginfo
