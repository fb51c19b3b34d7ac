#include "bpf/kernel_function.h"

#include <errno.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include <cstring>

#include "bpf/library.h"
#include "bpf/perf_event.h"
#include "bpf/privilege.h"

namespace spile::bpf {

using Kind = AttachPoint::Kind;

namespace {

constexpr const char* kRefused =
    "the kernel refuses probes in some of its code: what handles traps, interrupts and probes themselves, and instructions that "
    "it replaces while it runs";

constexpr const char* kAbsent = "this kernel has no such function that can be probed";
constexpr const char* kSeveral = "several functions have this name";

Error refused(const AttachPoint& point, int error) {
  const std::string what = "attach " + point.text;
  if (is_privilege_error(error)) return privilege_error(what, error);
  switch (error) {
    case ENOENT:
    case ESRCH: return Error::from_errno(what, error, kAbsent);
    case EADDRNOTAVAIL: return Error::from_errno(what, error, kSeveral);
    case EILSEQ: return Error{what + ": no instruction begins there", kNoInstruction};
    case EINVAL:
    case EBUSY:
    case EOPNOTSUPP: return Error::from_errno(what, error, kRefused);
    case EMFILE: return Error::from_errno(what, error, "ulimit -n 1000000, or probe fewer functions");
    case E2BIG: return Error::from_errno(what, error, "the kernel runs at most 64 programs at one place");
    default: return Error::from_errno(what, error);
  }
}

// A kprobe of our own, which tracefs does not list: kernel/events/core.c, perf_kprobe.
Result<Attachment> attach_kprobe(int program, const AttachPoint& point) {
  const std::string pmu = "/sys/bus/event_source/devices/kprobe/";
  const auto type = number_in(pmu + "type", ""), return_bit = number_in(pmu + "format/retprobe", "config:");
  if (!type || !return_bit)
    return Error{fmt::format("attach {}: this kernel has no kprobes (no /sys/bus/event_source/devices/kprobe)", point.text),
                 "the kernel must be built with CONFIG_KPROBE_EVENTS"};
  perf_event_attr attributes{};
  attributes.type = static_cast<uint32_t>(*type);
  attributes.config = point.kind == Kind::kKretprobe ? uint64_t{1} << *return_bit : 0;
  attributes.disabled = 1;
  if (point.function.empty()) {
    attributes.kprobe_addr = point.address + point.function_offset;
  } else {
    attributes.kprobe_func = reinterpret_cast<uint64_t>(point.function.c_str());
    attributes.probe_offset = point.function_offset;
  }
  Attachment attachment;
  attachment.event = try_open_event(attributes, -1, online_cpus().front());  // whichever: the program hangs on the kprobe
  if (!attachment.event) return refused(point, errno);
  bpf_link_create_opts options{};
  options.sz = sizeof options;
  options.perf_event.bpf_cookie = point.cookie;
  const int link = bpf_link_create(program, attachment.event.get(), BPF_PERF_EVENT, &options);
  if (link < 0) return refused(point, -link);
  attachment.link.reset(link);
  if (ioctl(attachment.event.get(), PERF_EVENT_IOC_ENABLE, 0) != 0) return Error::from_errno("start " + point.text, errno);
  return attachment;
}

// An event in tracefs, whose programs are those of kprobes: a kprobe of our own would be gone with its module.
Result<Attachment> attach_module_kprobe(int program, const AttachPoint& point) {
  Result<TracefsProbe> probe = TracefsProbe::make(point.function, point.function_offset, point.kind == Kind::kKretprobe);
  if (!probe) return std::move(probe).error().within("attach " + point.text);
  TRY(uint64_t id, probe->id());
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = id;
  attributes.sample_period = 1;
  attributes.disabled = 1;
  TRY(UniqueFd event, open_event(attributes, -1, online_cpus().front(), point));
  TRY(Attachment attachment, link_to_event(program, std::move(event), point));
  attachment.probe = std::move(probe).value();
  return attachment;
}

Result<Attachment> attach_traced(int program, const AttachPoint& point) {
  bpf_link_create_opts options{};
  options.sz = sizeof options;
  options.tracing.cookie = point.cookie;
  const int link = bpf_link_create(program, 0, point.kind == Kind::kFexit ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY, &options);
  if (link < 0) return refused(point, -link);
  Attachment attachment;
  attachment.link.reset(link);
  return attachment;
}

}  // namespace

bool is_refusal_of_place(const Error& error) {
  return error.hint == kRefused || error.hint == kNoInstruction || error.hint == kSeveral || error.hint == kAbsent;
}

bool is_kernel_function(Kind kind) {
  return kind == Kind::kKprobe || kind == Kind::kKretprobe || is_multi(kind) || is_traced(kind);
}
bool is_multi(Kind kind) { return kind == Kind::kMulti || kind == Kind::kMultiReturn; }
bool is_traced(Kind kind) { return kind == Kind::kFentry || kind == Kind::kFexit; }

Result<Attachment> attach_to_function(int program, const AttachPoint& point) {
  if (is_traced(point.kind)) return attach_traced(program, point);
  return is_of_module(point.function) ? attach_module_kprobe(program, point) : attach_kprobe(program, point);
}

Result<Attachment> attach_to_functions(int program, std::span<const AttachPoint> points) {
  std::vector<unsigned long> addresses;
  std::vector<const char*> names;
  std::vector<__u64> cookies;
  bool addressed = true;
  for (const AttachPoint& point : points) {
    addressed &= point.address != 0;
    addresses.push_back(point.address);
    names.push_back(point.function.c_str());
    cookies.push_back(point.cookie);
  }
  bpf_link_create_opts options{};
  options.sz = sizeof options;
  options.kprobe_multi.cnt = static_cast<__u32>(points.size());
  options.kprobe_multi.flags = points.front().kind == Kind::kMultiReturn ? BPF_F_KPROBE_MULTI_RETURN : 0;
  options.kprobe_multi.cookies = cookies.data();
  if (addressed) options.kprobe_multi.addrs = addresses.data();
  else options.kprobe_multi.syms = names.data();
  const int link = bpf_link_create(program, 0, BPF_TRACE_KPROBE_MULTI, &options);
  if (link < 0) return refused(points.front(), -link);
  Attachment attachment;
  attachment.link.reset(link);
  return attachment;
}

namespace {

// Fields of struct bpf_link_info that are newer than the headers of the machine that spile is built on
// (include/uapi/linux/bpf.h): bytes from its start.
constexpr size_t kMultiMissed = 32;  // kprobe_multi.missed
constexpr size_t kPerfEventType = 16;
constexpr size_t kKprobeMissed = 48;                                            // perf_event.kprobe.missed
constexpr uint32_t kLinkOfTracing = 2, kLinkOfPerfEvent = 7, kLinkOfMulti = 8;  // enum bpf_link_type
constexpr uint32_t kEventOfKprobe = 3, kEventOfKretprobe = 4;                   // enum bpf_perf_event_type

}  // namespace

std::optional<uint64_t> missed_by_link(int link) {
  alignas(8) uint8_t info[256] = {};
  __u32 size = sizeof info;
  if (bpf_obj_get_info_by_fd(link, info, &size) != 0) return std::nullopt;
  uint32_t type, event;
  std::memcpy(&type, info, sizeof type);
  std::memcpy(&event, info + kPerfEventType, sizeof event);
  size_t at = 0;
  if (type == kLinkOfMulti) at = kMultiMissed;
  if (type == kLinkOfPerfEvent && (event == kEventOfKprobe || event == kEventOfKretprobe)) at = kKprobeMissed;
  uint64_t missed;
  if (at == 0 || size < at + sizeof missed) return std::nullopt;
  std::memcpy(&missed, info + at, sizeof missed);
  return missed;
}

bool is_tracing_link(int link) {
  alignas(8) uint8_t info[256] = {};
  __u32 size = sizeof info;
  uint32_t type;
  if (bpf_obj_get_info_by_fd(link, info, &size) != 0) return false;
  std::memcpy(&type, info, sizeof type);
  return type == kLinkOfTracing;
}

std::optional<uint64_t> missed_by_program(int program) {
  bpf_prog_info info{};
  __u32 size = sizeof info;
  if (bpf_obj_get_info_by_fd(program, &info, &size) != 0 ||
      size < offsetof(bpf_prog_info, recursion_misses) + sizeof info.recursion_misses)
    return std::nullopt;
  return info.recursion_misses;
}

std::optional<uint64_t> verified_instructions(int program) {
  bpf_prog_info info{};
  __u32 size = sizeof info;
  if (bpf_obj_get_info_by_fd(program, &info, &size) != 0 ||
      size < offsetof(bpf_prog_info, verified_insns) + sizeof info.verified_insns)
    return std::nullopt;
  return info.verified_insns;
}

Error no_tracing(const AttachPoint& point, int error) {
  const bool has_kprobes = number_in("/sys/bus/event_source/devices/kprobe/type", "").has_value();
  const char* reason = has_kprobes ? "this kernel refuses fentry" : "this kernel was built without kprobes, and refuses fentry";
  return Error::from_errno(
      fmt::format("attach {}: {}", point.text, reason), error,
      has_kprobes ? "use tracepoints (kernel.trace)"
                  : "use tracepoints (kernel.trace), or a kernel that is built with CONFIG_KPROBES and CONFIG_KPROBE_EVENTS");
}

std::string function_mechanism(const AttachPoint& point) {
  switch (point.kind) {
    case Kind::kFentry: return "fentry";
    case Kind::kFexit: return "fexit";
    case Kind::kMulti: return "kprobe.multi";
    case Kind::kMultiReturn: return "kretprobe.multi";
    case Kind::kKretprobe: return waits_for_module(point.function) ? "kretprobe, once its module is loaded" : "kretprobe";
    default: return waits_for_module(point.function) ? "kprobe, once its module is loaded" : "kprobe";
  }
}

}  // namespace spile::bpf
