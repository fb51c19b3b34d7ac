#pragma once
// Names of vector registers, which handlers read themselves: abi::Registers does not have them. Freestanding.

#include "abi/machine.h"

namespace spile::abi {

// Returns the number of the vector register that `text` names, with or without '%' in front; -1: no vector register has this
// name.
constexpr int64_t find_vector_register(const char* text) {
  if (*text == '%') ++text;
  for (const char* letter = machine::kVectorName; *letter; ++letter, ++text) {
    if (*text != *letter) return -1;
  }
  if (!*text || (*text == '0' && text[1])) return -1;
  int64_t place = 0;
  for (; *text; ++text) {
    if (*text < '0' || *text > '9') return -1;
    place = 10 * place + *text - '0';
    if (place >= kConvention.vectors) return -1;
  }
  return kConvention.first_vector + place;
}

}  // namespace spile::abi
