#pragma once
// What a verb makes of its words.

#include <string>
#include <vector>

namespace spile::verbs {

struct VerbScript {
  std::string text;
  std::vector<std::string> limits = {};  // as -D takes them; the user's hold
};

}  // namespace spile::verbs
