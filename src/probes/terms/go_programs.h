#pragma once
// What spile knows of programs that Go's compiler made, beyond their debug information.

#include <string>

#include "base/address.h"
#include "debuginfo/debuginfo.h"

namespace spile::probes {

// Returns the file address of runtime.allgs, the list of a program's goroutines; 0: the file has no symbols, or can't be read.
FileAddress goroutine_list_of(const std::string& path, const debuginfo::OpenOptions& options);

}  // namespace spile::probes
