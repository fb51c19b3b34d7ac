#pragma once
// The functions of the processes of -x and -c that patterns mean.

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "session/terms/options.h"

namespace spile::verbs {

// Takes a function's name and its variables at its entry, then those at its return: "$x:long".
using FunctionVisitor = std::function<void(const std::string& name, const std::vector<std::string>& variables)>;

// Returns the names of the functions that a pattern matches and none of the excluded ones, each once, with the library that the
// pattern names ("libc.so.6:malloc"). Errors: a pattern matches nothing (the hint names a library that has such a function); all
// are excluded.
Result<std::vector<std::string>> functions_in_processes(const session::TargetOptions& target,
                                                        const std::vector<std::string>& patterns,
                                                        const std::vector<std::string>& excluded,
                                                        const FunctionVisitor& visit = {});

}  // namespace spile::verbs
