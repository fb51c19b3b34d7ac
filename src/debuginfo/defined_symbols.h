#pragma once
// Quick looks for known names in a file's symbol tables.

#include <set>
#include <string>
#include <string_view>

namespace spile::debuginfo {

// Returns the names that the file defines as symbols of any kind (.symtab, .dynsym); none if it can't be read.
std::set<std::string_view> defined_symbols(const std::string& path, const std::set<std::string_view>& names);

// Addresses by which code in the file comes to functions of these names: entries of its procedure linkage table, words of its
// global offset table, and the functions themselves where the file defines them. None where it can't be read.
std::set<uint64_t> ways_to_functions(const std::string& path, const std::set<std::string_view>& names);

}  // namespace spile::debuginfo
