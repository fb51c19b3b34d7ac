#pragma once
// Resolves the beginning that all probe points on processes have: process, process("PATH"), process(PID), then perhaps
// library("GLOB"). Finds the ELF files that it stands for, and fills in what every point in one of them has. `kernel` and
// module("NAME") stand for one file, too, where its debug information is installed: their points are those of an ELF file that
// lies in memory with a bias.

#include <functional>
#include <string>
#include <vector>

#include "probes/terms/family.h"
#include "probes/world/traced_world.h"

namespace spile::probes {

struct ProcessPart {
  // Both point into the probe point, which must outlive the part.
  const syntax::PointComponent* process = nullptr;  // never null after parse_process()
  const syntax::PointComponent* library = nullptr;  // null: absent
  size_t next = 0;                                  // index of the first component after these
  bool of_kernel = false;                           // the first component is `kernel` or module("NAME"): `process` points to it
  // The module of the kernel; "": vmlinux, or not of the kernel.
  std::string kernel_module() const { return of_kernel && process->text ? *process->text : std::string(); }
};

// Whether the component that follows process and library has that name.
bool follows_process(const syntax::ProbePoint& point, std::string_view name);
// Parses the beginning of a point. REQUIRES: its first component is `process`, `kernel` or `module`. Errors: `library` without a
// name.
Result<ProcessPart> parse_process(const syntax::ProbePoint& point);

// Returns the paths of the files, each once, as TracedWorld::module() takes them; never empty. REQUIRES: not of the kernel.
// Errors: no file fits; `process` alone has no target; process(PID) is not traced.
Result<std::vector<std::string>> modules_of(TracedWorld& world, const ProcessPart& part);

// Collects the points that resolve_in finds in each file; files for which it fails are left out, which is reported by
// World::left_out(). Errors: that of the first file, if it fails for all; probes would run in processes, and the world has no
// target; of the kernel, as TracedWorld::kernel_image(), or no point is where the kernel allows probes.
using ResolveIn = std::function<Result<Points>(debuginfo::Module& module)>;
Result<Points> resolve_in_modules(TracedWorld& world, const ProcessPart& part, const ResolveIn& resolve_in);

// Returns a point at an address of the module, with the fields of its site that the module determines.
sema::ResolvedPoint point_at(TracedWorld& world, const ProcessPart& part, debuginfo::Module& module, FileAddress address,
                             sema::ProbeKind kind);

// Returns how texts of points in the module begin: process("PATH"), kernel, module("NAME").
std::string head_of(const sema::Site& site);

// Returns the components that can follow process and library, for did-you-mean.
const std::vector<std::string>& after_process();

}  // namespace spile::probes
