#pragma once
// Binds $variables of a traced program's functions: makes bindings of debug information's places. Errors are for the script's
// author: no such variable, member or type, a value that can't be read there, no debug information.

#include <string>
#include <vector>

#include "probes/world/traced_world.h"
#include "sema/terms/target_info.h"

namespace spile::probes {

// Bind as TargetInfo::bind() at points in programs; at a mark, its arguments first.
Result<sema::Binding> bind_in_function(TracedWorld& world, const sema::ResolvedPoint& point, bool at_entry,
                                       const syntax::TargetVariable& variable);
Result<sema::Binding> bind_in_function(TracedWorld& world, const sema::ResolvedPoint& point, bool at_entry,
                                       const syntax::AtOperation& operation);

// Binds @cast, @var, @enum and @uderef outside of points.
Result<sema::Binding> bind_anywhere(TracedWorld& world, const syntax::AtOperation& operation);
// Returns the constants of the enumeration that @cast(VALUE, "type", "module") names. point: null outside of a point's handler.
Result<std::vector<sema::EnumConstant>> constants_of(TracedWorld& world, const sema::ResolvedPoint* point,
                                                     const syntax::AtOperation& cast);
// Returns those of the enumeration that the variable, with its path, has for its type.
Result<std::vector<sema::EnumConstant>> constants_of_variable(TracedWorld& world, const sema::ResolvedPoint* point, bool at_entry,
                                                              const syntax::Expression& variable);
// Binds a path from a pointer that the script has; see TargetInfo::bind_dereference().
Result<sema::Binding> bind_pointer(TracedWorld& world, const sema::TargetType& type, const syntax::Dereference& dereference);

// Binds $arg1 ... of an SDT mark; a PLT entry has none. REQUIRES: here and in mark_variables(), point.site.mark is not null.
Result<sema::Binding> bind_in_mark(TracedWorld& world, const sema::ResolvedPoint& point, const syntax::TargetVariable& variable);
// Returns "$arg1", "$arg2" ... for $$vars and $$parms; else nothing.
std::vector<std::string> mark_variables(const sema::ResolvedPoint& point, const std::string& which);
// Returns whether the name is not one of a mark's arguments, so that a variable of the functions around the mark may have it.
// False for all names at PLT entries. REQUIRES: point.site.mark is not null.
bool names_variable_at_mark(const sema::ResolvedPoint& point, const std::string& name);
// Returns the text of $$name or $$provider. Errors: another name, or the point is not a mark.
Result<std::string> mark_text(const sema::ResolvedPoint& point, const std::string& name);

// Returns whether variables of the point's function are known.
bool knows_function_variables(TracedWorld& world, const sema::ResolvedPoint& point);
// Returns "$a", "$b" for $$vars, $$parms, $$locals or $$return; empty without debug information.
std::vector<std::string> function_variables(TracedWorld& world, const sema::ResolvedPoint& point, const std::string& which);
// Fills in the line of a function's declaration, in site and text, if debug information has it.
void describe_function(TracedWorld& world, sema::ResolvedPoint& point);
// Returns "$a:long", "$return:int" for -L; locals that can't be read there are left out.
std::vector<std::string> typed_function_variables(TracedWorld& world, const sema::ResolvedPoint& point);

}  // namespace spile::probes
