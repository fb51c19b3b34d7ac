#pragma once
// A program on what each processor counts (AttachPoint::Kind::kSample, of all processes). An event is of one processor, and gone
// when that goes offline: the kernel does not open it again when the processor comes back, neither after a suspension of the
// machine. kernel/events/core.c, perf_event_exit_cpu(). Thread rule: one thread.

#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"
#include "bpf/attachment.h"
#include "bpf/bpf.h"

namespace spile::bpf {

class CpuSamples {
 public:
  // Attaches a program on all processors that are online. point must outlive this. Errors: as attach_sample_on().
  static Result<CpuSamples> attach(int program, const AttachPoint& point);

  // Opens events for processors that have none that counts: they came online, or were away, since the last call. online: those
  // that are. looks: asks events whether they count, which interrupts each processor; REQUIRES: they had time to count since they
  // were asked before. Returns these processors. Error: the kernel refuses an event; the others are open.
  Result<std::vector<int>> renew(const std::vector<int>& online, bool looks);

  std::vector<Attachment> take();  // for the caller to close

 private:
  struct OnCpu {
    Attachment attachment;
    uint64_t enabled_ns = 0;  // for how long the event has been able to count, when it was asked last
  };

  CpuSamples(int program, const AttachPoint& point) : program_(program), point_(&point) {}

  int program_;
  const AttachPoint* point_;
  std::map<int, OnCpu> by_cpu_;
};

}  // namespace spile::bpf
