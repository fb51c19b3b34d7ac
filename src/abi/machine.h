#pragma once
// The machine that spile is built for, as data: which registers have arguments, where a return address lies, what registers are
// called. Every folder reads these tables; none has a copy. Freestanding.

#include "abi/selected_machine.h"
#include SPILE_MACHINE_FILE(abi, convention.h)

namespace spile::abi {

namespace machine = SPILE_MACHINE;

inline constexpr const Convention& kConvention = machine::kConvention;
inline constexpr const KernelLayout& kKernelLayout = machine::kKernelLayout;

constexpr bool is_vector_register(int64_t number) {
  return number >= kConvention.first_vector && number < kConvention.first_vector + kConvention.vectors;
}

// Whether a handler that is given all registers may change this one for the program (abi/trampoline.h).
constexpr bool may_be_written(int64_t number) {
  return number >= 0 && number < kConvention.general_registers && number != kConvention.stack_pointer;
}

// Returns the register or part of one that `text` names, with or without '%' in front; null: no register has this name. Lives for
// ever.
constexpr const RegisterName* find_register(const char* text) {
  if (*text == '%') ++text;
  for (const RegisterName& known : machine::kRegisterNames) {
    size_t at = 0;
    while (text[at] && text[at] == known.text[at]) ++at;
    if (text[at] == known.text[at]) return &known;
  }
  return nullptr;
}

// Returns the name of a general register, the program counter or the flags in listings; null for other numbers.
constexpr const char* register_name(int64_t number) {
  for (const RegisterName& known : machine::kRegisterNames) {
    if (known.number == number) return known.text;
  }
  return nullptr;
}

}  // namespace spile::abi
