#pragma once
// An error in a pattern, with its position.

#include <cstddef>
#include <string>

namespace spile::regex {

struct Mistake {
  size_t offset = 0, length = 1;  // in the pattern, in bytes
  std::string message, hint;      // hint: may be empty
};

}  // namespace spile::regex
