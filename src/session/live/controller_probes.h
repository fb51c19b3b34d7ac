#pragma once
// Runs the probes whose handlers run in spile itself: begin, end, error, timers, those on the life of processes, samples. Brings
// the globals that other places own before a handler, gives them back after it, and writes what it has printed. Thread rule: one
// thread.

#include <cstdint>
#include <span>
#include <vector>

#include "abi/arena.h"
#include "base/result.h"
#include "sema/terms/program.h"
#include "session/live/end_conditions.h"
#include "session/live/run_parts.h"

namespace spile::session {

class ControllerProbes {
 public:
  // ends must outlive this.
  ControllerProbes(const RunParts& parts, const EndConditions& ends);

  // Runs a probe; index into sema::Program::probes. Errors: the kernel doesn't hand over its globals.
  Result<void> run(int probe);
  // Runs all probes of a kind, in their order. After exit() or errors, the remaining begin probes are not run.
  Result<void> run_all(sema::ProbeKind kind);
  // Runs a probe on the life of a process, from within the engine. at_ns: when this was, of CLOCK_MONOTONIC. Errors are warnings.
  void run_about(int probe, const abi::Subject& subject, int64_t at_ns);
  // Runs a probe about a sample of a thread (ThreadSampler::Run). Errors are warnings.
  void run_sample(int probe, const abi::Subject& sample, std::span<const char> stack);

  // Makes the controller's copies of globals those of now. Errors: as of run().
  Result<void> fetch_globals();
  // Switches sites whose conditions a handler in spile has changed.
  void switch_conditions();
  // Returns how often each probe was run here, by index into sema::Program::probes.
  std::span<const uint64_t> hits() const { return hits_; }

 private:
  const RunParts parts_;
  const EndConditions& ends_;
  std::vector<uint64_t> hits_;
};

}  // namespace spile::session
