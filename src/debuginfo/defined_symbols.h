#pragma once
// A quick look for known names in a file's symbol tables.

#include <set>
#include <string>
#include <string_view>

namespace spile::debuginfo {

// Those of the names that the file defines as symbols of whatever kind (.symtab, .dynsym); none where it can't be read.
std::set<std::string_view> defined_symbols(const std::string& path, const std::set<std::string_view>& names);

}  // namespace spile::debuginfo
