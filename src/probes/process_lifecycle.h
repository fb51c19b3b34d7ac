#pragma once
// Binds $syscall, $arg1 to $arg6 and $return of process.syscall and process.syscall.return.

#include "sema/target_info.h"

namespace spile::probes {

Result<sema::Binding> bind_in_system_call(const sema::ResolvedPoint& point, const syntax::TargetVariable& variable);
std::vector<std::string> system_call_variables(const sema::ResolvedPoint& point, const std::string& which);

}  // namespace spile::probes
