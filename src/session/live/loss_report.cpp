#include "session/live/loss_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text/number_text.h"
#include "runs/text/presenter.h"
#include "session/arena/skips.h"

namespace spile::session {

namespace {

using Warnings = std::vector<std::string>;

void add(Warnings& warnings, Warnings more) { std::ranges::move(more, std::back_inserter(warnings)); }

// What to do where an array is full.
std::string when_full(const MessageOptions& messages) {
  return messages.verb.is_set() ? messages.verb.when_full : "raise -DMAXMAPENTRIES, or the size in its declaration";
}

Warnings of_sampler(const ThreadSampler& sampler) {
  Warnings warnings;
  if (sampler.lost() > 0)
    warnings.push_back(fmt::format("{} samples were lost: they came faster than they could be taken", sampler.lost()));
  if (const auto& profile = sampler.profile(); profile.threads > 0 && profile.samples == 0) {
    warnings.push_back(
        fmt::format("timer.profile took no sample: {} used {:.1f} ms of processor time in all, and samples are {:g} ms apart",
                    counted(profile.threads, "thread"), static_cast<double>(profile.unseen_ns) / 1e6,
                    static_cast<double>(profile.period_ns) / 1e6));
  }
  return warnings;
}

Warnings of_released(const TargetSide* target) {
  const uint64_t released = target ? target->handed_over() : 0;
  if (released == 0) return {};
  return {fmt::format("{} {} released before another tracer attached to {} (see -v): later hits there were not counted", released,
                      plural(released, "process was", "processes were"), plural(released, "it", "them"))};
}

}  // namespace

std::vector<std::string> losses_of(const LossSources& run) {
  const RunParts& parts = run.parts;
  const std::string advice = when_full(run.messages);
  Skips skips = count_skips(parts.arena);
  skips.by_reason[abi::kSkipMapFull] += parts.controller.lost_updates();
  Warnings warnings = skips.warnings(advice);
  add(warnings, parts.output.errors().refusals());
  if (run.output.presenter) add(warnings, run.output.presenter->losses());
  if (parts.kernel) add(warnings, parts.kernel->losses(advice));
  add(warnings, run.stacks.losses());
  add(warnings, run.timers.losses());
  add(warnings, of_sampler(run.sampler));
  add(warnings, of_released(parts.target));
  return warnings;
}

}  // namespace spile::session
