#pragma once
// Finds $variables of the kernel's functions, and its types and variables by their names, in the kernel's own type information
// (BTF).
//
// Modules are named "kernel" for vmlinux and "kernel:loop" for a loaded module: no path of an ELF file is like these.

#include <string>
#include <vector>

#include "probes/world/traced_world.h"
#include "sema/terms/target_info.h"

namespace spile::probes {

// Returns whether a module is of the kernel, as its own type information describes it.
bool is_kernel_module(const std::string& module);
// Returns the name of the loaded module that "kernel:loop" is; "": vmlinux.
std::string loaded_module(const std::string& module);
// Returns whether addresses in a module, or pointers of its types, lead to the kernel's memory: also those of kKernelImage.
bool is_of_kernel(const std::string& module);
// Returns the module for the name that a script gives to it, "kernel" or, of a probe in the kernel, "loop"; "": not the kernel's.
std::string find_kernel_module(TracedWorld& world, const sema::ResolvedPoint* point, const std::string& name);
// Returns the module for the name of one that is loaded or part of the kernel; "": neither.
std::string kernel_module_named(TracedWorld& world, const std::string& name);

// Returns the type information of a module. REQUIRES, here and below: is_kernel_module(module). Errors: as KernelInfo::types().
Result<std::shared_ptr<kernelinfo::Btf>> kernel_types(TracedWorld& world, const std::string& module);
// Returns a type by its name in C. Errors: no such type, with a did-you-mean; as kernel_types().
Result<debuginfo::Type> kernel_type(TracedWorld& world, const std::string& module, const std::string& name);

// Returns where a parameter or $return of the point's function is. REQUIRES: point.site.kernel is not null. Errors: no such
// parameter, not at this kind of point, no type information of the function.
Result<debuginfo::Place> place_in_kernel(TracedWorld& world, const sema::ResolvedPoint& point, bool at_entry,
                                         const syntax::TargetVariable& variable);
// Returns where a variable outside of functions is. Type information has few of them: of others the size decides between int and
// long. address_of: its type does not matter. Errors: no such variable, the kernel hides its address, its type is not known.
// Returns the error that the kernel (loaded: a loaded module, "": vmlinux) has no variable of that name, with one that it has.
Error no_kernel_variable(const kernelinfo::Symbols& symbols, const std::string& loaded, const std::string& name);
Result<debuginfo::Place> place_of_kernel_variable(TracedWorld& world, const std::string& module, const std::string& name,
                                                  bool address_of);

// Returns what $$vars, $$parms or $$return prints, as names.
std::vector<std::string> kernel_variables(TracedWorld& world, const sema::ResolvedPoint& point, const std::string& which);
// Returns "$file:struct file*", "$return:long int" for -L.
std::vector<std::string> typed_kernel_variables(TracedWorld& world, const sema::ResolvedPoint& point);
// Returns whether type information has the point's function.
bool knows_kernel_variables(TracedWorld& world, const sema::ResolvedPoint& point);

}  // namespace spile::probes
