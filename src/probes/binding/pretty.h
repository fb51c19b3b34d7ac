#pragma once
// Takes a structure apart for $x$ and $x->y$$, which print {.a=1, .b="text", .c=[1, 2], .p=0x7f...}: one level deep with $, and
// all of it with $$, but for pointers, which are followed at the top only.

#include <vector>

#include "probes/world/traced_world.h"
#include "sema/terms/target_info.h"

namespace spile::probes {

// Return the parts as TargetInfo::pretty(), pretty_dereference() and pretty_without_point(); a value that can't be read becomes a
// literal "?". Errors: the path leads nowhere, or the whole value is unavailable.
Result<std::vector<sema::PrettyPart>> pretty_parts(TracedWorld& world, const sema::ResolvedPoint& point, bool at_entry,
                                                   const syntax::Expression& expression, bool deep);
Result<std::vector<sema::PrettyPart>> pretty_parts(TracedWorld& world, const sema::TargetType& pointer,
                                                   const syntax::Dereference& dereference, bool deep);
Result<std::vector<sema::PrettyPart>> pretty_parts(TracedWorld& world, const syntax::AtOperation& operation, bool deep);

}  // namespace spile::probes
