#pragma once
// Makes an error message of the log of a kernel verifier that rejects a handler.

#include <string>

#include "base/result.h"

namespace spile::bpf {

// Returns the error. point: the probe point. errnum: of bpf(2), positive. log: the verifier's; the message has only the reason in it, with
// verbosity above 1 all of it. Empty log: the reason is that of errnum.
Error verifier_error(const std::string& point, int errnum, const std::string& log, int verbosity);

// Returns the line of the log that says why: the last one that is neither a summary, nor an instruction, nor a register dump; "" if none.
std::string verifier_reason(const std::string& log);

}  // namespace spile::bpf
