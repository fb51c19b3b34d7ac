#pragma once
// $value of procfs probes: a global of strings that spile fills before a write probe and reads after a read probe. In the
// tree it is an ordinary variable from pass 1 on, so that no later pass knows of it. What a read probe appends to it may
// become longer than a string can be: whenever it does, what is there so far goes to an array of parts.

#include <vector>

#include "base/source.h"
#include "syntax/tree.h"

namespace spile::session {

inline constexpr const char* kProcfsValue = "__spile_procfs_value";
inline constexpr const char* kProcfsParts = "__spile_procfs_parts";  // [long]: those before kProcfsValue, in order
inline constexpr const char* kProcfsCount = "__spile_procfs_count";  // of parts
inline constexpr int kProcfsMostParts = 2048;

// Replaces $value in procfs probes and in aliases of them, and declares the globals if there are any such probes. string_length:
// MAXSTRINGLEN, in bytes. files: gets the texts that replace statements; must outlive the scripts.
void declare_procfs_value(std::vector<syntax::Script>& scripts, int64_t string_length, SourceFiles& files);

}  // namespace spile::session
