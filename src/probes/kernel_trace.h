#pragma once
// Binds the $fields of kernel tracepoints.

#include <string>
#include <vector>

#include "probes/traced_world.h"
#include "sema/target_info.h"

namespace spile::probes {

Result<sema::Binding> bind_in_tracepoint(TracedWorld& world, const sema::ResolvedPoint& point,
                                         const syntax::TargetVariable& variable);
// Returns the variables of a tracepoint: "$prev_comm"; typed: "$prev_comm:char[16]".
std::vector<std::string> tracepoint_variables(TracedWorld& world, const sema::ResolvedPoint& point, bool typed);

}  // namespace spile::probes
