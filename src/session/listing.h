#pragma once
// Answers -l, -L and the --dump options, without running a script.

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "session/terms/options.h"

namespace spile::session {

// Prints what `listing` asks for on standard output, each line once; all but kProbeTypes are sorted. json: points are objects, as
// docs/json.md has them. With -v, prints on standard error what matches but can't be probed, and why. Returns the exit status: 0,
// or 1 if nothing is found or the point is wrong, which has been reported. Errors: the program or process does not exist; the
// library can't be read. REQUIRES: listing.what is not kNone.
Result<int> list(const ListingOptions& listing, const ScriptOptions& script, const TargetOptions& target,
                 const MessageOptions& messages, bool json = false);

// The variables of a probe point, by name and type: ("$count", "size_t"), and those that an alias sets: ("name", "string").
struct PointVariables {
  bool in_process = false;  // handlers run in a traced process
  std::vector<std::pair<std::string, std::string>> variables;
};
// Returns the variables of the first place that a point stands for. Errors: the first mistake in the point, or in the body of its
// alias.
Result<PointVariables> variables_at(const std::string& point, const ScriptOptions& script, const TargetOptions& target);

}  // namespace spile::session
