#include "bpf/uprobe.h"

#include <errno.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>

#include "bpf/library.h"
#include "bpf/perf_event.h"
#include "bpf/privilege.h"

namespace spile::bpf {

using Kind = AttachPoint::Kind;

namespace {

// ---- one perf event for each place

// The PMU's number, the bit of `config` that asks for a return probe ("config:0"), and where `config` has the offset of a
// semaphore in the file ("config:32-63").
struct UprobePmu {
  uint32_t type;
  uint64_t return_bit;
  std::optional<uint64_t> semaphore_shift;
};

std::optional<UprobePmu> uprobe_pmu() {
  const std::string pmu = "/sys/bus/event_source/devices/uprobe/", bits = "config:";
  const auto type = number_in(pmu + "type", ""), bit = number_in(pmu + "format/retprobe", bits),
             shift = number_in(pmu + "format/ref_ctr_offset", bits);
  if (!type || !bit) return std::nullopt;
  return UprobePmu{static_cast<uint32_t>(*type), uint64_t{1} << *bit, shift};
}

Error no_room_for_semaphore(const AttachPoint& point) {
  return {fmt::format("attach {}: its semaphore is {:#x} bytes into the file, further than this kernel's uprobes can say",
                      point.text, point.semaphore_offset),
          "run spile with -x or -c, or on Linux 6.6 or later"};
}

// The kernel executes the instruction elsewhere, which it can't with all.
constexpr int kNotSupported = 524;  // ENOTSUPP, which user space has no name for
constexpr const char* kRefusedInstruction = "with -x or -c handlers run in the process, and can be there, too";

Error refused_instruction(const AttachPoint& point) {
  return {fmt::format("attach {}: the kernel can't put a probe on the instruction there", point.text), kRefusedInstruction};
}

// ---- one link for all places of a file

// What bpf(BPF_LINK_CREATE) takes: union bpf_attr, link_create, of Linux 6.6.
struct MultiLink {
  uint32_t program;
  uint32_t target;
  uint32_t attach_type;
  uint32_t flags;
  uint64_t path;               // of a string
  uint64_t offsets;            // of `count` numbers each, as are these two
  uint64_t semaphore_offsets;  // 0: the place has no semaphore
  uint64_t cookies;
  uint32_t count;
  uint32_t multi_flags;
  uint32_t process;  // 0: all
  uint32_t padding;
};
static_assert(sizeof(MultiLink) == 64);
constexpr uint32_t kMultiReturn = 1;  // BPF_F_UPROBE_MULTI_RETURN

int create_link(MultiLink& link) { return static_cast<int>(syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof link)); }

Result<Attachment> attach_file(int program, std::span<const AttachPoint* const> points) {
  std::vector<uint64_t> offsets, semaphores, cookies;
  bool has_semaphores = false;
  for (const AttachPoint* point : points) {
    offsets.push_back(point->file_offset);
    semaphores.push_back(point->semaphore_offset);
    cookies.push_back(point->cookie);
    has_semaphores |= point->semaphore_offset != 0;
  }
  const AttachPoint& first = *points.front();
  MultiLink link{};
  link.program = static_cast<uint32_t>(program);
  link.attach_type = kAttachUprobeMulti;
  link.path = reinterpret_cast<uint64_t>(first.path.c_str());
  link.offsets = reinterpret_cast<uint64_t>(offsets.data());
  link.semaphore_offsets = has_semaphores ? reinterpret_cast<uint64_t>(semaphores.data()) : 0;
  link.cookies = reinterpret_cast<uint64_t>(cookies.data());
  link.count = static_cast<uint32_t>(points.size());
  link.multi_flags = first.kind == Kind::kUretprobeMulti ? kMultiReturn : 0;
  link.process = first.process > 0 ? static_cast<uint32_t>(first.process) : 0;
  Attachment attachment;
  attachment.link.reset(create_link(link));
  if (attachment.link) return attachment;
  const int error = errno;
  if (error == kNotSupported) return refused_instruction(first);
  std::string what = "attach " + first.text;
  if (points.size() > 1) what += fmt::format(" and {} more", points.size() - 1);
  if (is_privilege_error(error)) return privilege_error(what, error);
  if (error == ESRCH) return Error{fmt::format("{}: no process {}", what, first.process), ""};
  return Error::from_errno(what, error);
}

// The kernel does not say which of the places it refuses: they are found by halves.
Result<void> attach_parts(int program, std::span<const AttachPoint* const> points, MadeUprobes& made) {
  Result<Attachment> whole = attach_file(program, points);
  if (whole.ok()) return made.attachments.push_back(std::move(whole).value()), Result<void>();
  if (!is_refused_instruction(whole.error())) return std::move(whole).error();
  if (points.size() == 1) return made.refused.emplace_back(points.front(), std::move(whole).error()), Result<void>();
  const size_t half = points.size() / 2;
  TRY_DO(attach_parts(program, points.first(half), made));
  return attach_parts(program, points.subspan(half), made);
}

// What a kernel answers to a link that no kernel makes, for a directory and process -1: one without uprobe.multi does not load
// the program. Before Linux 6.10 the kernel compares the thread instead of its process, and sees the directory (EBADF) before the
// process (EINVAL).
struct MultiSupport {
  bool all_processes = false, one_process = false;
};
MultiSupport find_multi_support() {
  const bpf_insn nothing[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0}, {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
  bpf_prog_load_opts options{};
  options.sz = sizeof options;
  options.expected_attach_type = static_cast<bpf_attach_type>(kAttachUprobeMulti);
  UniqueFd program(bpf_prog_load(BPF_PROG_TYPE_KPROBE, "spile_check", "Dual MIT/GPL", nothing, 2, &options));
  if (!program) return {};
  const uint64_t offset = 0;
  MultiLink link{};
  link.program = static_cast<uint32_t>(program.get());
  link.attach_type = kAttachUprobeMulti;
  link.path = reinterpret_cast<uint64_t>("/");
  link.offsets = reinterpret_cast<uint64_t>(&offset);
  link.count = 1;
  link.process = ~uint32_t{0};
  UniqueFd made(create_link(link));
  return {true, !made && errno == EINVAL};
}

}  // namespace

bool is_uprobe(Kind kind) { return kind == Kind::kUprobe || kind == Kind::kUretprobe || is_uprobe_multi(kind); }
bool is_uprobe_multi(Kind kind) { return kind == Kind::kUprobeMulti || kind == Kind::kUretprobeMulti; }

bool has_uprobe_multi(bool of_one_process) {
  static const MultiSupport support = find_multi_support();
  return of_one_process ? support.one_process : support.all_processes;
}

Result<Attachment> attach_uprobe(int program, const AttachPoint& point) {
  std::optional<UprobePmu> pmu = uprobe_pmu();
  if (!pmu)
    return Error{fmt::format("attach {}: this kernel has no uprobes (no /sys/bus/event_source/devices/uprobe)", point.text),
                 "use --runtime=inproc with -x or -c"};
  perf_event_attr attributes{};
  attributes.type = pmu->type;
  attributes.config = point.kind == Kind::kUretprobe ? pmu->return_bit : 0;
  if (point.semaphore_offset != 0) {
    if (!pmu->semaphore_shift || point.semaphore_offset >> (64 - *pmu->semaphore_shift) != 0) return no_room_for_semaphore(point);
    attributes.config |= point.semaphore_offset << *pmu->semaphore_shift;
  }
  attributes.uprobe_path = reinterpret_cast<uint64_t>(point.path.c_str());
  attributes.probe_offset = point.file_offset;
  attributes.disabled = 1;
  bool all = point.process <= 0;
  const pid_t process = all ? -1 : point.process;
  const int cpu = all ? online_cpus().front() : -1;
  UniqueFd event = try_open_event(attributes, process, cpu);
  if (!event && errno == kNotSupported) return refused_instruction(point);
  if (!event) {
    TRY(event, open_event(attributes, process, cpu, point));
  }
  return link_to_event(program, std::move(event), point);
}

bool is_refused_instruction(const Error& error) { return error.hint == kRefusedInstruction; }

Result<MadeUprobes> attach_uprobes(int program, std::span<const AttachPoint> points) {
  std::map<std::string, std::vector<const AttachPoint*>> by_file;
  for (const AttachPoint& point : points) by_file[point.path].push_back(&point);
  MadeUprobes made;
  for (const auto& [path, in_file] : by_file) TRY_DO(attach_parts(program, in_file, made));
  if (made.refused.size() == points.size()) return std::move(made.refused.front().second);
  return made;
}

std::string uprobe_mechanism(const AttachPoint& point) {
  const bool at_return = point.kind == Kind::kUretprobe || point.kind == Kind::kUretprobeMulti;
  std::string text = fmt::format("{}{} at {}+{:#x}", at_return ? "uretprobe" : "uprobe",
                                 is_uprobe_multi(point.kind) ? ".multi" : "", point.path, point.file_offset);
  if (point.semaphore_offset != 0) text += fmt::format(", semaphore at +{:#x}", point.semaphore_offset);
  return text;
}

}  // namespace spile::bpf
