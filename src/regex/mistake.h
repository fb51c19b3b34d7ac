#pragma once
// What is wrong with a pattern, and where.

#include <cstddef>
#include <string>

namespace spile::regex {

struct Mistake {
  size_t offset = 0, length = 1;  // in the pattern
  std::string message, hint;
};

}  // namespace spile::regex
