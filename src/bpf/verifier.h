#pragma once
// Makes an error message of the log of a kernel verifier that rejects a handler.

#include <string>

#include "base/result.h"

namespace spile::bpf {

// `log`: the verifier's, of which only the reason is shown unless verbosity is above 1.
Error verifier_error(const std::string& point, int errnum, const std::string& log, int verbosity);

// The line of the log that says why: the last one that is neither a summary, nor an instruction, nor a register dump.
std::string verifier_reason(const std::string& log);

}  // namespace spile::bpf
