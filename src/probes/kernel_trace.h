#pragma once
// Binds the $fields of kernel tracepoints.

#include <string>
#include <vector>

#include "probes/traced_world.h"
#include "sema/target_info.h"

namespace spile::probes {

// Returns how to read $field, or $field[n], from the record. Errors: no such field, a path into a structure, or a field that is neither a
// number nor a string.
Result<sema::Binding> bind_in_tracepoint(TracedWorld& world, const sema::ResolvedPoint& point,
                                         const syntax::TargetVariable& variable);
// Returns the variables of a tracepoint: "$prev_comm"; typed: "$prev_comm:char[16]".
std::vector<std::string> tracepoint_variables(TracedWorld& world, const sema::ResolvedPoint& point, bool typed);

}  // namespace spile::probes
