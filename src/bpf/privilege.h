#pragma once
// The error for operations that the kernel does not permit: one wording, one hint.

#include <cstdlib>
#include <string>

#include "base/result.h"

namespace spile::bpf {

// `error`: an errno or, as libbpf returns it, its negative.
bool is_privilege_error(int error);
Error privilege_error(const std::string& what, int errnum);

}  // namespace spile::bpf
