#include "session/kernel_map.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include <cstring>

#include "abi/kernel.h"

namespace spile::session {

namespace {

bpf::AttachPoint attach_point(const sema::ResolvedPoint& point, uint64_t cookie, pid_t process) {
  bpf::AttachPoint attach;
  attach.text = point.text;
  attach.cookie = cookie;
  switch (sema::info(point.kind).source) {
    case sema::Source::kKernel:
      attach.kind = bpf::AttachPoint::Kind::kTracepoint;
      attach.tracepoint = point.site.tracepoint;
      break;
    case sema::Source::kSampler:
      attach.kind = bpf::AttachPoint::Kind::kProfile;
      attach.interval_ns = point.interval_ns;
      break;
    default:
      attach.kind = point.kind == sema::ProbeKind::kFunctionReturn ? bpf::AttachPoint::Kind::kUretprobe
                                                                   : bpf::AttachPoint::Kind::kUprobe;
      attach.path = point.site.module;
      attach.file_offset = point.site.file_offset;
      if (process != 0) attach.process = process;
      break;
  }
  return attach;
}

}  // namespace

bpf::MapSpec map_spec(const codegen::KernelMap& map) {
  bpf::MapSpec spec;
  spec.symbol = map.symbol;
  spec.kind = map.kind;
  spec.merge = map.merge;
  spec.key_size = map.key_size;
  spec.value_size = map.value_size;
  spec.entries = map.entries;
  spec.sharded = map.sharded;
  spec.key_count = map.key_count;
  spec.string_keys = map.string_keys;
  spec.string_size = map.string_size;
  return spec;
}

bpf::ProgramSpec program_spec(const sema::Program& program, const codegen::KernelProgram& entry, const probes::ModuleFiles& files, pid_t process) {
  using Kind = bpf::AttachPoint::Kind;
  bpf::ProgramSpec spec{entry.section, {}};
  const sema::Probe& probe = program.probes[static_cast<size_t>(entry.probe)];
  std::vector<uint32_t> points = entry.points;
  for (uint32_t i = 0; points.size() < probe.points.size() && entry.points.empty(); ++i) points.push_back(i);
  if (!entry.raw_tracepoint.empty()) {
    bpf::AttachPoint point;
    point.kind = Kind::kRawTracepoint;
    point.tracepoint = entry.raw_tracepoint;
    point.text = probe.points[points.front()].text;
    if (points.size() > 1) point.text += fmt::format(" and {} more", points.size() - 1);
    point.needs_raw = true;
    spec.points.push_back(std::move(point));
    return spec;
  }
  for (uint32_t i : points) {
    bpf::AttachPoint point = attach_point(probe.points[i], codegen::kernel_cookie(probe, i), process);
    if (point.kind == Kind::kTracepoint && !entry.reads_context) point.kind = Kind::kRawTracepoint;
    if (!point.path.empty()) {
      // This opens the file that elaboration read: its path may lead to another file, or to none.
      const debuginfo::OpenOptions& opened = probes::file_of(files, point.path).options;
      point.path = opened.file.empty() ? opened.root + point.path : opened.file;
    }
    // A return probe with values saved at the entry has a program for each side.
    if (probe.kind == sema::ProbeKind::kFunctionReturn && !entry.exit_side) point.kind = Kind::kUprobe;
    spec.points.push_back(std::move(point));
  }
  return spec;
}

std::vector<uint8_t> kernel_constants(pid_t target) {
  timespec real, monotonic;
  clock_gettime(CLOCK_REALTIME, &real);
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  abi::KernelConstants values{};
  values.clock_offset_ns = (real.tv_sec - monotonic.tv_sec) * 1'000'000'000LL + real.tv_nsec - monotonic.tv_nsec;
  values.target_pid = target;
  constexpr ino_t kFirstNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO of linux/proc_ns.h
  struct stat name_space;
  if (stat("/proc/self/ns/pid", &name_space) == 0 && name_space.st_ino != kFirstNamespace) {
    // The kernel's own form of a device number, which is not that of stat().
    values.pid_namespace_device = uint64_t{major(name_space.st_dev)} << 20 | minor(name_space.st_dev);
    values.pid_namespace_inode = name_space.st_ino;
  }
  std::vector<uint8_t> bytes(sizeof values);
  std::memcpy(bytes.data(), &values, sizeof values);
  return bytes;
}

}  // namespace spile::session
