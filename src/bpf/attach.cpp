#include "bpf/attach.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "base/tracefs.h"
#include "bpf/kernel_function.h"
#include "bpf/library.h"
#include "bpf/packet.h"
#include "bpf/perf_event.h"
#include "bpf/privilege.h"
#include "bpf/sample.h"

namespace spile::bpf {
namespace {

std::optional<std::string> first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
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
  return one(link_to_event(program, std::move(event), point));
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
  return one(link_to_event(program, std::move(event), point));
}

}  // namespace

Result<std::vector<Attachment>> attach_program(int program, const AttachPoint& point) {
  switch (point.kind) {
    case AttachPoint::Kind::kTracepoint:
      return attach_tracepoint(program, point);
    case AttachPoint::Kind::kRawTracepoint:
      return attach_raw_tracepoint(program, point);
    case AttachPoint::Kind::kSample:
      return attach_sample(program, point);
    case AttachPoint::Kind::kPacket:
      return one(attach_packet(program, point));
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
    case AttachPoint::Kind::kSample:
      return sample_mechanism(point);
    case AttachPoint::Kind::kPacket:
      return packet_mechanism(point);
    case AttachPoint::Kind::kUprobe:
      return fmt::format("uprobe at {}+{:#x}", point.path, point.file_offset);
    case AttachPoint::Kind::kUretprobe:
      return fmt::format("uretprobe at {}+{:#x}", point.path, point.file_offset);
    default:
      return function_mechanism(point);
  }
}

}  // namespace spile::bpf
