#pragma once
// $x$ and $x->y$$: what a structure prints as, {.a=1, .b="text", .c=[1, 2], .p=0x7f...}. One level deep with $, all of it
// (but pointers, which are followed at the top only) with $$.

#include <vector>

#include "probes/traced_world.h"
#include "sema/target_info.h"

namespace spile::probes {

Result<std::vector<sema::PrettyPart>> pretty_parts(TracedWorld& world, const sema::ResolvedPoint& point, bool at_entry,
                                                   const syntax::Expression& expression, bool deep);
Result<std::vector<sema::PrettyPart>> pretty_parts(TracedWorld& world, const sema::TargetType& pointer,
                                                   const syntax::Dereference& dereference, bool deep);
// In a function, where there is no point.
Result<std::vector<sema::PrettyPart>> pretty_parts(TracedWorld& world, const syntax::AtOperation& operation, bool deep);

}  // namespace spile::probes
