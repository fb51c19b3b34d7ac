#pragma once
// Binds $syscall, $arg1 to $arg6 and $return of process.syscall and process.syscall.return, and the names of the parameters where
// the point names the call.

#include "sema/terms/target_info.h"

namespace spile::probes {

// Returns how to compute the variable. Error: not one of these at this point, or with a path.
Result<sema::Binding> bind_in_system_call(const sema::ResolvedPoint& point, const syntax::TargetVariable& variable);
// Returns the names ("$syscall") for $$vars, $$parms or $$return; else nothing.
std::vector<std::string> system_call_variables(const sema::ResolvedPoint& point, const std::string& which);

}  // namespace spile::probes
