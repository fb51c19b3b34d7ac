#pragma once
// The parts of a run that handlers work with, as the files of this room hand them to each other.

#include "codegen/codegen.h"
#include "sema/terms/program.h"
#include "session/arena/arena_view.h"
#include "session/arena/controller.h"
#include "session/output/output.h"
#include "session/places/kernel_side.h"
#include "session/places/target_side.h"

namespace spile::session {

struct RunParts {
  const sema::Program& program;
  const codegen::CompiledScript& script;
  ArenaView& arena;
  Controller& controller;
  Output& output;
  KernelSide* kernel;  // null: no handler runs in the kernel
  TargetSide* target;  // null: no handler runs in processes, and none is traced

  // Returns whether the script has handlers that run in processes.
  bool has_target_probes() const { return !script.target.image.bytes.empty(); }
  // Returns whether handlers outside of spile work over the arena: their rings are read and their shards merged.
  bool shares_arena() const { return has_target_probes() || script.kernel.over_arena; }
};

}  // namespace spile::session
