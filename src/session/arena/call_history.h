#pragma once
// What return probes have noted of calls (abi/call_history.h): the last calls of each thread, those that still run included, as
// slices of a timeline. Thread rule: one thread.

#include <cstdint>
#include <vector>

#include "codegen/module/site_texts.h"
#include "runs/timeline/recent_calls.h"
#include "sema/terms/program.h"
#include "session/arena/arena_view.h"

namespace spile::session {

class CallHistory : public runs::RecentCalls {
 public:
  // arena and program must outlive this. string_size: that of the script, which cuts names.
  CallHistory(ArenaView& arena, const sema::Program& program, uint32_t string_size);

  // Returns whether a script's handlers note calls.
  static bool is_noted(const codegen::ArenaLayout& layout) { return layout.calls_capacity > 0; }

  void stop() override;
  Taken take(runs::Timeline& timeline, int64_t last_ns) override;
  void go_on() override;

 private:
  std::string_view name_of(uint32_t probe, uint32_t site) const;
  // Returns whether the return probes of a site keep the call's begin where a pending call has it.
  bool keeps_begin(uint32_t site) const;

  ArenaView& arena_;
  const sema::Program& program_;
  codegen::SiteTexts names_;
  // by index of the probe: it notes calls, and the first value that it keeps from the entry is the time
  std::vector<bool> notes_first_;
  uint64_t since_;  // tick: calls that began before may not have been noted
  uint64_t damaged_ = 0;
};

}  // namespace spile::session
