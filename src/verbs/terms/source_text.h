#pragma once
// The text of a source file that debug information names, for people to read.

#include <optional>
#include <string>
#include <vector>

namespace spile::verbs {

// Reads the file at `path`, or in `folder` under as many last components of the path as are there; folder: "" for none. Lines are
// without their ends; tabs are blanks up to the next multiple of 8. nullopt: there is no such file, it can't be read, is not a
// regular file, or is larger than 64 MiB.
std::optional<std::vector<std::string>> read_source(const std::string& path, const std::string& folder);

}  // namespace spile::verbs
