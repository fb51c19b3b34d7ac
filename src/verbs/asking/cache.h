#pragma once
// `spile cache`: what spile remembers of debug information (debuginfo/cache/answer_cache.h), and how to carry it to a machine
// without any.

#include <string>
#include <vector>

#include "base/result.h"
#include "session/terms/options.h"

namespace spile::verbs {

// As Verb::answer. words: list | add FILE... | rm BUILD-ID|FILE... | prune [MIB] | export OUT [FILE...] | import IN
Result<int> answer_cache(const std::vector<std::string>& words, const session::Options& options);

}  // namespace spile::verbs
