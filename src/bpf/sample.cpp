#include "bpf/sample.h"

#include <errno.h>
#include <fmt/format.h>
#include <linux/hw_breakpoint.h>

#include <algorithm>

#include "base/processes/watchpoints.h"
#include "bpf/perf_event.h"
#include "bpf/privilege.h"

namespace spile::bpf {

namespace {

// ORDER of PERF_COUNT_SW_* in linux/perf_event.h
constexpr const char* kSoftwareEvents[] = {"cpu-clock",        "task-clock",       "page-faults",
                                           "context-switches", "cpu-migrations",   "minor-faults",
                                           "major-faults",     "alignment-faults", "emulation-faults"};
// ORDER of PERF_COUNT_HW_*
constexpr const char* kHardwareEvents[] = {
    "cpu-cycles",    "instructions", "cache-references",        "cache-misses",           "branch-instructions",
    "branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cpu-cycles"};

bool is_of_processor(const AttachPoint::Sample& sample) {
  return sample.type == PERF_TYPE_HARDWARE || sample.type == PERF_TYPE_HW_CACHE || sample.type == PERF_TYPE_RAW;
}

bool is_clock(const AttachPoint::Sample& sample) {
  return sample.type == PERF_TYPE_SOFTWARE &&
         (sample.config == PERF_COUNT_SW_CPU_CLOCK || sample.config == PERF_COUNT_SW_TASK_CLOCK);
}

std::string event_name(const AttachPoint::Sample& sample) {
  if (sample.type == PERF_TYPE_SOFTWARE && sample.config < std::size(kSoftwareEvents)) return kSoftwareEvents[sample.config];
  if (sample.type == PERF_TYPE_HARDWARE && sample.config < std::size(kHardwareEvents)) return kHardwareEvents[sample.config];
  if (sample.type == PERF_TYPE_BREAKPOINT) {
    return fmt::format("{} of {} byte{} at {:#x}", sample.access == HW_BREAKPOINT_W ? "writes" : "reads and writes",
                       sample.length, sample.length == 1 ? "" : "s", sample.address);
  }
  if (sample.type == PERF_TYPE_HW_CACHE) return fmt::format("cache event {:#x}", sample.config);
  if (sample.type == PERF_TYPE_RAW) return fmt::format("raw event {:#x}", sample.config);
  return fmt::format("event {:#x} of type {}", sample.config, sample.type);
}

perf_event_attr attributes_of(const AttachPoint::Sample& sample) {
  perf_event_attr attributes{};
  attributes.type = sample.type;
  attributes.config = sample.config;
  attributes.freq = sample.is_rate;
  if (sample.is_rate) attributes.sample_freq = sample.period;
  else attributes.sample_period = sample.period;
  attributes.disabled = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED;  // cpu_samples.h
  if (sample.type == PERF_TYPE_BREAKPOINT) {
    attributes.bp_type = sample.access;
    attributes.bp_addr = sample.address;
    attributes.bp_len = sample.length;
  }
  return attributes;
}

Error refused(const AttachPoint& point, int error) {
  const AttachPoint::Sample& sample = point.sample;
  const std::string what = fmt::format("attach {}: {}", point.text, event_name(sample));
  if (is_privilege_error(error)) return privilege_error("attach " + point.text, error);
  if (sample.type == PERF_TYPE_BREAKPOINT && error != ENOSPC && error != EBUSY)
    return Error::from_errno(what + " can't be watched", error,
                             "the kernel refuses watchpoints on some of its memory: what it needs to handle them");
  switch (error) {
    case ENOENT:
    case EOPNOTSUPP:
    case ENXIO:
    case ENODEV:
      if (is_of_processor(sample)) {
        return Error::from_errno(what + " can't be counted here", error,
                                 "the processor's counters are missing, as in most virtual machines, or it does not have this "
                                 "one: perf.sw.cpu_clock and the other "
                                 "perf.sw events are there on every machine");
      }
      return Error::from_errno(
          what + " is not known to this kernel", error,
          "types and numbers are those of linux/perf_event.h; /sys/bus/event_source/devices has further types");
    case EINVAL: {
      return Error::from_errno(
          what + " is refused by the kernel", error,
          sample.is_rate
              ? "rates above /proc/sys/kernel/perf_event_max_sample_rate are refused, and so are wrong numbers of events"
              : "the event may not be sampled, or its number is wrong");
    }
    case EBUSY:
    case ENOSPC:
      if (sample.type == PERF_TYPE_BREAKPOINT)
        return Error::from_errno(what + " can't be watched", error,
                                 "the processor has four watchpoints, and debuggers use them, too: watch fewer variables");
      return Error::from_errno(what + " has no counter left", error,
                               "end other programs that count events, or count fewer at once");
    case EMFILE: return Error::from_errno(what, error, "ulimit -n 1000000, or trace fewer threads");
    default: return Error::from_errno(what, error);
  }
}

Result<Attachment> attach(int program, const AttachPoint& point, pid_t process, int cpu) {
  if (point.sample.type == PERF_TYPE_BREAKPOINT && !watchpoints_work())
    return Error{fmt::format("attach {}: {}", point.text, kNoWatchpoints), kNoWatchpointsHint};
  perf_event_attr attributes = attributes_of(point.sample);
  UniqueFd event = try_open_event(attributes, process, cpu);
  if (!event && errno == ESRCH && point.of_threads) return Attachment();
  if (!event && errno == ESRCH) return Error{fmt::format("attach {}: no process {}", point.text, process), ""};
  if (!event) return refused(point, errno);
  return link_to_event(program, std::move(event), point);
}

}  // namespace

Result<Attachment> attach_sample(int program, const AttachPoint& point) { return attach(program, point, point.process, -1); }

Result<Attachment> attach_sample_on(int program, const AttachPoint& point, int cpu) {
  Result<Attachment> made = attach(program, point, -1, cpu);
  if (made.ok()) return made;
  const std::vector<int> online = online_cpus();
  if (std::ranges::find(online, cpu) == online.end()) return Attachment();
  return made;
}

Result<Attachment> attach_sample_to(int program, const AttachPoint& point, pid_t thread) {
  return attach(program, point, thread, -1);
}

std::string sample_mechanism(const AttachPoint& point) {
  const AttachPoint::Sample& sample = point.sample;
  std::string text = event_name(sample);
  if (sample.type == PERF_TYPE_BREAKPOINT) return "watchpoint on " + text;
  if (sample.is_rate) text += fmt::format(" {} times a second", sample.period);
  else text += fmt::format(" every {}{}", sample.period, is_clock(sample) ? " ns" : "");
  if (point.of_threads) text += ", of traced threads";
  return text;
}

}  // namespace spile::bpf
