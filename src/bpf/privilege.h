#pragma once
// Makes the error for operations that the kernel does not permit, with one wording and one hint.

#include <cstdlib>
#include <string>

#include "base/result.h"

namespace spile::bpf {

// Whether an error is one of missing privilege. error: an errno or, as libbpf returns it, its negative.
bool is_privilege_error(int error);
Error privilege_error(const std::string& what, int errnum);

}  // namespace spile::bpf
