#pragma once
// Where a path like $p->next->value starts: the variable, the object behind a cast pointer, and what walking on finds.

#include <span>
#include <string>

#include "probes/traced_world.h"
#include "sema/target_info.h"

namespace spile::probes {

struct StartPlace {
  std::string name;    // as errors say it
  std::string module;  // whose debug information the type is from
  debuginfo::Place place;
  // Of a pointer that the handler has: a first step [n] goes n objects on.
  bool is_pointee = false;
  // Not "": addresses in place are in this module, which is not the probed one.
  std::string other_module = {};
};

// Of a point: the function whose variables are visible there, and where in it.
struct Frame {
  FileAddress function, pc;
  uint64_t scope = 0;
};
Frame frame_of(const sema::ResolvedPoint& point);

Result<StartPlace> start_of(TracedWorld& world, const sema::ResolvedPoint& point, bool at_entry,
                            const syntax::TargetVariable& variable);
// @cast or @var; point is null where there is none.
Result<StartPlace> start_of(TracedWorld& world, const sema::ResolvedPoint* point, const syntax::AtOperation& operation);
Result<StartPlace> start_of(TracedWorld& world, const sema::TargetType& type);

// "libc.so.6", "/bin/x", "x": a file, by PATH, or a library of the traced program.
Result<std::string> find_module(TracedWorld& world, const std::string& name);

// path: without kPretty and kPrettyDeep.
Result<debuginfo::Place> walk_path(const StartPlace& start, std::span<const syntax::PathStep> path);

}  // namespace spile::probes
