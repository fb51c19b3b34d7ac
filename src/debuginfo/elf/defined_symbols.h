#pragma once
// Looks for known names in a file's symbol tables, without opening a Module. Thread rule: any thread.

#include <set>
#include <string>
#include <string_view>

namespace spile::debuginfo {

// Returns those of `names` that the file defines as symbols of any kind (.symtab, .dynsym); none if it can't be read. The views
// are those of `names`.
std::set<std::string_view> defined_symbols(const std::string& path, const std::set<std::string_view>& names);

// Returns the addresses in the file by which its code comes to functions of these names: entries of its procedure linkage table,
// words of its global offset table, and the functions themselves where the file defines them. None if it can't be read.
std::set<uint64_t> ways_to_functions(const std::string& path, const std::set<std::string_view>& names);

}  // namespace spile::debuginfo
