#include "bpf/attach.h"

#include <errno.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "base/tracefs.h"
#include "bpf/kernel_function.h"
#include "bpf/library.h"
#include "bpf/privilege.h"

namespace spile::bpf {
namespace {

constexpr int64_t kDefaultProfileInterval = 10'000'000;  // ns: the user's clock tick, 100 a second

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::vector<int> online_cpus() {
  std::vector<int> cpus = parse_cpu_list(first_line("/sys/devices/system/cpu/online").value_or("0"));
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

Result<UniqueFd> open_event(perf_event_attr& attributes, pid_t process, int cpu, const AttachPoint& point) {
  attributes.size = sizeof attributes;
  UniqueFd event(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, process, cpu, -1, static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC))));
  if (event) return event;
  std::string what = "attach " + point.text;
  if (is_privilege_error(errno)) return privilege_error(what, errno);
  if (errno == ESRCH) return Error{fmt::format("{}: no process {}", what, process), ""};
  if (errno == ENOENT && point.kind == AttachPoint::Kind::kTracepoint)
    return Error::from_errno(what, errno, "this kernel has no such tracepoint");
  return Error::from_errno(what, errno);
}

// Links the program to the event, with its cookie, and starts the event.
Result<Attachment> link_program(int program, UniqueFd event, const AttachPoint& point) {
  Attachment attachment;
  bpf_link_create_opts options{};
  options.sz = sizeof options;
  options.perf_event.bpf_cookie = point.cookie;
  int link = bpf_link_create(program, event.get(), BPF_PERF_EVENT, &options);
  if (link < 0) {
    std::string what = "attach " + point.text;
    if (is_privilege_error(link)) return privilege_error(what, -link);
    if (-link == E2BIG) return Error::from_errno(what, -link, "the kernel runs at most 64 programs at one place");
    return Error::from_errno(what, -link, -link == EINVAL ? "needs Linux 5.15 or later" : "");
  }
  attachment.link.reset(link);
  if (ioctl(event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) return Error::from_errno("start " + point.text, errno);
  attachment.event = std::move(event);
  return attachment;
}

Result<std::vector<Attachment>> one(Result<Attachment> attachment) {
  if (!attachment) return std::move(attachment).error();
  std::vector<Attachment> all;
  all.push_back(std::move(attachment).value());
  return all;
}

// The kernel knows a tracepoint by its name without the system.
Result<std::vector<Attachment>> attach_raw_tracepoint(int program, const AttachPoint& point) {
  std::string name = point.tracepoint.substr(point.tracepoint.find(':') + 1);
  int link = bpf_raw_tracepoint_open(name.c_str(), program);
  if (link < 0) {
    std::string what = "attach " + point.text;
    if (is_privilege_error(link)) return privilege_error(what, -link);
    return Error::from_errno(what, -link, "this kernel has no raw tracepoint " + name);
  }
  Attachment attachment;
  attachment.link.reset(link);
  return one(std::move(attachment));
}

// One event serves all CPUs: the programs hang on the tracepoint, not on the event.
Result<std::vector<Attachment>> attach_tracepoint(int program, const AttachPoint& point) {
  size_t colon = point.tracepoint.find(':');
  if (colon == std::string::npos)
    return Error{fmt::format("attach {}: {} is not of the form system:event", point.text, point.tracepoint), ""};
  std::string path =
      fmt::format("events/{}/{}/id", point.tracepoint.substr(0, colon), point.tracepoint.substr(colon + 1));
  Result<std::string> id = read_tracefs(path);
  if (!id) return std::move(id).error().within("attach " + point.text);
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = std::strtoull(id->c_str(), nullptr, 10);
  attributes.sample_period = 1;
  attributes.disabled = 1;
  TRY(UniqueFd event, open_event(attributes, -1, online_cpus().front(), point));
  return one(link_program(program, std::move(event), point));
}

Result<std::vector<Attachment>> attach_profile(int program, const AttachPoint& point) {
  std::vector<Attachment> all;
  std::vector<int> cpus = online_cpus();
  if (point.process > 0) cpus = {-1};
  for (int cpu : cpus) {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period =
        static_cast<uint64_t>(point.interval_ns > 0 ? point.interval_ns : kDefaultProfileInterval);
    attributes.disabled = 1;
    TRY(UniqueFd event, open_event(attributes, point.process, cpu, point));
    TRY(Attachment attachment, link_program(program, std::move(event), point));
    all.push_back(std::move(attachment));
  }
  return all;
}

// The PMU's number, and the bit of `config` that asks for a return probe ("config:0").
struct UprobePmu {
  uint32_t type;
  uint64_t return_bit;
};
std::optional<UprobePmu> uprobe_pmu() {
  const std::string pmu = "/sys/bus/event_source/devices/uprobe/";
  std::optional<std::string> type = first_line(pmu + "type");
  std::optional<std::string> bit = first_line(pmu + "format/retprobe");
  if (!type || !bit || !bit->starts_with("config:")) return std::nullopt;
  return UprobePmu{static_cast<uint32_t>(std::atoi(type->c_str())), 1ULL << std::atoi(bit->c_str() + 7)};
}

Result<std::vector<Attachment>> attach_uprobe(int program, const AttachPoint& point) {
  std::optional<UprobePmu> pmu = uprobe_pmu();
  if (!pmu)
    return Error{
        fmt::format("attach {}: this kernel has no uprobes (no /sys/bus/event_source/devices/uprobe)", point.text),
        "use --runtime=inproc with -x or -c"};
  perf_event_attr attributes{};
  attributes.type = pmu->type;
  attributes.config = point.kind == AttachPoint::Kind::kUretprobe ? pmu->return_bit : 0;
  attributes.uprobe_path = reinterpret_cast<uint64_t>(point.path.c_str());
  attributes.probe_offset = point.file_offset;
  attributes.disabled = 1;
  bool all = point.process <= 0;
  TRY(UniqueFd event, open_event(attributes, all ? -1 : point.process, all ? online_cpus().front() : -1, point));
  return one(link_program(program, std::move(event), point));
}

}  // namespace

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  const char* at = text.c_str();
  while (*at >= '0' && *at <= '9') {
    char* end;
    long first = std::strtol(at, &end, 10), last = first;
    if (*end == '-') last = std::strtol(end + 1, &end, 10);
    for (long cpu = first; cpu <= last; ++cpu) cpus.push_back(static_cast<int>(cpu));
    at = *end == ',' ? end + 1 : end;
  }
  return cpus;
}

Result<std::vector<Attachment>> attach_program(int program, const AttachPoint& point) {
  switch (point.kind) {
    case AttachPoint::Kind::kTracepoint:
      return attach_tracepoint(program, point);
    case AttachPoint::Kind::kRawTracepoint:
      return attach_raw_tracepoint(program, point);
    case AttachPoint::Kind::kProfile:
      return attach_profile(program, point);
    case AttachPoint::Kind::kUprobe:
    case AttachPoint::Kind::kUretprobe:
      return attach_uprobe(program, point);
    default:
      return one(attach_to_function(program, point));
  }
}

std::string mechanism(const AttachPoint& point) {
  switch (point.kind) {
    case AttachPoint::Kind::kTracepoint:
      return "tracepoint " + point.tracepoint;
    case AttachPoint::Kind::kRawTracepoint:
      return "raw tracepoint " + point.tracepoint;
    case AttachPoint::Kind::kProfile:
      return fmt::format("cpu-clock every {} ns", point.interval_ns > 0 ? point.interval_ns : kDefaultProfileInterval);
    case AttachPoint::Kind::kUprobe:
      return fmt::format("uprobe at {}+{:#x}", point.path, point.file_offset);
    case AttachPoint::Kind::kUretprobe:
      return fmt::format("uretprobe at {}+{:#x}", point.path, point.file_offset);
    default:
      return function_mechanism(point);
  }
}

}  // namespace spile::bpf
