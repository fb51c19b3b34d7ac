#pragma once
// What a running script has, as the model of a run has it (run/run_model.h): for the document of `spile record`, for scrapers of
// --http, for the collector of --otlp. Thread rule: one thread.

#include <span>
#include <vector>

#include "codegen/codegen.h"
#include "runs/run/run_model.h"
#include "sema/terms/program.h"
#include "session/arena/arena_view.h"
#include "session/arena/controller.h"
#include "session/terms/options.h"

namespace spile::session {

class LiveRun {
 public:
  // program, script and arena must outlive this. REQUIRES: sema::is_recorded(program).
  LiveRun(const sema::Program& program, const codegen::CompiledScript& script, ArenaView& arena, const TargetOptions& target,
          const RecordOptions& options);

  const runs::RunFacts& facts() const { return facts_; }
  const std::vector<runs::RunProbe>& probes() const { return probes_; }     // parallel to sema::Program::probes
  const std::vector<runs::RunGlobal>& globals() const { return globals_; }  // those of the script
  // Returns what there is now. runs: as describe_session() takes them. REQUIRES: the controller's copies of globals are those of
  // now.
  runs::RunTick tick(Controller& controller, std::span<const uint64_t> runs) const;

 private:
  void set_facts(const TargetOptions& target, const RecordOptions& options);
  runs::RunGlobalState state_of(size_t index, Controller& controller) const;

  const sema::Program& program_;
  const codegen::CompiledScript& script_;
  ArenaView& arena_;
  runs::RunFacts facts_;
  std::vector<runs::RunProbe> probes_;
  std::vector<runs::RunGlobal> globals_;
  std::vector<size_t> indexes_;  // of globals_, in Program::globals
  std::vector<uint32_t> sizes_;  // bytes of the values of statistics; by index of globals_
};

}  // namespace spile::session
