#pragma once
// The scripts of verbs are files beside them (tasks/top.stp), which the build embeds. What a request decides is filled in:
//
//   @NAME                            the value of NAME; a name is of capital letters, so @entry and the like stay
//   %( NAME %? text %: other %)      `text` where the value of NAME is not "", else `other`, which may be absent; they may nest
//
// `%( NAME %?`, `%:` and `%)` that have a line to themselves leave none. What is filled in is not looked at again.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spile::verbs {

using ScriptValues = std::vector<std::pair<std::string_view, std::string>>;  // NAME, value

// Returns the script. REQUIRES: `file` is well formed, and `values` has all names that are in it.
std::string script_text(std::string_view file, const ScriptValues& values);

// The value of a condition.
inline std::string when(bool holds) { return holds ? "yes" : ""; }

}  // namespace spile::verbs
