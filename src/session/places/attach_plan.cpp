#include "session/places/attach_plan.h"

#include <fmt/format.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <map>

#include "base/files/elf_identity.h"

namespace spile::session {

namespace {

bpf::AttachPoint::Sample sample_of(const sema::ResolvedPoint& point) {
  bpf::AttachPoint::Sample sample;
  if (point.sample) {
    sample.type = point.sample->type;
    sample.config = point.sample->config;
    sample.period = point.sample->period;
    sample.is_rate = point.sample->is_rate;
  } else if (point.kind == sema::ProbeKind::kDataAccess) {
    sample.type = PERF_TYPE_BREAKPOINT;
    sample.period = 1;
    sample.access = point.sequence != 0 ? HW_BREAKPOINT_RW : HW_BREAKPOINT_W;
    sample.address = point.site.address.value;
    sample.length = point.site.size;
  } else if (point.interval_ns > 0) {
    sample.period = static_cast<uint64_t>(point.interval_ns);
  }
  return sample;
}

bpf::AttachPoint attach_point(const sema::ResolvedPoint& point, uint64_t cookie, pid_t process) {
  bpf::AttachPoint attach;
  attach.text = point.text;
  attach.cookie = cookie;
  switch (sema::info(point.kind).source) {
    case sema::Source::kKernel:
      if (point.packet) {
        attach.kind = bpf::AttachPoint::Kind::kPacket;
        attach.packet_family = point.packet->family;
        attach.packet_hook = point.packet->hook;
        attach.packet_priority = point.packet->priority;
        break;
      }
      attach.kind = bpf::AttachPoint::Kind::kTracepoint;
      attach.tracepoint = point.site.tracepoint;
      break;
    case sema::Source::kSampler:
      attach.kind = bpf::AttachPoint::Kind::kSample;
      attach.sample = sample_of(point);
      attach.of_threads = point.sample && point.of_processes;
      attach.program = point.program;
      break;
    default:
      attach.kind =
          point.kind == sema::ProbeKind::kFunctionReturn ? bpf::AttachPoint::Kind::kUretprobe : bpf::AttachPoint::Kind::kUprobe;
      attach.path = point.site.module;
      attach.file_offset = point.site.file_offset;
      attach.semaphore_offset = point.site.semaphore_offset;
      if (point.process != 0 || process != 0) attach.process = point.process != 0 ? point.process : process;
      break;
  }
  return attach;
}

}  // namespace

bpf::MapSpec map_spec(const codegen::KernelMap& map) { return {map, map.symbol}; }

namespace {

using kernelinfo::Mechanism;

// A probe has at most two groups of points for which there are several ways (bpf::ProgramSpec::choice).
int choice_of(const sema::Probe& probe, int group) { return 2 * probe.index + group; }
bool has_choice_of(const bpf::ProgramSpec& spec, const sema::Probe& probe) {
  return spec.choice == choice_of(probe, 0) || spec.choice == choice_of(probe, 1);
}

bpf::AttachPoint::Kind kind_of(Mechanism mechanism, bool at_return) {
  using Kind = bpf::AttachPoint::Kind;
  switch (mechanism) {
    case Mechanism::kTracing: return at_return ? Kind::kFexit : Kind::kFentry;
    case Mechanism::kMulti: return at_return ? Kind::kMultiReturn : Kind::kMulti;
    case Mechanism::kKprobe: return at_return ? Kind::kKretprobe : Kind::kKprobe;
  }
  return Kind::kKprobe;
}

bpf::AttachPoint function_point(const sema::ResolvedPoint& point, Mechanism mechanism, bool at_return, uint64_t cookie) {
  const sema::KernelFunction& function = *point.site.kernel;
  bpf::AttachPoint attach;
  attach.kind = kind_of(mechanism, at_return);
  attach.text = point.text;
  attach.optional = point.optional;
  attach.cookie = cookie;
  attach.address = function.address;
  attach.function_offset = function.offset;
  attach.description = function.description;
  attach.may_be_refused = mechanism == Mechanism::kKprobe && (point.site.around.value != 0 || function.of_pattern);
  constexpr char kLoaded[] = "kernel:";
  const std::string module =
      point.site.module.starts_with(kLoaded) ? point.site.module.substr(sizeof kLoaded - 1) + ":" : std::string();
  // A kprobe finds the first of several functions of a name; kprobe.multi takes names only where no address is known.
  const bool by_address = mechanism == Mechanism::kKprobe && !function.is_unique && function.address != 0;
  if (!by_address && !function.symbol.empty())
    attach.function = mechanism == Mechanism::kKprobe ? module + function.symbol : function.symbol;
  return attach;
}

// The points of a probe that are attached by one mechanism.
struct PointGroup {
  kernelinfo::PlaceTraits traits;
  std::vector<size_t> points;
};

// Divides points into functions that the kernel describes and others; all together where the former are too many for programs of
// their own.
std::vector<PointGroup> groups_of(const sema::Probe& probe) {
  const auto described = [](const sema::ResolvedPoint& point) { return point.site.kernel->description != 0; };
  const auto count = static_cast<size_t>(std::ranges::count_if(probe.points, described));
  const bool apart = count > 0 && count <= kernelinfo::kMostTracingPlaces;
  std::vector<PointGroup> groups(2);
  for (size_t i = 0; i < probe.points.size(); ++i) {
    const sema::ResolvedPoint& point = probe.points[i];
    PointGroup& group = groups[apart && described(point) ? 1 : 0];
    group.points.push_back(i);
    group.traits.function_entry &= point.kind != sema::ProbeKind::kStatement && point.site.kernel->offset == 0;
    group.traits.unknown_address |= point.site.module != "kernel" && point.site.kernel->address == 0;
  }
  groups[1].traits.described = true;
  for (PointGroup& group : groups) {
    group.traits.places = group.points.size();
    group.traits.at_return = probe.kind == sema::ProbeKind::kFunctionReturn;
    group.traits.saves_values = !probe.entry_saves.empty();
  }
  std::erase_if(groups, [](const PointGroup& group) { return group.points.empty(); });
  return groups;
}

Result<void> add_function_programs(const sema::Probe& probe, const codegen::KernelProgram& entry,
                                   const kernelinfo::Features& features, std::vector<bpf::ProgramSpec>& specs) {
  for (const PointGroup& group : groups_of(probe)) {
    const std::vector<Mechanism> mechanisms = kernelinfo::plan(features, group.traits);
    if (mechanisms.empty()) {
      return Error{
          fmt::format("attach {}: this kernel can't run handlers there: it has neither kprobes nor fentry",
                      probe.points[group.points.front()].text),
          "the kernel must be built with CONFIG_KPROBES, CONFIG_KPROBE_EVENTS or CONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS"};
    }
    const int choice = choice_of(probe, group.traits.described ? 1 : 0);
    for (size_t way = 0; way < mechanisms.size(); ++way) {
      if ((mechanisms[way] == Mechanism::kTracing) != entry.by_arguments) continue;
      bpf::ProgramSpec spec{entry.section, {}, choice, static_cast<int>(way)};
      for (size_t i : group.points)
        spec.points.push_back(
            function_point(probe.points[i], mechanisms[way], entry.exit_side, codegen::kernel_cookie(probe, i)));
      specs.push_back(std::move(spec));
    }
  }
  return {};
}

// One place for all the program's points.
void add_raw_tracepoint(const sema::Probe& probe, const codegen::KernelProgram& entry, std::vector<bpf::ProgramSpec>& specs) {
  const size_t count = entry.points.empty() ? probe.points.size() : entry.points.size();
  bpf::AttachPoint point;
  point.kind = bpf::AttachPoint::Kind::kRawTracepoint;
  point.tracepoint = entry.raw_tracepoint;
  point.text = probe.points[entry.points.empty() ? 0 : entry.points.front()].text;
  if (count > 1) point.text += fmt::format(" and {} more", count - 1);
  specs.push_back({entry.section, {std::move(point)}});
}

// A program that reads nothing of the record may run on raw tracepoints, which come and go at once. Tracepoints of single system
// calls have no raw one.
void add_tracepoint_programs(const sema::Probe& probe, const codegen::KernelProgram& entry,
                             std::vector<bpf::ProgramSpec>& specs) {
  bpf::ProgramSpec plain{entry.section, {}}, raw{entry.section, {}, choice_of(probe, 0), 0},
      instead{entry.section, {}, choice_of(probe, 0), 1};
  auto add = [&](size_t i) {
    bpf::AttachPoint point = attach_point(probe.points[i], codegen::kernel_cookie(probe, i), 0);
    if (entry.by_arguments) {
      point.kind = bpf::AttachPoint::Kind::kRawTracepoint;
      return plain.points.push_back(std::move(point));
    }
    if (entry.reads_context || point.tracepoint.starts_with("syscalls:")) return plain.points.push_back(std::move(point));
    instead.points.push_back(point);
    point.kind = bpf::AttachPoint::Kind::kRawTracepoint;
    raw.points.push_back(std::move(point));
  };
  if (entry.points.empty()) {
    for (size_t i = 0; i < probe.points.size(); ++i) add(i);
  } else {
    for (uint32_t i : entry.points) add(i);
  }
  for (bpf::ProgramSpec* spec : {&plain, &raw, &instead}) {
    if (!spec->points.empty()) specs.push_back(std::move(*spec));
  }
}

// Returns what leads to the file that elaboration read: the path in the script may lead to another file, or to none. Error:
// another file has been put there since.
Result<std::string> path_of(const probes::ModuleFiles& files, const std::string& module) {
  const probes::ModuleFile read = probes::file_of(files, module);
  std::string path = read.options.file.empty() ? read.options.root + module : read.options.file;
  if (!read.identity.empty() && elf_identity_of_file(path) != read.identity)
    return Error{fmt::format("attach to {}: the file was replaced while spile started", module), "run spile again"};
  return path;
}

// A link serves all places of a file where the kernel has that, but only for all processes or for one.
void add_uprobe_programs(bpf::ProgramSpec single, int choice, std::vector<bpf::ProgramSpec>& specs) {
  const pid_t process = single.points.front().process;
  const bool alike = std::ranges::all_of(single.points, [&](const bpf::AttachPoint& point) { return point.process == process; });
  if (alike && bpf::has_uprobe_multi(process > 0)) {
    bpf::ProgramSpec multi = single;
    multi.choice = single.choice = choice;
    single.way = 1;
    for (bpf::AttachPoint& point : multi.points) {
      using Kind = bpf::AttachPoint::Kind;
      point.kind = point.kind == Kind::kUretprobe ? Kind::kUretprobeMulti : Kind::kUprobeMulti;
    }
    specs.push_back(std::move(multi));
  }
  specs.push_back(std::move(single));
}

Result<void> add_other_program(const sema::Probe& probe, const codegen::KernelProgram& entry, const probes::ModuleFiles& files,
                               pid_t process, std::vector<bpf::ProgramSpec>& specs) {
  bpf::ProgramSpec spec{entry.section, {}};
  std::map<std::string, std::string> paths;  // by module
  for (size_t i = 0; i < probe.points.size(); ++i) {
    bpf::AttachPoint point = attach_point(probe.points[i], codegen::kernel_cookie(probe, i), process);
    if (!point.path.empty()) {
      auto [known, is_new] = paths.try_emplace(point.path);
      if (is_new) {
        TRY(known->second, path_of(files, point.path));
      }
      point.path = known->second;
    }
    point.may_be_refused = probe.points.size() > 1 &&
                           (point.kind == bpf::AttachPoint::Kind::kUprobe || point.kind == bpf::AttachPoint::Kind::kUretprobe);
    // A return probe with values saved at the entry has a program for each side.
    if (probe.kind == sema::ProbeKind::kFunctionReturn && !entry.exit_side) point.kind = bpf::AttachPoint::Kind::kUprobe;
    spec.points.push_back(std::move(point));
  }
  if (spec.points.front().path.empty()) specs.push_back(std::move(spec));
  else add_uprobe_programs(std::move(spec), choice_of(probe, 0), specs);
  return {};
}

}  // namespace

Result<void> add_programs(const sema::Program& program, const codegen::KernelProgram& entry, const probes::ModuleFiles& files,
                          pid_t process, const kernelinfo::Features& features, std::vector<bpf::ProgramSpec>& specs) {
  const sema::Probe& probe = program.probes[static_cast<size_t>(entry.probe)];
  const size_t first = specs.size();
  if (probe.points.front().site.kernel) {
    TRY_DO(add_function_programs(probe, entry, features, specs));
  } else if (!entry.raw_tracepoint.empty()) {
    add_raw_tracepoint(probe, entry, specs);
  } else if (probe.kind == sema::ProbeKind::kTracepoint) {
    add_tracepoint_programs(probe, entry, specs);
  } else {
    TRY_DO(add_other_program(probe, entry, files, process, specs));
  }
  for (size_t i = first; i < specs.size(); ++i) {
    for (bpf::AttachPoint& point : specs[i].points) point.place = probe.range.to_string();
  }
  return {};
}

Result<void> check_programs(const sema::Program& program, const std::vector<bpf::ProgramSpec>& specs) {
  for (const sema::Probe& probe : program.probes) {
    const bool in_kernel = probe.domain == sema::Domain::kKernel && probe.points.front().site.kernel;
    if (!in_kernel || std::ranges::any_of(specs, [&](const bpf::ProgramSpec& spec) { return has_choice_of(spec, probe); }))
      continue;
    return Error{fmt::format("attach {}: its handler needs registers, or there are too many functions, for what this kernel has: "
                             "fentry without kprobes",
                             probe.points.front().text),
                 "use $variables of the function instead, or a kernel that is built with CONFIG_KPROBES"};
  }
  return {};
}

}  // namespace spile::session
