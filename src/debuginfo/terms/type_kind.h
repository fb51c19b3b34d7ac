#pragma once
// The kinds of types of a traced program, and the constants of its enums.

#include <cstdint>
#include <string>

namespace spile::debuginfo {

enum class TypeKind : uint8_t {
  kUnknown,  // no type given, or one that we can't read
  kVoid,
  kInteger,  // also characters and booleans
  kFloat,
  kPointer,  // also C++ references
  kStruct,   // also classes
  kUnion,
  kArray,  // one dimension; int[2][3] is an array of 2 arrays
  kEnum,
  kFunction,
};

struct Enumerator {
  std::string name;
  int64_t value;
};

}  // namespace spile::debuginfo
