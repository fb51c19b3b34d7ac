// kernel.trace("SYSTEM:EVENT"), or kernel.trace("EVENT") in any system; both may be globs. The kernel's tracepoints,
// found in tracefs. $NAME is a field of the tracepoint's record.

#include "probes/kernel_trace.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

#include "abi/system_calls.h"
#include "base/diagnostics.h"
#include "base/tracefs.h"
#include "probes/family.h"
#include "probes/tracepoint_format.h"
#include "syntax/visitor.h"

namespace spile::probes {

namespace {

using sema::Binding;
using sema::ResolvedPoint;

std::vector<std::string> components(const syntax::ProbePoint&, size_t index) {
  return index == 1 ? std::vector<std::string>{"trace", "function", "statement", "data", "lsm"} : std::vector<std::string>{};
}

bool takes(const syntax::ProbePoint& point) {
  return point.components[0].name == "kernel" && point.components.size() > 1 && point.components[1].name == "trace";
}

// Directories in a directory of tracefs.
std::vector<std::string> directories_in(int root, const std::string& path) {
  std::vector<std::string> names;
  int descriptor = openat(root, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* directory = descriptor < 0 ? nullptr : fdopendir(descriptor);
  if (!directory) {
    if (descriptor >= 0) close(descriptor);
    return names;
  }
  while (dirent* entry = readdir(directory)) {
    std::string name = entry->d_name;
    if (name != "." && name != ".." && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN)) names.push_back(name);
  }
  closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

bool is_glob(const std::string& text) {
  return text.find_first_of("*?[") != std::string::npos;
}

struct Found {
  std::vector<std::string> events;  // "sched:sched_switch"
  std::vector<std::string> others;  // seen on the way, for did-you-mean
};

Found find_events(int root, const std::string& system, const std::string& event) {
  Found found;
  std::vector<std::string> systems = {system};
  if (system.empty() || is_glob(system)) systems = directories_in(root, "events");
  for (const std::string& candidate : systems) {
    if (!system.empty() && fnmatch(system.c_str(), candidate.c_str(), 0) != 0) continue;
    for (const std::string& name : directories_in(root, "events/" + candidate)) {
      auto& list = fnmatch(event.c_str(), name.c_str(), 0) == 0 ? found.events : found.others;
      list.push_back(candidate + ":" + name);
    }
  }
  return found;
}

Result<Points> resolve(TracedWorld& world, const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  if (parts.size() > 2) return unexpected_component(point, 2, {});
  if (!parts[1].text) return Error{"trace needs the name of a tracepoint", "kernel.trace(\"sched:sched_switch\")"};
  TRY_DO(world.require_kernel("kernel.trace"));
  TRY(UniqueFd root, open_tracefs());
  const std::string& name = *parts[1].text;
  size_t colon = name.find(':');
  std::string system = colon == std::string::npos ? "" : name.substr(0, colon);
  Found found = find_events(root.get(), system, colon == std::string::npos ? name : name.substr(colon + 1));
  if (found.events.empty()) {
    std::vector<std::string> candidates = found.others;
    if (candidates.empty()) candidates = find_events(root.get(), "", "").others;
    if (colon == std::string::npos) {
      for (std::string& candidate : candidates) candidate.erase(0, candidate.find(':') + 1);
    }
    std::string near = nearest_name(name, candidates);
    return Error{fmt::format("no tracepoint '{}' in this kernel", name),
                 near.empty() ? "" : fmt::format("did you mean '{}'?", near)};
  }
  Points points;
  for (const std::string& event : found.events) {
    ResolvedPoint made;
    made.kind = sema::ProbeKind::kTracepoint;
    made.domain = sema::Domain::kKernel;
    made.site.tracepoint = event;
    for (std::string_view prefix : {"syscalls:sys_enter_", "syscalls:sys_exit_"}) {
      if (event.starts_with(prefix)) made.site.system_call = abi::traced_system_call_number(event.c_str() + prefix.size());
    }
    made.text = fmt::format("kernel.trace(\"{}\")", event);
    points.push_back(std::move(made));
  }
  return points;
}

// "$field[3]" with a constant 3; else nothing.
Result<Binding> bind_element(const TracepointField& field, const syntax::TargetVariable& variable) {
  const syntax::PathStep& step = variable.path[0];
  if (variable.path.size() > 1 || step.kind != syntax::PathStep::Kind::kElement) {
    return Error{
        fmt::format("'{}' is an array of numbers: only its elements can be read, with constant subscripts", variable.name),
        ""};
  }
  int64_t count = field.size / field.element_size;
  if (step.number < 0 || step.number >= count)
    return Error{fmt::format("'{}' has {} elements", variable.name, count), ""};
  Binding binding;
  int64_t offset = field.offset + step.number * field.element_size;
  binding.ops = {location::RecordField{offset, static_cast<uint8_t>(field.element_size), field.is_signed}};
  return binding;
}

Binding bind_string(const TracepointField& field) {
  Binding binding;
  binding.type = ValueType::kString;
  binding.string_in_context = true;
  if (field.kind == TracepointField::Kind::kCharacters) {
    binding.ops = {location::Constant{field.offset}};
    return binding;
  }
  binding.ops = {location::RecordField{field.offset, 4}, location::Constant{0xffff}, location::Binary::kAnd};
  if (field.kind == TracepointField::Kind::kRelativeLocation) location::append_offset(binding.ops, field.offset + field.size);
  return binding;
}

}  // namespace

Result<Binding> bind_in_tracepoint(TracedWorld& world, const ResolvedPoint& point,
                                   const syntax::TargetVariable& variable) {
  TRY(const std::vector<TracepointField>* fields, world.tracepoint_fields(point.site.tracepoint));
  std::vector<std::string> names;
  for (const TracepointField& field : *fields) {
    names.push_back("$" + field.name);
    if (names.back() != variable.name) continue;
    if (variable.address_of) return Error{fmt::format("'{}' has no address", variable.name), ""};
    if (field.kind == TracepointField::Kind::kArray && !variable.path.empty()) return bind_element(field, variable);
    if (!variable.path.empty()) {
      return Error{fmt::format("'{}' of a tracepoint: paths into kernel structures are not available in this version",
                               variable.name),
                   ""};
    }
    switch (field.kind) {
      case TracepointField::Kind::kNumber: {
        Binding binding;
        binding.ops = {location::RecordField{field.offset, static_cast<uint8_t>(field.size), field.is_signed}};
        return binding;
      }
      case TracepointField::Kind::kCharacters:
      case TracepointField::Kind::kDataLocation:
      case TracepointField::Kind::kRelativeLocation:
        return bind_string(field);
      default:
        return Error{fmt::format("'{}' is a {}: neither a number nor a string", variable.name, field.type), ""};
    }
  }
  std::string near = nearest_name(variable.name, names);
  return Error{fmt::format("tracepoint '{}' has no field '{}'", point.site.tracepoint, variable.name.substr(1)),
               near.empty() ? "" : fmt::format("did you mean '{}'?", near)};
}

std::vector<std::string> tracepoint_variables(TracedWorld& world, const ResolvedPoint& point, bool typed) {
  std::vector<std::string> names;
  auto fields = world.tracepoint_fields(point.site.tracepoint);
  if (!fields.ok()) return names;
  for (const TracepointField& field : **fields) {
    if (field.common || field.kind == TracepointField::Kind::kOther ||
        (!typed && field.kind == TracepointField::Kind::kArray))
      continue;
    names.push_back("$" + field.name + (typed ? ":" + field.type : ""));
  }
  return names;
}

extern const Family kernel_trace_family = {"kernel", takes, resolve, components,
    {"kernel.trace(string)"}};

}  // namespace spile::probes
