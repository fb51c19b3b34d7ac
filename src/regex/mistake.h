#pragma once
// An error in a pattern, with its position.

#include <cstddef>
#include <string>

namespace spile::regex {

struct Mistake {
  size_t offset = 0, length = 1;  // in the pattern
  std::string message, hint;
};

}  // namespace spile::regex
