#include "bpf/cpu_samples.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "bpf/perf_event.h"
#include "bpf/sample.h"

namespace spile::bpf {

namespace {

// Returns for how long an event has been able to count; 0: it can't be read. perf_event_open(2), PERF_FORMAT_TOTAL_TIME_ENABLED.
uint64_t enabled_ns(const Attachment& attachment) {
  uint64_t value_and_time[2] = {};
  if (read(attachment.event.get(), value_and_time, sizeof value_and_time) != sizeof value_and_time) return 0;
  return value_and_time[1];
}

}  // namespace

Result<CpuSamples> CpuSamples::attach(int program, const AttachPoint& point) {
  CpuSamples samples(program, point);
  TRY_DO(samples.renew(online_cpus(), false));
  return samples;
}

Result<std::vector<int>> CpuSamples::renew(const std::vector<int>& online, bool looks) {
  for (auto next = by_cpu_.begin(); next != by_cpu_.end();) {
    auto& [cpu, on] = *next;
    bool counts = std::ranges::find(online, cpu) != online.end();
    if (counts && looks) {
      const uint64_t before = std::exchange(on.enabled_ns, enabled_ns(on.attachment));
      counts = on.enabled_ns != before;
    }
    next = counts ? std::next(next) : by_cpu_.erase(next);
  }
  std::vector<int> renewed;
  std::optional<Error> refused;
  for (const int cpu : online) {
    if (by_cpu_.contains(cpu)) continue;
    Result<Attachment> made = attach_sample_on(program_, *point_, cpu);
    if (!made.ok()) {
      refused = std::move(made).error();
      continue;
    }
    if (!made->event) continue;  // it went offline just now
    by_cpu_[cpu].attachment = std::move(made).value();
    renewed.push_back(cpu);
  }
  if (refused) return *refused;
  return renewed;
}

std::vector<Attachment> CpuSamples::take() {
  std::vector<Attachment> all;
  for (auto& [cpu, of_cpu] : by_cpu_) all.push_back(std::move(of_cpu.attachment));
  by_cpu_.clear();
  return all;
}

}  // namespace spile::bpf
