#pragma once
// Times in which processes, or spile itself, stand still: Ctrl-Z, and processes that the freezer of their control group keeps.
// Thread rule: one thread, that of the engine.

#include "session/invocation/signals.h"
#include "session/output/output.h"
#include "session/places/kernel_targets.h"
#include "session/places/target_side.h"
#include "session/stacks/thread_sampler.h"

namespace spile::session {

struct StandstillParts {
  Signals& signals;
  ArenaView& arena;
  Output& output;
  TargetSide* target;  // null: no process is traced
  ThreadSampler& sampler;
  KernelTargets& kernel_targets;
};
// Stops spile, as Ctrl-Z asks for, and goes on when it is continued. The traced processes are released meanwhile: their hits are
// not counted, which is a warning.
void stand_still(const StandstillParts& parts);

// Waits a few seconds for processes that are frozen to be thawed, as a frozen process can't be restored. Ctrl-C ends the wait.
void await_thaw(TargetSide& target, Signals& signals);

}  // namespace spile::session
