// kernel.trace("SYSTEM:EVENT"), or kernel.trace("EVENT") in any system; both may be globs. The kernel's tracepoints,
// found in tracefs. kernel.tracepoint is the same. module("NAME").trace("EVENT") and .tracepoint have those of a module. $NAME
// is an argument of the tracepoint, or a field of its record: see kernel_trace.h.

#include "probes/kernel/kernel_trace.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "abi/system_calls.h"
#include "base/check.h"
#include "base/diagnostics.h"
#include "base/files/tracefs.h"
#include "base/text/glob.h"
#include "probes/terms/family.h"
#include "probes/terms/tracepoint_format.h"
#include "probes/world/kernel_types.h"
#include "syntax/visitor.h"

namespace spile::probes {

namespace {

using kernelinfo::Btf;
using sema::Binding;
using sema::ResolvedPoint;

std::vector<std::string> components(const syntax::ProbePoint& point, size_t index) {
  if (index == 1 && point.components[0].name == "module") return {"trace", "tracepoint"};
  return index == 1 ? std::vector<std::string>{"trace", "tracepoint", "function", "statement", "data", "lsm"}
                    : std::vector<std::string>{};
}

template <const char* const& Head>
bool takes(const syntax::ProbePoint& point) {
  return point.components[0].name == Head && point.components.size() > 1 &&
         (point.components[1].name == "trace" || point.components[1].name == "tracepoint");
}
constexpr const char* kKernel = "kernel";
constexpr const char* kModule = "module";

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

// The system whose events are only descriptions of what ftrace's own tracers write (kernel/trace/trace_export.c): nothing can be
// attached to them.
constexpr std::string_view kTracersOwn = "ftrace";

struct Found {
  std::vector<std::string> events;  // "sched:sched_switch"
  std::vector<std::string> others;  // seen on the way, for did-you-mean
};

Found find_events(int root, const std::string& system, const std::string& event) {
  Found found;
  std::vector<std::string> systems = {system};
  if (system.empty() || has_wildcard(system)) systems = directories_in(root, "events");
  for (const std::string& candidate : systems) {
    if (candidate == kTracersOwn || (!system.empty() && !glob_matches(system, candidate))) continue;
    for (const std::string& name : directories_in(root, "events/" + candidate)) {
      auto& list = glob_matches(event, name) ? found.events : found.others;
      list.push_back(candidate + ":" + name);
    }
  }
  return found;
}

// Keeps the events of a module, which calls their system as itself, or has the tracepoints among its symbols (where the kernel
// lists those of data: CONFIG_KALLSYMS_ALL). Error: none is left.
Result<void> keep_events_of_module(TracedWorld& world, const std::string& module, std::vector<std::string>& events) {
  auto symbols = world.kernel().symbols();
  const auto has = [&](const std::string& event) {
    const size_t colon = event.find(':');
    if (event.substr(0, colon) == module) return true;
    if (!symbols.ok()) return false;
    const std::string name = "__tracepoint_" + event.substr(colon + 1);
    return !(*symbols)->named(name, module).empty();
  };
  std::erase_if(events, [&](const std::string& event) { return !has(event); });
  if (!events.empty()) return {};
  if (!world.kernel().has_module(module))
    return Error{fmt::format("the module '{}' is not loaded", module), fmt::format("load it first: modprobe {}", module)};
  return Error{fmt::format("no such tracepoint in the module '{}'", module),
               "spile -l 'kernel.trace(\"*\")' lists the tracepoints of the kernel and of its modules"};
}

Result<Points> resolve(TracedWorld& world, const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  if (parts.size() > 2) return unexpected_component(point, 2, {});
  if (!parts[1].text)
    return Error{fmt::format("{} needs the name of a tracepoint", parts[1].name), "kernel.trace(\"sched:sched_switch\")"};
  const bool of_module = parts[0].name == kModule;
  if (of_module && (!parts[0].text || parts[0].text->empty()))
    return Error{"module needs the name of a module", "module(\"ext4\").trace(\"*\")"};
  TRY_DO(world.require_kernel("kernel.trace"));
  TRY(UniqueFd root, open_tracefs());
  const std::string& name = *parts[1].text;
  size_t colon = name.find(':');
  std::string system = colon == std::string::npos ? "" : name.substr(0, colon);
  if (system == kTracersOwn)
    return Error{
        fmt::format("'{}' can't be probed: the events of the system ftrace only describe what ftrace's own tracers write", name),
        "spile -l 'kernel.trace(\"*\")' lists the kernel's tracepoints"};
  Found found = find_events(root.get(), system, colon == std::string::npos ? name : name.substr(colon + 1));
  if (of_module) TRY_DO(keep_events_of_module(world, *parts[0].text, found.events));
  if (found.events.empty()) {
    // Tracepoints of a module come with it, and most modules call their system as themselves.
    const bool lacks_system = !system.empty() && !has_wildcard(system) && found.others.empty();
    if (lacks_system && !world.kernel().has_module(system) && world.kernel().knows_module(system))
      return Error{fmt::format("no tracepoint '{}' in this kernel: the module '{}' is not loaded", name, system),
                   fmt::format("load it first: modprobe {}", system)};
    std::vector<std::string> candidates = found.others;
    if (candidates.empty()) candidates = find_events(root.get(), "", "").others;
    if (colon == std::string::npos) {
      for (std::string& candidate : candidates) candidate.erase(0, candidate.find(':') + 1);
    }
    std::string near = nearest_name(name, candidates);
    return Error{fmt::format("no tracepoint '{}' in this kernel", name),
                 !near.empty() ? fmt::format("did you mean '{}'?", near)
                 : lacks_system
                     ? fmt::format("it has none of '{}': a module that brings them is loaded first, as by modprobe", system)
                     : ""};
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
        fmt::format("'{}' is an array of numbers: only its elements can be read, with constant subscripts", variable.name), ""};
  }
  int64_t count = field.size / field.element_size;
  if (step.number < 0 || step.number >= count) return Error{fmt::format("'{}' has {} elements", variable.name, count), ""};
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

// "kernel", or "kernel:NAME" of the module that has the tracepoint; and its arguments. The kernel calls a tracepoint's handlers
// in the function __traceiter_NAME (include/linux/tracepoint.h), whose first parameter is the handlers' own.
struct Arguments {
  std::string module;
  std::vector<Btf::Parameter> list;
};

std::optional<Arguments> arguments_in(TracedWorld& world, const std::string& module, const std::string& name) {
  auto types = world.kernel().types(module);
  if (!types.ok()) return std::nullopt;
  auto function = (*types)->function("__traceiter_" + name);
  if (!function || function->parameters.empty()) return std::nullopt;
  Arguments found{module.empty() ? "kernel" : "kernel:" + module, std::move(function->parameters)};
  found.list.erase(found.list.begin());
  return found;
}

std::optional<Arguments> arguments_of(TracedWorld& world, const std::string& tracepoint) {
  // Those of single system calls are no tracepoints of the kernel's code.
  if (tracepoint.starts_with("syscalls:")) return std::nullopt;
  const std::string name = tracepoint.substr(tracepoint.find(':') + 1);
  if (auto found = arguments_in(world, "", name)) return found;
  auto symbols = world.kernel().symbols();
  if (!symbols.ok()) return std::nullopt;
  for (const kernelinfo::Symbol& symbol : (*symbols)->all()) {
    if (!symbol.module.empty() && symbol.name == "__tracepoint_" + name)
      return arguments_in(world, std::string(symbol.module), name);
  }
  return std::nullopt;
}

bool is_text(const TracepointField& field) {
  using Kind = TracepointField::Kind;
  return field.kind == Kind::kCharacters || field.kind == Kind::kDataLocation || field.kind == Kind::kRelativeLocation;
}

std::string names_of(const Arguments& arguments) {
  std::vector<std::string> names;
  for (const Btf::Parameter& parameter : arguments.list) names.push_back("$" + parameter.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

void choose_tracepoint_variables(TracedWorld& world, ResolvedPoint& point,
                                 const std::vector<const syntax::TargetVariable*>& read) {
  std::optional<Arguments> arguments = arguments_of(world, point.site.tracepoint);
  if (!arguments) return;
  auto fields = world.tracepoint_fields(point.site.tracepoint);
  bool needs_arguments = false, needs_record = false, may_be_arguments = false;
  for (const syntax::TargetVariable* variable : read) {
    if (variable->name.starts_with("$$")) {
      // $$parms are the tracepoint's own parameters; $$vars are whatever is there.
      needs_arguments |= variable->name == "$$parms" || !variable->path.empty();
      continue;
    }
    const bool is_argument = std::ranges::any_of(
        arguments->list, [&](const Btf::Parameter& parameter) { return "$" + parameter.name == variable->name; });
    const TracepointField* field = nullptr;
    if (fields.ok()) {
      for (const TracepointField& each : **fields) {
        if ("$" + each.name == variable->name) field = &each;
      }
    }
    const bool plain = variable->path.empty() && !variable->address_of;
    // An element of an array in the record has a path, too.
    const bool in_record = field && (plain || field->kind == TracepointField::Kind::kArray);
    if (is_argument && !in_record) needs_arguments = true;
    else if (in_record && (!is_argument || is_text(*field))) needs_record = true;
    else if (is_argument) may_be_arguments = true;
  }
  if (!needs_arguments && (needs_record || !may_be_arguments)) return;
  point.site.by_arguments = true;
  point.site.module = arguments->module;
}

Result<debuginfo::Place> place_of_argument(TracedWorld& world, const ResolvedPoint& point, const std::string& name) {
  std::optional<Arguments> arguments = arguments_of(world, point.site.tracepoint);
  CHECK(arguments.has_value());
  std::vector<std::string> names;
  for (size_t i = 0; i < arguments->list.size(); ++i) {
    names.push_back("$" + arguments->list[i].name);
    if (names.back() != name) continue;
    debuginfo::Place place;
    place.kind = debuginfo::Place::Kind::kValue;
    place.operations = {location::RecordField{static_cast<int64_t>(8 * i), 8, false}};
    place.type = arguments->list[i].type;
    return place;
  }
  // Before Linux 4.17, an argument said whether the task was woken; now there are no other hits.
  if (name == "$success" &&
      (point.site.tracepoint == "sched:sched_wakeup" || point.site.tracepoint == "sched:sched_wakeup_new")) {
    TRY(debuginfo::Type type, kernel_type(world, arguments->module, "int"));
    debuginfo::Place place;
    place.kind = debuginfo::Place::Kind::kValue;
    place.operations = {location::Constant{1}};
    place.type = type;
    return place;
  }
  auto fields = world.tracepoint_fields(point.site.tracepoint);
  const bool in_record =
      fields.ok() && std::ranges::any_of(**fields, [&](const TracepointField& field) { return "$" + field.name == name; });
  if (in_record) {
    return Error{
        fmt::format(
            "'{}' is a field of the tracepoint's record, which is not there in a handler that reads the tracepoint's arguments",
            name),
        fmt::format("the arguments are {}; read fields of the record in a probe of their own", names_of(*arguments))};
  }
  std::string near = nearest_name(name, names);
  return Error{
      fmt::format("tracepoint '{}' has no argument '{}'", point.site.tracepoint, name.substr(1)),
      !near.empty() ? fmt::format("did you mean '{}'?", near) : fmt::format("the arguments are {}", names_of(*arguments))};
}

Result<Binding> bind_in_tracepoint(TracedWorld& world, const ResolvedPoint& point, const syntax::TargetVariable& variable) {
  TRY(const std::vector<TracepointField>* fields, world.tracepoint_fields(point.site.tracepoint));
  std::vector<std::string> names;
  for (const TracepointField& field : *fields) {
    names.push_back("$" + field.name);
    if (names.back() != variable.name) continue;
    if (variable.address_of) return Error{fmt::format("'{}' has no address", variable.name), ""};
    if (field.kind == TracepointField::Kind::kArray && !variable.path.empty()) return bind_element(field, variable);
    if (!variable.path.empty()) {
      return Error{fmt::format("'{}' is a field of the tracepoint's record, which has no members", variable.name), ""};
    }
    switch (field.kind) {
      case TracepointField::Kind::kNumber: {
        Binding binding;
        binding.ops = {location::RecordField{field.offset, static_cast<uint8_t>(field.size), field.is_signed}};
        return binding;
      }
      case TracepointField::Kind::kCharacters:
      case TracepointField::Kind::kDataLocation:
      case TracepointField::Kind::kRelativeLocation: return bind_string(field);
      default: return Error{fmt::format("'{}' is a {}: neither a number nor a string", variable.name, field.type), ""};
    }
  }
  std::string near = nearest_name(variable.name, names);
  std::optional<Arguments> arguments = arguments_of(world, point.site.tracepoint);
  std::string hint = near.empty() ? "" : fmt::format("did you mean '{}'?", near);
  if (hint.empty() && arguments && !arguments->list.empty()) hint = "the tracepoint's arguments are " + names_of(*arguments);
  return Error{fmt::format("tracepoint '{}' has no field '{}'", point.site.tracepoint, variable.name.substr(1)), std::move(hint)};
}

std::vector<std::string> tracepoint_variables(TracedWorld& world, const ResolvedPoint& point, bool typed) {
  std::vector<std::string> names;
  std::optional<Arguments> arguments;
  if (typed || point.site.by_arguments) arguments = arguments_of(world, point.site.tracepoint);
  auto fields = world.tracepoint_fields(point.site.tracepoint);
  // A name that both have is the record's text (choose_tracepoint_variables), else the argument: it is listed once.
  const auto is_text_of_record = [&](const std::string& name) {
    return typed && fields.ok() &&
           std::ranges::any_of(**fields, [&](const TracepointField& field) { return field.name == name && is_text(field); });
  };
  const auto is_argument = [&](const std::string& name) {
    return typed && arguments &&
           std::ranges::any_of(arguments->list, [&](const Btf::Parameter& parameter) { return parameter.name == name; });
  };
  if (arguments) {
    for (const Btf::Parameter& parameter : arguments->list) {
      if (!is_text_of_record(parameter.name)) names.push_back("$" + parameter.name + (typed ? ":" + parameter.type.name() : ""));
    }
  }
  if (point.site.by_arguments && !typed) return names;
  if (!fields.ok()) return names;
  for (const TracepointField& field : **fields) {
    if (field.common || field.kind == TracepointField::Kind::kOther || (!typed && field.kind == TracepointField::Kind::kArray))
      continue;
    if (is_argument(field.name) && !is_text(field)) continue;
    names.push_back("$" + field.name + (typed ? ":" + field.type : ""));
  }
  return names;
}

extern const Family kernel_trace_family = {
    "kernel", takes<kKernel>, resolve, components, {"kernel.trace(string)", "kernel.tracepoint(string)"}};
extern const Family module_trace_family = {
    "module", takes<kModule>, resolve, components, {"module(string).trace(string)", "module(string).tracepoint(string)"}};

}  // namespace spile::probes
