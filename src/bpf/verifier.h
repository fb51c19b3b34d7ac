#pragma once
// Makes an error message of the log of a kernel verifier that refuses a handler: in words of the script. The verifier's own words
// are about instructions and registers, and are shown on demand only.

#include <string>

#include "base/result.h"
#include "bpf/bpf.h"
#include "bpf/program_image.h"

namespace spile::bpf {

// Returns the error. image: the program. errnum: of bpf(2), positive. log: the verifier's; the message has it with verbosity
// above 2.
Error verifier_error(const AttachPoint& point, const ProgramImage& image, int errnum, const std::string& log, int verbosity);

// Returns the line of the log that says why: the last one that is neither a summary, nor an instruction, nor a register dump; ""
// if none.
std::string verifier_reason(const std::string& log);

// Where the verifier stopped.
struct RefusedPlace {
  std::string function;              // of the script; "": the handler itself, or a function of the runtime
  const ScriptLine* line = nullptr;  // of the image; null: not in a statement of the script
};

// Finds the place by the last instruction that the log has.
RefusedPlace refused_place(const ProgramImage& image, const std::string& log);

}  // namespace spile::bpf
