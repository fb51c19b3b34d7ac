#pragma once
// The beginning that all probe points on processes have: process, process("PATH"), process(PID), then perhaps
// library("GLOB"). Which ELF files are meant, and what every point in one of them has.

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

// Index of the component that follows process and library; whether it has that name.
bool follows_process(const syntax::ProbePoint& point, std::string_view name);
Result<ProcessPart> parse_process(const syntax::ProbePoint& point);

// The files, each an existing path. Never empty.
Result<std::vector<std::string>> modules_of(TracedWorld& world, const ProcessPart& part);

// Asks for the points in each file; an error only where there are none in any.
using ResolveIn = std::function<Result<Points>(debuginfo::Module& module)>;
Result<Points> resolve_in_modules(TracedWorld& world, const ProcessPart& part, const ResolveIn& resolve_in);

// A point at an address of the module, its site filled in as far as that goes.
sema::ResolvedPoint point_at(const TracedWorld& world, const ProcessPart& part, debuginfo::Module& module,
                             FileAddress address, sema::ProbeKind kind);

// The components that can follow process and library.
const std::vector<std::string>& after_process();

}  // namespace spile::probes
