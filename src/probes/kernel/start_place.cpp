#include "probes/kernel/start_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "abi/machine.h"
#include "debuginfo/readable_places.h"
#include "probes/kernel/kernel_trace.h"
#include "probes/terms/header_types.h"
#include "probes/terms/shared_libraries.h"
#include "probes/world/kernel_image.h"
#include "probes/world/kernel_types.h"
#include "syntax/visitor.h"

namespace spile::probes {

namespace {

using sema::ProbeKind;
using sema::ResolvedPoint;

// Without debug information nothing is known by name; say what there is instead.
Error no_debug_info(debuginfo::Module& module, const std::string& name) {
  bool result = name == "$return";
  return module.needs_debug_info(
      fmt::format("'{}' is not known: {} has no debug information", name, module.path()),
      result ? "use returnval() if it is an integer or a pointer" : "use int_arg(1), pointer_arg(2) ...");
}

bool has_entry_value(const location::Operations& operations) {
  return std::ranges::any_of(operations, location::is<location::EntryValue>);
}
bool has_entry_value(const debuginfo::Place& place) {
  return has_entry_value(place.operations) ||
         std::any_of(place.pieces.begin(), place.pieces.end(),
                     [](const debuginfo::Piece& piece) { return has_entry_value(piece.operations); });
}

bool uses_other_registers(const location::Operations& operations) {
  return std::ranges::any_of(operations, [](const location::Operation& op) {
    auto* named = std::get_if<location::Register>(&op);
    return named && named->number > abi::kConvention.program_counter;
  });
}
bool uses_other_registers(const debuginfo::Place& place) {
  return uses_other_registers(place.operations) ||
         std::ranges::any_of(place.pieces, [](const debuginfo::Piece& piece) { return uses_other_registers(piece.operations); });
}

// In the kernel a handler does not know where the thread has its thread-local variables, nor what it found at a function's
// entry; of the registers the kernel saves the general ones for it. A goroutine's frames move, so that they can't be found again
// by their address.
Result<StartPlace> if_reachable(TracedWorld& world, const debuginfo::Module& module, StartPlace start) {
  if (has_entry_value(start.place)) {
    if (module.is_made_by_go())
      return Error{fmt::format("'{}' is optimized out here (it is only known from a value at the function's entry)", start.name),
                   ""};
    if (world.process_domain() == sema::Domain::kKernel)
      return Error{fmt::format("'{}' is optimized out here: it is only known from a value at the function's entry, which "
                               "handlers in the kernel don't record",
                               start.name),
                   "run spile with -x or -c, so that the handler runs in the process (--runtime=inproc)"};
  }
  if (world.process_domain() == sema::Domain::kKernel && uses_other_registers(start.place))
    return Error{
        fmt::format("'{}' is in a floating-point or vector register here, which handlers in the kernel can't read", start.name),
        "run spile with -x or -c, so that the handler runs in the process (--runtime=inproc)"};
  bool thread_local_one = std::ranges::any_of(start.place.operations, [](const location::Operation& op) {
    return location::is<location::ThreadPointer>(op) || location::is<location::ThreadBlock>(op);
  });
  if (!thread_local_one || world.process_domain() == sema::Domain::kTarget) return start;
  return Error{fmt::format("'{}' is thread-local: handlers in the kernel can't find it", start.name),
               "run spile with -x or -c, so that the handler runs in the process (--runtime=inproc)"};
}

// What the pointer at hand points to.
debuginfo::Place pointee(debuginfo::Type type) {
  debuginfo::Place place;
  place.kind = debuginfo::Place::Kind::kMemory;
  place.type = std::move(type);
  place.operations = {location::ScriptPointer{}};
  return place;
}

const std::string* literal(const syntax::AtOperation& operation, size_t index) {
  if (index >= operation.arguments.size()) return nullptr;
  auto* text = syntax::as<syntax::String>(operation.arguments[index]);
  return text ? &text->value : nullptr;
}

}  // namespace

Result<std::string> find_module(TracedWorld& world, const std::string& name) {
  if (name.find('/') == std::string::npos && world.has_target()) {
    if (std::filesystem::path(world.program()).filename() == name) return world.program();
    for (const std::string& library : world.libraries(world.program())) {
      if (world.is_named(library, name)) return library;
    }
  }
  Result<std::string> found = world.find_executable(name);
  if (std::string library = found.ok() ? "" : system_library(name); !library.empty()) return library;
  return found;
}

namespace {

// "a:b:<c.h>" as a list; a name that is a file stays whole.
std::vector<std::string> module_names(const std::string& modules) {
  std::error_code ignored;
  if (std::filesystem::exists(modules, ignored)) return {modules};
  std::vector<std::string> names;
  for (size_t begin = 0; begin <= modules.size();) {
    size_t end = std::min(modules.find(':', begin), modules.size());
    names.push_back(modules.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// "timeval" is also the name of "struct timeval".
std::vector<std::string> type_names(const std::string& type) {
  if (type.find(' ') != std::string::npos) return {type};
  return {type, "struct " + type, "union " + type, "enum " + type};
}

// As header_types(), for "timeval" as well as for "struct timeval".
Result<std::string> header_types_of(const std::string& headers, const std::string& type) {
  Result<std::string> first = header_types(headers, type);
  for (const std::string& name : type_names(type)) {
    if (first.ok()) break;
    if (name == type) continue;
    if (auto other = header_types(headers, name); other.ok()) return other;
  }
  return first;
}

Result<debuginfo::Type> type_in(TracedWorld& world, const std::string& path, const std::string& type) {
  if (is_kernel_module(path)) return kernel_type(world, path, type);
  TRY(std::shared_ptr<debuginfo::Module> module, world.module(path));
  if (!module->has_debug_info()) return no_debug_info(*module, type);
  Result<debuginfo::Type> found = module->type_named(type);
  for (const std::string& name : type_names(type)) {
    if (!found.ok()) {
      if (auto other = module->type_named(name); other.ok()) found = std::move(other);
    }
  }
  return found;
}

}  // namespace

// @sizeof("struct s", "module")
Result<uint64_t> size_of_type(TracedWorld& world, const sema::ResolvedPoint* point, const syntax::AtOperation& operation) {
  // As @cast takes them: a pointer, the type, the module.
  syntax::AtOperation cast(operation.range);
  cast.name = "@cast";
  cast.arguments.push_back(std::make_unique<syntax::Number>(operation.range, 0));
  for (const auto& argument : operation.arguments) cast.arguments.push_back(syntax::clone(*argument));
  TRY(StartPlace start, start_of(world, point, cast));
  return start.place.type.size();
}

namespace {

// A function does not know what its callers probe: a name in it may be that of a module of the kernel, which is asked before a
// program of that name.
Result<StartPlace> cast_in_kernel_module(TracedWorld& world, const std::string& type, const std::string& name) {
  const std::string module = kernel_module_named(world, name);
  if (module.empty()) return Error{};
  TRY(debuginfo::Type found, type_in(world, module, type));
  return StartPlace{fmt::format("@cast({})", type), module, pointee(found), true};
}

// The type in the first module of "a:b:<c.h>" that has it. What the first that is there lacks is the error.
Result<StartPlace> cast_start(TracedWorld& world, const ResolvedPoint* point, const std::string& type,
                              const std::string& modules) {
  Error failure;
  std::string absent;
  bool any = false;  // is there
  for (const std::string& name : module_names(modules)) {
    std::string in_kernel = is_kernel_module(name) ? name : find_kernel_module(world, point, name);
    Result<StartPlace> of_module = in_kernel.empty() ? cast_in_kernel_module(world, type, name) : Result<StartPlace>(Error{});
    if (of_module.ok()) return of_module;
    bool is_header = in_kernel.empty() && (name.find('<') != std::string::npos || name.find('"') != std::string::npos);
    Result<std::string> path = !in_kernel.empty() ? Result<std::string>(in_kernel)
                               : is_header        ? header_types_of(name, type)
                                                  : find_module(world, name);
    Result<debuginfo::Type> found = path.ok() ? type_in(world, *path, type) : Result<debuginfo::Type>(path.error());
    if (found.ok()) return StartPlace{fmt::format("@cast({})", type), *path, pointee(*found), true};
    if (is_header && path.ok()) found = Error{fmt::format("no type '{}' in {}", type, name), ""};
    if (!path.ok() && !of_module.error().message.empty()) found = of_module.error();
    else if (!path.ok() && in_kernel.empty() && world.kernel().knows_module(name))
      found = Error{fmt::format("the module {} is not loaded, so that its types are not known", name),
                    fmt::format("load it before spile starts: modprobe {}", name)};
    if (failure.message.empty() || (path.ok() && !any)) failure = std::move(found).error();
    any |= path.ok();
    if (!path.ok() && absent.empty()) absent = name;
  }
  if (any && !absent.empty()) failure.message += fmt::format(", and '{}' is neither a loaded module nor a program", absent);
  return failure;
}

// Whether names without a module are the kernel's, though the point is on no code of its own.
bool of_tracepoint(const ResolvedPoint* point) {
  return point && point->kind == sema::ProbeKind::kTracepoint && point->site.module.empty();
}

// A name was looked for in the kernel, as nothing says where it is: it may be a program's.
Error without_module(Error error, const ResolvedPoint* point, const char* with_module) {
  if ((point && !point->site.module.empty()) || of_tracepoint(point)) return error;
  error.hint += fmt::format("{}if it is a program's: {}", error.hint.empty() ? "" : "; ", with_module);
  return error;
}

// @cast(pointer, "type", "module"): what the pointer points to is of that type.
Result<StartPlace> start_of_cast(TracedWorld& world, const ResolvedPoint* point, const syntax::AtOperation& operation) {
  const std::string* name = literal(operation, 1);
  const std::string* modules = literal(operation, 2);
  // @cast(p, "kernel<struct sock>")
  if (name && !modules && name->starts_with("kernel<") && name->ends_with(">"))
    return cast_start(world, point, name->substr(7, name->size() - 8), "kernel");
  if (!name || operation.arguments.size() > 3 || (operation.arguments.size() == 3 && !modules)) {
    return Error{"@cast needs a pointer and a type's name as a literal", "@cast(pointer, \"struct node\")->next"};
  }
  if (modules) return cast_start(world, point, *name, *modules);
  // Without a module: of the probe's own; of the program; of the kernel, as in SystemTap.
  if (point && !point->site.module.empty() && !is_kernel_module(point->site.module))
    return cast_start(world, point, *name, point->site.module);
  const bool in_program = (!point || point->site.module.empty()) && !of_tracepoint(point) && world.has_target();
  Result<StartPlace> of_program = in_program ? cast_start(world, point, *name, world.program()) : Result<StartPlace>(Error{});
  if (of_program.ok()) return of_program;
  const std::string own = point && !point->site.module.empty() ? point->site.module : "kernel";
  Result<debuginfo::Type> type = kernel_type(world, own, *name);
  if (type.ok()) return StartPlace{fmt::format("@cast({})", *name), own, pointee(*type), true};
  if (in_program) return of_program;
  return without_module(std::move(type).error(), point, "@cast(pointer, \"TYPE\", \"/bin/program\")");
}

Result<StartPlace> global_in(TracedWorld& world, const ResolvedPoint* point, const std::string& name, const std::string& path);

// @var("name@file", "module"): a variable outside of functions.
Result<StartPlace> start_of_global(TracedWorld& world, const ResolvedPoint* point, const syntax::AtOperation& operation) {
  const std::string* name = literal(operation, 0);
  const std::string* module_name = literal(operation, 1);
  if (!name || operation.arguments.size() > 2 || (operation.arguments.size() == 2 && !module_name)) {
    return Error{"@var needs the variable's name as a literal", "@var(\"name@file.c\")"};
  }
  const bool probed = point && !point->site.module.empty();
  const bool in_kernel = world.process_domain() == sema::Domain::kKernel;
  std::string of_kernel = module_name                                     ? find_kernel_module(world, point, *module_name)
                          : point && is_kernel_module(point->site.module) ? point->site.module
                                                                          : std::string();
  const bool unnamed = !module_name && !probed && (of_tracepoint(point) || !world.has_target());
  if (name->ends_with("@kernel") || unnamed) of_kernel = "kernel";  // @var("jiffies@kernel")
  if (!of_kernel.empty()) {
    Result<debuginfo::Place> place = place_of_kernel_variable(world, of_kernel, *name, operation.address_of);
    if (place.ok()) return StartPlace{*name, of_kernel, std::move(*place), false};
    if (auto described = global_in_image(world, of_kernel, *name))
      return StartPlace{*name, std::move(described->module), std::move(described->place), false};
    if (!unnamed) return std::move(place).error();
    // A file's name is more likely a program's: the kernel's variables are found without it.
    if (name->find('@') == std::string::npos || name->ends_with("@kernel"))
      return without_module(std::move(place).error(), point, "@var(\"name@file.c\", \"/bin/program\")");
  }
  if (!probed && in_kernel)
    return Error{"@var can't be read here: handlers in the kernel only know the load address of their own probe's module",
                 "read it in a probe of the module"};
  if (!probed && !module_name && !world.has_target())
    return Error{"@var needs a module here, as this probe is not on one", "@var(\"name@file.c\", \"/bin/program\")"};
  if (!module_name) return global_in(world, point, *name, probed ? point->site.module : world.program());
  // "a:b": the first one that has the variable.
  Error failure;
  for (const std::string& each : module_names(*module_name)) {
    Result<std::string> path = find_module(world, each);
    Result<StartPlace> found = path.ok() ? global_in(world, point, *name, *path) : Result<StartPlace>(path.error());
    if (found.ok()) return found;
    if (failure.message.empty()) failure = std::move(found).error();
  }
  return failure;
}

Result<StartPlace> global_in(TracedWorld& world, const ResolvedPoint* point, const std::string& name, const std::string& path) {
  const bool probed = point && !point->site.module.empty();
  const bool in_kernel = world.process_domain() == sema::Domain::kKernel;
  TRY(std::shared_ptr<debuginfo::Module> module, world.module(path));
  const bool elsewhere = !probed || path != point->site.module;
  if (elsewhere && module->position_independent() && in_kernel)
    return Error{
        fmt::format("@var of {} can't be read in a probe on {}: handlers in the kernel only know the load address of the latter",
                    path, point->site.module),
        "read it in a probe of its own module, or run spile with -x or -c"};
  if (!module->has_debug_info()) return no_debug_info(*module, name);
  size_t at = name.find('@');
  std::string file = at == std::string::npos ? "" : name.substr(at + 1);
  std::string plain = name.substr(0, at);
  Result<debuginfo::Variable> found = Error{};
  // Of several static ones of a name, that of the probed function's own file.
  Frame frame = probed ? frame_of(*point) : Frame{};
  if (file.empty() && !elsewhere && frame.function.value != 0) found = module->variable_of_unit(frame.function, plain);
  if (!found.ok()) {
    TRY(found, module->global_variable(plain, file));
  }
  StartPlace start{name, path, found->place, false};
  if (elsewhere && module->position_independent()) start.other_module = path;
  // A program at fixed addresses has no load bias, but the probed library has.
  if (elsewhere && start.other_module.empty()) {
    for (location::Operation& op : start.place.operations) {
      if (auto* address = std::get_if<location::Address>(&op))
        op = location::Constant{static_cast<int64_t>(address->address.value)};
    }
  }
  return if_reachable(world, *module, std::move(start));
}

}  // namespace

Frame frame_of(const ResolvedPoint& point) {
  const sema::Site& site = point.site;
  if (site.callee.value != 0) return {site.callee, site.callee, 0};
  return {site.around.value != 0 ? site.around : site.address, site.address, site.scope};
}

std::vector<Frame> frames_of(debuginfo::Module& module, const ResolvedPoint& point) {
  const Frame own = frame_of(point);
  if (!point.site.mark || own.scope != 0) return {own};
  const auto place = module.place_at(own.pc);
  if (!place || place->scope == 0) return {own};
  std::vector<Frame> frames;
  // Calls come before what is inlined into them.
  if (const auto calls = module.inlined_calls_in(place->function); calls.ok())
    for (const debuginfo::CodePlace& call : *calls) {
      const std::vector<debuginfo::CodeRange> code = module.code_of_call(call.scope);
      const bool has_mark =
          std::ranges::any_of(code, [&](const auto& range) { return own.pc >= range.begin && own.pc < range.end; });
      if (has_mark) frames.insert(frames.begin(), Frame{place->function, own.pc, call.scope});
    }
  frames.push_back({place->function, own.pc, 0});
  return frames;
}

Frame frame_with(debuginfo::Module& module, const ResolvedPoint& point, const std::string& name) {
  const std::vector<Frame> frames = frames_of(module, point);
  if (frames.size() == 1) return frames.front();
  for (const Frame& frame : frames) {
    const auto variables = module.variables(frame.function, frame.pc, frame.scope);
    if (variables.ok() && std::ranges::count(*variables, name, &debuginfo::Variable::name) > 0) return frame;
  }
  return frames.front();
}

Result<StartPlace> start_of(TracedWorld& world, const ResolvedPoint& point, bool at_entry,
                            const syntax::TargetVariable& variable) {
  if (point.site.by_arguments) {
    TRY(debuginfo::Place place, place_of_argument(world, point, variable.name));
    return StartPlace{variable.name, point.site.module, std::move(place), false};
  }
  if (point.site.kernel) {
    TRY(KernelVariable found, variable_in_kernel(world, point, at_entry, variable));
    return StartPlace{variable.name, std::move(found.module), std::move(found.place), false};
  }
  TRY(std::shared_ptr<debuginfo::Module> module, world.module(point.site.module));
  if (!module->has_debug_info()) return no_debug_info(*module, variable.name);
  Frame frame = frame_of(point);
  StartPlace start{variable.name, module->path(), {}, false};
  int result = point.site.result_number(variable.name);
  if (variable.name == "$return" || (result >= 0 && point.kind == ProbeKind::kFunctionReturn && !at_entry)) {
    if (point.kind != ProbeKind::kFunctionReturn || at_entry) {
      return Error{"$return is only known in .return probes, outside of @entry", ""};
    }
    TRY(start.place, module->return_value(frame.function, static_cast<size_t>(result)));
    return if_reachable(world, *module, std::move(start));
  }
  frame = frame_with(*module, point, variable.name.substr(1));
  TRY(debuginfo::Variable found, module->variable(frame.function, frame.pc, variable.name.substr(1), frame.scope));
  start.place = found.place;
  return if_reachable(world, *module, std::move(start));
}

std::string where_readable(TracedWorld& world, const ResolvedPoint& point, const syntax::TargetVariable& variable) {
  if (point.site.by_arguments || variable.name.size() < 2 || variable.name.starts_with("$return")) return {};
  const std::string name = variable.name.substr(1);
  if (point.site.kernel) {
    const auto where = frame_in_image(world, point);
    return where ? debuginfo::where_readable(*where->image->module, where->function, where->pc, name, where->scope) : "";
  }
  Result<std::shared_ptr<debuginfo::Module>> module = world.module(point.site.module);
  if (!module.ok()) return {};
  const Frame frame = frame_with(**module, point, name);
  return debuginfo::where_readable(**module, frame.function, frame.pc, name, frame.scope);
}

Result<StartPlace> start_of(TracedWorld& world, const ResolvedPoint* point, const syntax::AtOperation& operation) {
  if (operation.name == "@cast") return start_of_cast(world, point, operation);
  if (operation.name == "@var") return start_of_global(world, point, operation);
  return Error{fmt::format("'{}' can't be used in probes on processes", operation.name), ""};
}

Result<StartPlace> start_of(TracedWorld& world, const sema::TargetType& type) {
  uint64_t id = 0;
  std::from_chars(type.key.data(), type.key.data() + type.key.size(), id, 16);
  if (is_kernel_module(type.module)) {
    TRY(std::shared_ptr<kernelinfo::Btf> types, kernel_types(world, type.module));
    return StartPlace{"the pointer", type.module, pointee(types->type_with_id(id)), true};
  }
  TRY(std::shared_ptr<debuginfo::Module> module, world.module(type.module));
  return StartPlace{"the pointer", type.module, pointee(module->type_with_id(id)), true};
}

Result<debuginfo::Place> walk_path(const StartPlace& start, std::span<const syntax::PathStep> path) {
  using syntax::PathStep;
  if (!start.place.available()) return Error{fmt::format("'{}' {}", start.name, start.place.reason), ""};
  debuginfo::Place place = start.place;
  std::vector<debuginfo::Step> steps;
  for (size_t i = 0; i < path.size(); ++i) {
    const PathStep& step = path[i];
    bool is_index = step.kind == PathStep::Kind::kElement || step.kind == PathStep::Kind::kElementExpr;
    // An index on the pointer itself.
    if (i == 0 && is_index && start.is_pointee && place.type.kind() != debuginfo::TypeKind::kArray) {
      auto size = static_cast<int64_t>(place.type.size());
      if (size == 0)
        return Error{fmt::format("'{}' can't be indexed: the size of its elements is unknown", place.type.name()), ""};
      if (step.kind == PathStep::Kind::kElement) {
        location::append_offset(place.operations, size * step.number);
      } else {
        place.operations.insert(place.operations.end(),
                                {location::Index{0}, location::Constant{size}, location::Binary::kMul, location::Binary::kPlus});
      }
      continue;
    }
    switch (step.kind) {
      case PathStep::Kind::kMember: steps.push_back({debuginfo::Step::Kind::kMember, step.name, 0}); break;
      case PathStep::Kind::kElement: steps.push_back({debuginfo::Step::Kind::kIndex, "", step.number}); break;
      case PathStep::Kind::kElementExpr:
        steps.push_back({debuginfo::Step::Kind::kDynamicIndex, "", static_cast<int64_t>(i)});
        break;
      case PathStep::Kind::kPretty:
      case PathStep::Kind::kPrettyDeep:
      case PathStep::Kind::kText:
      case PathStep::Kind::kWord: return Error{"'$' at the end of a path prints a structure: the result is a string", ""};
    }
  }
  return debuginfo::walk(place, steps);
}

}  // namespace spile::probes
