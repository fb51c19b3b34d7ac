#pragma once
// process.function("NAME").callee("NAME"), .callees, .callees(N): the calls that a function makes, and those that the functions
// make that it calls, N levels deep, as the debug information of optimized code describes them. A hit counts only where the
// chain of calls leads back to the function.

#include <string>

#include "probes/process/process_part.h"
#include "probes/terms/source_spec.h"

namespace spile::probes {

struct CalleeRequest {
  ProcessPart part;
  SourceSpec callers;
  std::string callee;            // glob; "*" if levels > 1
  int levels = 1;                // at most sema::kMostCallers
  bool without_inlined = false;  // leave out inlined calls
  bool is_return = false;        // the returns of the called functions
};
// Returns points at the calls, or at the returns of the called functions. Errors: no function fits `callers`, or none of them
// calls `callee`; the callers can't be checked in the kernel (levels > 1, is_return); too many ways lead to a call.
Result<Points> find_callees(TracedWorld& world, const CalleeRequest& request, debuginfo::Module& module);

}  // namespace spile::probes
