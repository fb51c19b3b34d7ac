#pragma once
// Makes points at code that has a place in the source, for process.function and process.statement.

#include <string>

#include "probes/process/process_part.h"
#include "probes/terms/source_spec.h"

namespace spile::probes {

// Returns a point at an instruction inside a function (kStatement); at the function's first instruction, a point at its entry.
// Its text is left to the caller.
sema::ResolvedPoint point_inside(TracedWorld& world, const ProcessPart& part, debuginfo::Module& module,
                                 const debuginfo::CodePlace& place);
// Resolve process....function(...) and .statement(...); as resolve of Family. With `kernel` in place of process... by the
// kernel's debug information.
Result<Points> resolve_functions(TracedWorld& world, const syntax::ProbePoint& point);
Result<Points> resolve_statements(TracedWorld& world, const syntax::ProbePoint& point);

// Returns a function's name for people: "ns::foo".
std::string plain_name(const std::string& linkage_name);
// Returns process("PATH").KIND("NAME@FILE:LINE")SUFFIX, or kernel.KIND("NAME@FILE:LINE")SUFFIX.
std::string source_text(const sema::Site& site, const std::string& kind, const std::string& suffix);

// Whether the return of a function of that name must not be diverted: it is reached without a call, returns twice or on another
// stack, or finds out by its return address who called it.
bool refuses_return(const std::string& name);

// Returns the error for a part of a function (Module::parts()) that was asked for as a function.
Error is_a_part(debuginfo::Module& module, const debuginfo::Function& part);
// Returns the error for a spec that no function of the module fits, with the nearest name.
Error no_function(debuginfo::Module& module, const SourceSpec& spec);

}  // namespace spile::probes
