#pragma once
// Binds the $variables of kernel tracepoints. There are two kinds of them: the arguments that the kernel's code gives to the
// tracepoint (TP_PROTO), typed by the kernel's type information (BTF), as SystemTap has them; and the fields of the record that
// the kernel makes of these. A handler sees either: a record does not have the arguments, and a raw tracepoint has no record.

#include <string>
#include <vector>

#include "probes/world/traced_world.h"
#include "sema/terms/target_info.h"

namespace spile::probes {

// As TargetInfo::choose_variables: arguments, if the handler reads one of them and nothing that only the record has; or if
// nothing else can give it what it reads. A string of the record counts as nothing that an argument of its name can give.
void choose_tracepoint_variables(TracedWorld& world, sema::ResolvedPoint& point,
                                 const std::vector<const syntax::TargetVariable*>& read);
// Returns where an argument is. REQUIRES: point.site.by_arguments. Errors: no such argument; a field of the record.
Result<debuginfo::Place> place_of_argument(TracedWorld& world, const sema::ResolvedPoint& point, const std::string& name);
// Returns how to read $field, or $field[n], from the record. REQUIRES: not point.site.by_arguments. Errors: no such field, a path
// into a structure, or a field that is neither a number nor a string.
Result<sema::Binding> bind_in_tracepoint(TracedWorld& world, const sema::ResolvedPoint& point,
                                         const syntax::TargetVariable& variable);
// Returns the variables of a tracepoint: "$prev_comm"; typed: "$prev_comm:char[16]", of both kinds.
std::vector<std::string> tracepoint_variables(TracedWorld& world, const sema::ResolvedPoint& point, bool typed);

}  // namespace spile::probes
