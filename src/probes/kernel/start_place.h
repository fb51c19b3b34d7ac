#pragma once
// Where a path like $p->next->value starts: the variable, the object behind a cast pointer, and what walking on finds.

#include <span>
#include <string>
#include <vector>

#include "probes/world/traced_world.h"
#include "sema/terms/target_info.h"

namespace spile::probes {

struct StartPlace {
  std::string name;        // as errors say it
  std::string module;      // whose debug information the type is from
  debuginfo::Place place;  // perhaps unavailable: walk_path() reports that
  // Of a pointer that the handler has: a first step [n] goes n objects on.
  bool is_pointee = false;
  // Not "": addresses in place are in this module, which is not the probed one.
  std::string other_module = {};
};

// The function whose variables are visible at a point, and where in it: file addresses, and CodePlace::scope.
struct Frame {
  FileAddress function, pc;
  uint64_t scope = 0;
};
Frame frame_of(const sema::ResolvedPoint& point);
// Returns the frames whose variables are visible at a point, innermost first. At a mark in inlined calls these are the calls
// around it, and then the function; elsewhere it is frame_of().
std::vector<Frame> frames_of(debuginfo::Module& module, const sema::ResolvedPoint& point);
// Returns the innermost of these frames that has the variable (its name without '$'), or, if none has it, the innermost one.
Frame frame_with(debuginfo::Module& module, const sema::ResolvedPoint& point, const std::string& name);

// Find where a path starts: a $variable or $return of the point's function; @cast or @var (point: null outside of a point's
// handler); the object behind a pointer of that type. Errors: not known, or not reachable for handlers there.
Result<StartPlace> start_of(TracedWorld& world, const sema::ResolvedPoint& point, bool at_entry,
                            const syntax::TargetVariable& variable);
Result<StartPlace> start_of(TracedWorld& world, const sema::ResolvedPoint* point, const syntax::AtOperation& operation);
Result<StartPlace> start_of(TracedWorld& world, const sema::TargetType& type);

// Answers TargetInfo::where_readable().
std::string where_readable(TracedWorld& world, const sema::ResolvedPoint& point, const syntax::TargetVariable& variable);

// Returns the bytes of a type that @sizeof names; 0: not known. Errors as for @cast.
Result<uint64_t> size_of_type(TracedWorld& world, const sema::ResolvedPoint* point, const syntax::AtOperation& operation);

// Returns the path of the module that a script names: "/bin/x"; "x", the traced program or by PATH; "libc.so.6", a library of the
// traced program, which comes before PATH.
Result<std::string> find_module(TracedWorld& world, const std::string& name);

// Returns the place that the path leads to. Errors: the start is unavailable, a step is kPretty, kPrettyDeep or kText, or as
// debuginfo::walk().
Result<debuginfo::Place> walk_path(const StartPlace& start, std::span<const syntax::PathStep> path);

}  // namespace spile::probes
