#pragma once
// What files say of the run that they are of.

#include <string>

#include "runs/stacks/sample_files.h"
#include "session/terms/options.h"

namespace spile::verbs {

// words: the verb with its words and options, as given.
runs::SampleFacts run_facts(const std::string& words, const std::string& script, const session::Options& options);

}  // namespace spile::verbs
