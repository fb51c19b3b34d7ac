#pragma once
// The scripts of `spile flame`: what is looked at, and what the numbers are of.

#include <string>
#include <vector>

#include "base/result.h"
#include "runs/stacks/samples.h"
#include "verbs/terms/verb_script.h"

namespace spile::verbs {

struct FlameScript {
  std::string words;  // the options as given, for the script's head
  std::string text;
  std::vector<std::string> limits = {};  // as -D takes them
  runs::Samples::Unit unit = runs::Samples::Unit::kSamples;
  std::string empty = {};  // what it means that it has no stack at all; "": spile says so itself
};

// Errors: an option's value has no meaning; options exclude each other.
Result<FlameScript> make_flame_script(const VerbLine& line);

}  // namespace spile::verbs
