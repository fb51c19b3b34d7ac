#pragma once
// What was not counted, or not printed, in a run: each as a warning, in the order in which they are printed at its end.

#include <string>
#include <vector>

#include "session/live/run_parts.h"
#include "session/live/run_stacks.h"
#include "session/live/timers.h"
#include "session/stacks/thread_sampler.h"
#include "session/terms/options.h"

namespace spile::session {

struct LossSources {
  const RunParts& parts;
  const RunStacks& stacks;
  const Timers& timers;
  const ThreadSampler& sampler;
  const OutputOptions& output;
  const MessageOptions& messages;
};
// Returns the warnings. REQUIRES: all handlers have ended, and all that they have printed is written.
std::vector<std::string> losses_of(const LossSources& run);

}  // namespace spile::session
