#pragma once
// Where a value of the traced program lies, for a script that writes to it (guru mode). A Binding only says how to compute
// the value; the place follows from its last operations: a load means a place in memory, a register means itself, and a bit-field
// or an extension says which bits of it. A value that is computed in another way has no place.

#include <optional>
#include <span>

#include "sema/terms/target_info.h"

namespace spile::sema {

struct WrittenPlace {
  bool in_register = false;  // else in memory
  int64_t number = -1;       // of the register, in DWARF's numbering; -1: a system call's number (location::CallNumber)
  std::span<const location::Operation> address;  // in memory: operations that compute the address
  uint32_t bytes = 8;                            // in memory: size of the word there
  uint32_t shift = 0, bits = 64;                 // the value's bits within the word or register: the lowest one, and how many
  bool is_float = false;                         // the place holds a float; the script's value is the bits of a double
};

// Returns the place of the value that a Binding's operations compute; absent: it has none. WrittenPlace::address is a part of
// `ops`. Does not say whether the register may be written to (abi::may_be_written).
std::optional<WrittenPlace> written_place(std::span<const location::Operation> ops);

}  // namespace spile::sema
