#pragma once
// Resolves the beginning that all probe points on processes have: process, process("PATH"), process(PID), then perhaps library("GLOB").
// Finds the ELF files that it stands for, and fills in what every point in one of them has.

#include <functional>
#include <string>
#include <vector>

#include "probes/family.h"
#include "probes/traced_world.h"

namespace spile::probes {

struct ProcessPart {
  const syntax::PointComponent* process = nullptr;
  const syntax::PointComponent* library = nullptr;
  size_t next = 0;  // index of the first component after these
};

// Whether the component that follows process and library has that name.
bool follows_process(const syntax::ProbePoint& point, std::string_view name);
Result<ProcessPart> parse_process(const syntax::ProbePoint& point);

// Returns the files, each an existing path; never empty. Errors: no file fits.
Result<std::vector<std::string>> modules_of(TracedWorld& world, const ProcessPart& part);

// Collects the points that resolve_in finds in each file. Errors: no file has any.
using ResolveIn = std::function<Result<Points>(debuginfo::Module& module)>;
Result<Points> resolve_in_modules(TracedWorld& world, const ProcessPart& part, const ResolveIn& resolve_in);

// Returns a point at an address of the module, with the fields of its site that the module determines.
sema::ResolvedPoint point_at(const TracedWorld& world, const ProcessPart& part, debuginfo::Module& module,
                             FileAddress address, sema::ProbeKind kind);

// Returns the components that can follow process and library.
const std::vector<std::string>& after_process();

}  // namespace spile::probes
