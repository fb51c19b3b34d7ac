#pragma once
// Points in the code of the kernel and of its modules, and the variables there, by debug information
// (TracedWorld::kernel_image()). Where the kernel's own type information (kernel_types.h) knows a variable, that is asked first.

#include <optional>
#include <string>

#include "probes/terms/family.h"
#include "probes/world/traced_world.h"

namespace spile::probes {

// Returns a point at an address of the image, as point_at() of process_part.h. An address that is not in memory becomes 0.
sema::ResolvedPoint kernel_point_at(TracedWorld& world, const KernelImage& image, FileAddress address, sema::ProbeKind kind);
// Removes points where the kernel allows no probes: those on its blacklist and those in code that is gone. Error: all are.
Result<Points> keep_allowed(TracedWorld& world, const KernelImage& image, Points points);

// A point's place in the image, as Module::variables() takes it.
struct ImageFrame {
  const KernelImage* image;
  FileAddress function, pc;
  uint64_t scope = 0;
};
// Returns the place of a point; nullopt: the image isn't there, or knows no function there. REQUIRES: site.kernel.
std::optional<ImageFrame> frame_in_image(TracedWorld& world, const sema::ResolvedPoint& point);

struct KernelVariable {
  std::string module;  // whose types the place has, for TracedWorld::module() or kernel_types()
  debuginfo::Place place;
};
// Returns where a $variable or $return is at a point of the kernel: as place_in_kernel() says, else as debug information does.
// REQUIRES: site.kernel. Errors: no such variable, not at this kind of point, nothing describes the function.
Result<KernelVariable> variable_in_kernel(TracedWorld& world, const sema::ResolvedPoint& point, bool at_entry,
                                          const syntax::TargetVariable& variable);

// Returns where a variable outside of functions is, "NAME" or "NAME@FILE", in the kernel or a module of it (is_kernel_module());
// nullopt: debug information isn't there, or doesn't know it, or each CPU has its own.
std::optional<KernelVariable> global_in_image(TracedWorld& world, const std::string& module, const std::string& name);

}  // namespace spile::probes
