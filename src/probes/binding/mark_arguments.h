#pragma once
// Arguments of SDT marks, as their notes describe them: "-4@%eax 8@-8(%rbp)".

#include <string>
#include <vector>

#include "base/result.h"
#include "debuginfo/debuginfo.h"

namespace spile::probes {

// Returns the descriptions in a note's text, one an argument.
std::vector<std::string> mark_arguments(const std::string& text);

// Returns the operations that read the argument that `description` ("-4@%eax") is of. name: "$arg1", as errors say it. Error: its
// size or place is none that handlers read.
Result<location::Operations> read_mark_argument(debuginfo::Module& module, const std::string& name,
                                                const std::string& description);

}  // namespace spile::probes
