#pragma once
// Where a value of the traced program lies, for a script that writes to it (guru mode). A binding only says how to compute
// the value; its last operations determine the place: a load is one in memory, a register is itself, and a bit-field or an
// extension says which bits of it. Values that are computed lie nowhere.

#include <optional>
#include <span>

#include "sema/target_info.h"

namespace spile::sema {

struct WrittenPlace {
  bool in_register = false;
  int64_t number = -1;                    // of the register, in DWARF's numbering; -1: not one of those
  std::span<const location::Operation> address;  // else: operations that compute the address
  uint32_t bytes = 8;                     // of the word there
  uint32_t shift = 0, bits = 64;          // within the word or register
  bool is_float = false;                  // the value is a double's bits, and the place holds a float
};

std::optional<WrittenPlace> written_place(std::span<const location::Operation> ops);

}  // namespace spile::sema
