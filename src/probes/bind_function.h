#pragma once
// $variables of a traced program's functions: debug information's places as bindings.

#include <string>
#include <vector>

#include "probes/traced_world.h"
#include "sema/target_info.h"

namespace spile::probes {

Result<sema::Binding> bind_in_function(TracedWorld& world, const sema::ResolvedPoint& point, bool at_entry,
                                       const syntax::TargetVariable& variable);
Result<sema::Binding> bind_in_function(TracedWorld& world, const sema::ResolvedPoint& point, bool at_entry,
                                       const syntax::AtOperation& operation);

// @cast where there is no point.
Result<sema::Binding> bind_anywhere(TracedWorld& world, const syntax::AtOperation& operation);
// The constants of the enumeration that @cast(VALUE, "type", "module") names.
Result<std::vector<sema::EnumConstant>> constants_of(TracedWorld& world, const sema::ResolvedPoint* point, const syntax::AtOperation& cast);
// A path from a pointer that the script has.
Result<sema::Binding> bind_pointer(TracedWorld& world, const sema::TargetType& type,
                                   const syntax::Dereference& dereference);

// $arg1 ... of an SDT mark; a PLT entry has none.
Result<sema::Binding> bind_in_mark(TracedWorld& world, const sema::ResolvedPoint& point,
                                   const syntax::TargetVariable& variable);
std::vector<std::string> mark_variables(const sema::ResolvedPoint& point, const std::string& which);
// $$name, $$provider.
Result<std::string> mark_text(const sema::ResolvedPoint& point, const std::string& name);

// "$a", "$b": for $$vars, $$parms, $$locals, $$return.
std::vector<std::string> function_variables(TracedWorld& world, const sema::ResolvedPoint& point,
                                            const std::string& which);
// The place in the source, into site and text.
void describe_function(TracedWorld& world, sema::ResolvedPoint& point);
// "$a:long": for -L.
std::vector<std::string> typed_function_variables(TracedWorld& world, const sema::ResolvedPoint& point);

}  // namespace spile::probes
