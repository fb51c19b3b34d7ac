#pragma once
// Points at code that has a place in the source: what process.function and process.statement share.

#include <string>

#include "probes/process_part.h"
#include "probes/source_spec.h"

namespace spile::probes {

// A point at an instruction inside a function. Where that is the function's first one, it is as good as its entry.
sema::ResolvedPoint point_inside(const TracedWorld& world, const ProcessPart& part, debuginfo::Module& module,
                                 const debuginfo::CodePlace& place);
// A function's name for people: "ns::foo".
std::string plain_name(const std::string& linkage_name);
// process("PATH").KIND("NAME@FILE:LINE")SUFFIX
std::string source_text(const sema::Site& site, const std::string& kind, const std::string& suffix);

// Functions whose return must not be diverted: reached without a call, returning twice or on another stack, or finding
// out who called them by their return address.
bool refuses_return(const std::string& name);

Error no_function(debuginfo::Module& module, const SourceSpec& spec);

}  // namespace spile::probes
