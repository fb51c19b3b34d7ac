#pragma once
// The kinds of associative arrays, and what each has: one row of the table for a new kind. runtime/README.md lists the other
// files.

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace spile::syntax {

// ORDER ARRAY_KIND (kArrayKinds)
enum class ArrayKind : uint8_t {
  kPlain,     // a[100]: a new element beyond its size is a script error
  kWrapping,  // a%[100]: the oldest element makes room for a new one
};

struct ArrayKindInfo {
  const char* mark;               // one token, behind the name where it is declared
  bool evicts;                    // a new element may take the memory of an old one
  bool can_be_shards;             // handlers may add to copies of their own, which are merged when it is read
  const char* refused_in_kernel;  // what the error calls it, with an article; null: handlers in the kernel can use it
};

// ORDER ARRAY_KIND
inline constexpr ArrayKindInfo kArrayKinds[] = {
    {"", false, true, nullptr},
    {"%", true, false, "an array that wraps"},  // no shards: their elements have no common order of age
};
static_assert(std::size(kArrayKinds) == static_cast<size_t>(ArrayKind::kWrapping) + 1);

inline constexpr const ArrayKindInfo& info(ArrayKind kind) { return kArrayKinds[static_cast<size_t>(kind)]; }

}  // namespace spile::syntax
