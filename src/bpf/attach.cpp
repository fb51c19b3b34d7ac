#include "bpf/attach.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/files/tracefs.h"
#include "bpf/kernel_function.h"
#include "bpf/library.h"
#include "bpf/packet.h"
#include "bpf/perf_event.h"
#include "bpf/privilege.h"
#include "bpf/sample.h"
#include "bpf/uprobe.h"

namespace spile::bpf {
namespace {

// The kernel knows a tracepoint by its name without the system.
Result<Attachment> attach_raw_tracepoint(int program, const AttachPoint& point) {
  std::string name = point.tracepoint.substr(point.tracepoint.find(':') + 1);
  int link = bpf_raw_tracepoint_open(name.c_str(), program);
  if (link < 0) {
    std::string what = "attach " + point.text;
    if (is_privilege_error(link)) return privilege_error(what, -link);
    return Error::from_errno(what, -link, "this kernel has no raw tracepoint " + name);
  }
  Attachment attachment;
  attachment.link.reset(link);
  return attachment;
}

// One event serves all CPUs: the programs hang on the tracepoint, not on the event.
Result<Attachment> attach_tracepoint(int program, const AttachPoint& point) {
  size_t colon = point.tracepoint.find(':');
  if (colon == std::string::npos)
    return Error{fmt::format("attach {}: {} is not of the form system:event", point.text, point.tracepoint), ""};
  std::string path = fmt::format("events/{}/{}/id", point.tracepoint.substr(0, colon), point.tracepoint.substr(colon + 1));
  Result<std::string> id = read_tracefs(path);
  if (!id) return std::move(id).error().within("attach " + point.text);
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = std::strtoull(id->c_str(), nullptr, 10);
  attributes.sample_period = 1;
  attributes.disabled = 1;
  TRY(UniqueFd event, open_event(attributes, -1, online_cpus().front(), point));
  return link_to_event(program, std::move(event), point);
}

}  // namespace

Result<Attachment> attach_program(int program, const AttachPoint& point) {
  switch (point.kind) {
    case AttachPoint::Kind::kTracepoint: return attach_tracepoint(program, point);
    case AttachPoint::Kind::kRawTracepoint: return attach_raw_tracepoint(program, point);
    case AttachPoint::Kind::kSample: return attach_sample(program, point);
    case AttachPoint::Kind::kPacket: return attach_packet(program, point);
    case AttachPoint::Kind::kUprobe:
    case AttachPoint::Kind::kUretprobe: return attach_uprobe(program, point);
    default: return attach_to_function(program, point);
  }
}

std::string mechanism(const AttachPoint& point) {
  switch (point.kind) {
    case AttachPoint::Kind::kTracepoint: return "tracepoint " + point.tracepoint;
    case AttachPoint::Kind::kRawTracepoint: return "raw tracepoint " + point.tracepoint;
    case AttachPoint::Kind::kSample: return sample_mechanism(point);
    case AttachPoint::Kind::kPacket: return packet_mechanism(point);
    default: return is_uprobe(point.kind) ? uprobe_mechanism(point) : function_mechanism(point);
  }
}

}  // namespace spile::bpf
