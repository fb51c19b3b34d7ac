#pragma once
// Makes the error for operations that the kernel does not permit, with one wording and one hint.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/result.h"

namespace spile::bpf {

// Returns whether an error is EPERM or EACCES. error: an errno or, as libbpf returns it, its negative.
bool is_privilege_error(int error);
// Returns which of CAP_BPF and CAP_PERFMON a set of capabilities (bit N: capability N) lacks, as a sentence without a period;
// empty: none.
std::string missing_privileges(uint64_t effective);
// Returns whether this thread has both.
bool has_privileges();
// Returns the error, whose hint names the capabilities that are missing. what: the operation, as in "create the map of a global".
// errnum: positive.
Error privilege_error(const std::string& what, int errnum);

}  // namespace spile::bpf
