#include "probes/binding/bind_function.h"

#include <fmt/format.h>

#include <algorithm>

#include "abi/machine.h"
#include "base/diagnostics.h"
#include "debuginfo/array_elements.h"
#include "probes/kernel/netfilter.h"
#include "probes/kernel/start_place.h"
#include "probes/terms/c_constants.h"
#include "probes/terms/c_expression.h"
#include "probes/terms/translate_location.h"
#include "probes/world/kernel_image.h"
#include "probes/world/kernel_types.h"
#include "syntax/printer.h"
#include "syntax/visitor.h"

namespace spile::probes {

namespace {

using sema::Binding;
using sema::ProbeKind;
using sema::ResolvedPoint;

// A type that is found again without any point: what the value points to, or is.
sema::TargetType type_of_object(const std::string& module, const debuginfo::Type& type) {
  return {module, type.id() ? fmt::format("{:x}", type.id()) : std::string()};
}

sema::TargetType type_behind(const std::string& module, const debuginfo::Place& place, bool address_of) {
  using debuginfo::TypeKind;
  if (address_of) return type_of_object(module, place.type);
  TypeKind kind = place.type.kind();
  // What a number of the script points to is counted from 0, element by element as they lie.
  if (const auto* shape = place.type.shape()) {
    const bool lies_as_in_c =
        shape->dimensions.size() == 1 && shape->dimensions[0].stride.kind == debuginfo::ArrayNumber::Kind::kAbsent;
    if (!lies_as_in_c) return {};
  }
  if (kind == TypeKind::kArray || (kind == TypeKind::kPointer && !place.bit_size))
    return type_of_object(module, place.type.target());
  return {};
}

// The string itself, of a char* or char[].
Result<Binding> bind_string(const StartPlace& start, const debuginfo::Place& place, Moment moment) {
  if (!place.type.is_string()) return Error{fmt::format("'{}' is not a string", start.name), ""};
  Binding binding;
  binding.type = ValueType::kString;
  TRY(location::Operations operations, debuginfo::load(place));
  if (auto count = place.type.count()) binding.string_limit = static_cast<uint32_t>(std::min<uint64_t>(*count, 1 << 20));
  binding.ops = translate(operations, moment, !start.other_module.empty());
  binding.other_module = start.other_module;
  binding.reads_kernel_memory = is_of_kernel(start.module);
  return binding;
}

Result<Binding> bind_from(const StartPlace& start, std::span<const syntax::PathStep> path, bool address_of, Moment moment) {
  if (!path.empty() && path.back().kind == syntax::PathStep::Kind::kWord) {
    TRY(debuginfo::Place place, walk_path(start, path.first(path.size() - 1)));
    location::Operations operations;
    if (auto summary = debuginfo::summary_of(place)) {
      operations = path.back().number == 0 ? std::move(summary->data) : std::move(summary->count);
    } else if (place.type.is_reference() && place.kind == debuginfo::Place::Kind::kMemory) {
      operations = place.operations;
      operations.emplace_back(location::Deref{8});
    } else {
      TRY(operations, debuginfo::load_word(place, static_cast<uint64_t>(path.back().number)));
    }
    return Binding{.ops = translate(operations, moment, !start.other_module.empty()), .other_module = start.other_module};
  }
  bool as_string = !path.empty() && path.back().kind == syntax::PathStep::Kind::kText;
  if (as_string) path = path.first(path.size() - 1);
  TRY(debuginfo::Place place, walk_path(start, path));
  if (as_string) return bind_string(start, place, moment);
  TRY(location::Operations operations, address_of ? debuginfo::address(place) : debuginfo::load(place));
  Binding binding;
  binding.ops = translate(operations, moment, !start.other_module.empty());
  binding.other_module = start.other_module;
  binding.target_type = type_behind(start.module, place, address_of);
  binding.reads_kernel_memory = is_of_kernel(start.module);
  return binding;
}

// @cast(pointer, "type") alone: the pointer, of which is known now what it points to.
bool is_plain_cast(const syntax::AtOperation& operation) {
  return operation.name == "@cast" && operation.path.empty() && !operation.address_of;
}
Binding bind_plain_cast(const StartPlace& start) {
  Binding binding;
  binding.ops = {location::ScriptPointer{}};
  binding.target_type = type_of_object(start.module, start.place.type);
  return binding;
}

// The value of the enumeration constant NAME or TYPE::NAME.
Result<Binding> bind_enumerator(TracedWorld& world, const std::string& path, const std::string& name) {
  const std::string constant = name.substr(name.rfind(':') + 1);
  Result<debuginfo::Type> type = Error{};
  if (is_kernel_module(path)) {
    TRY(std::shared_ptr<kernelinfo::Btf> types, kernel_types(world, path));
    if (auto found = types->enum_with(constant)) type = *found;
  } else {
    TRY(std::shared_ptr<debuginfo::Module> module, world.module(path));
    if (!module->has_debug_info())
      return module->needs_debug_info(fmt::format("'{}' is not known: {} has no debug information", name, path), "");
    type = module->type_named("enumerator " + name);
  }
  if (!type.ok()) return Error{fmt::format("no enumeration of {} has a constant '{}'", path, name), ""};
  for (const debuginfo::Enumerator& enumerator : type->enumerators()) {
    if (enumerator.name != constant) continue;
    Binding binding;
    binding.ops = {location::Constant{enumerator.value}};
    return binding;
  }
  return Error{fmt::format("no enumeration of {} has a constant '{}'", path, name), ""};
}

// @enum("NAME"), @enum("NAME", "module")
Result<Binding> bind_enum(TracedWorld& world, const ResolvedPoint* point, const syntax::AtOperation& operation) {
  const auto* name = syntax::as<syntax::String>(operation.arguments[0]);
  if (operation.arguments.size() > 1) {
    const std::string& modules = syntax::as<syntax::String>(operation.arguments[1])->value;
    Error failure;
    for (size_t begin = 0; begin <= modules.size();) {
      size_t end = std::min(modules.find(':', begin), modules.size());
      const std::string given = modules.substr(begin, end - begin), in_kernel = find_kernel_module(world, point, given);
      Result<std::string> path = in_kernel.empty() ? find_module(world, given) : Result<std::string>(in_kernel);
      begin = end + 1;
      Result<Binding> found = path.ok() ? bind_enumerator(world, *path, name->value) : Result<Binding>(path.error());
      if (found.ok()) return found;
      if (failure.message.empty()) failure = std::move(found).error();
    }
    return failure;
  }
  bool probed = point && !point->site.module.empty();
  if (!probed && !world.has_target()) {
    return Error{"@enum needs a module here, as this probe is not on one", "@enum(\"NAME\", \"/bin/program\")"};
  }
  return bind_enumerator(world, probed ? point->site.module : world.program(), name->value);
}

// A name in @const: of the table, else a constant of the kernel's enumerations.
Result<int64_t> constant_of_c(TracedWorld& world, std::string_view name) {
  if (auto known = c_constant(name)) return *known;
  if (name == "sizeof") return Error{"'sizeof' in @const is not available", "@sizeof(\"TYPE\") is a type's size"};
  if (Result<Binding> found = bind_enumerator(world, "kernel", std::string(name)); found.ok())
    return std::get<location::Constant>(found->ops.front()).value;
  const std::string near = nearest_name(name, c_constant_names());
  return Error{fmt::format("unknown constant '{}'", name),
               near.empty() ? "write its value: C headers are not read; known are the constants of the kernel's interface to "
                              "programs and of its enumerations"
                            : "did you mean '" + near + "'?"};
}

// @const("NAME"), @const("O_RDWR | O_CREAT")
Result<Binding> bind_constant(TracedWorld& world, const syntax::AtOperation& operation) {
  TRY(int64_t value, evaluate_c(syntax::as<syntax::String>(operation.arguments[0])->value,
                                [&](std::string_view name) { return constant_of_c(world, name); }));
  return Binding{.ops = {location::Constant{value}}};
}

// The variable that `operand` names, with its path: for its type, so that it need not be readable. `failure`: where it names
// none.
Result<debuginfo::Place> typed_place(TracedWorld& world, const ResolvedPoint* point, bool at_entry,
                                     const syntax::Expression& operand, Error failure) {
  Result<StartPlace> start = std::move(failure);
  std::span<const syntax::PathStep> path;
  if (auto* variable = syntax::as<syntax::TargetVariable>(operand); variable && point && !variable->address_of) {
    start = start_of(world, *point, at_entry, *variable);
    path = variable->path;
  } else if (auto* inner = syntax::as<syntax::AtOperation>(operand); inner && !inner->address_of) {
    start = start_of(world, point, *inner);
    path = inner->path;
  }
  if (!start.ok()) return std::move(start).error();
  // Wherever the variable is, even if nowhere, it has a type.
  if (!start->place.available()) {
    start->place.kind = debuginfo::Place::Kind::kMemory;
    start->place.operations = {location::Constant{0}};
  }
  return walk_path(*start, path);
}

// @sizeof("type"), @sizeof("type", "module"), @sizeof($x->y)
Result<Binding> bind_size(TracedWorld& world, const ResolvedPoint* point, bool at_entry, const syntax::AtOperation& operation) {
  const syntax::Expression& operand = *operation.arguments[0];
  uint64_t size = 0;
  if (operand.kind == syntax::ExpressionKind::kString) {
    TRY(size, size_of_type(world, point, operation));
  } else {
    TRY(debuginfo::Place place, typed_place(world, point, at_entry, operand,
                                            Error{"@sizeof needs a type's name as a literal, or a variable",
                                                  "@sizeof(\"struct node\"), @sizeof($x->next)"}));
    size = place.type.is_reference() ? place.type.target().size() : place.type.size();
  }
  if (size == 0) return Error{"the size of the type is not known", ""};
  Binding binding;
  binding.ops = {location::Constant{static_cast<int64_t>(size)}};
  return binding;
}

// @uderef(size, address), @uregister(number)
Result<Binding> bind_raw(const syntax::AtOperation& operation) {
  auto* number = syntax::as<syntax::Number>(operation.arguments[0]);
  Binding binding;
  if (operation.name == "@uregister") {
    const int64_t most = abi::kConvention.general_registers - 1;
    if (!number || number->value < 0 || number->value > most) {
      std::vector<std::string> names;
      for (int64_t n = 0; n <= most; ++n) names.push_back(fmt::format("{} {}", n, abi::register_name(n)));
      return Error{fmt::format("@uregister needs a register's number in DWARF, 0 to {}", most),
                   fmt::format("{}", fmt::join(names, ", "))};
    }
    binding.ops = {location::Register{number->value}};
    return binding;
  }
  bool sized = number && (number->value == 1 || number->value == 2 || number->value == 4 || number->value == 8);
  if (!sized) return Error{fmt::format("the size in {} must be 1, 2, 4 or 8", operation.name), "@uderef(4, address)"};
  binding.ops = {location::ScriptPointer{}, location::Deref{static_cast<uint8_t>(number->value)}};
  return binding;
}

Result<std::vector<sema::EnumConstant>> constants_in(const debuginfo::Type& type) {
  std::vector<sema::EnumConstant> constants;
  for (const debuginfo::Enumerator& enumerator : type.enumerators()) constants.push_back({enumerator.name, enumerator.value});
  if (constants.empty()) return Error{"the type is not an enumeration", ""};
  return constants;
}

}  // namespace

Result<Binding> bind_in_function(TracedWorld& world, const ResolvedPoint& point, bool at_entry,
                                 const syntax::TargetVariable& variable) {
  if (point.site.mark) {
    Result<Binding> argument = bind_in_mark(world, point, variable);
    // Else a variable of the function that has the mark.
    if (argument.ok() || !names_variable_at_mark(point, variable.name)) return argument;
    auto start = start_of(world, point, at_entry, variable);
    if (!start.ok()) return argument;
    return bind_from(*start, variable.path, variable.address_of, moment_of(point, at_entry));
  }
  if (point.packet) {
    TRY(StartPlace packet, start_in_packet(world, variable.name));
    const bool is_pointer = packet.is_pointee && variable.path.empty();
    return bind_from(packet, variable.path, variable.address_of || is_pointer, moment_of(point, at_entry));
  }
  Result<StartPlace> start = start_of(world, point, at_entry, variable);
  if (!start.ok()) {
    // Constants of enumerations go by their names, too.
    if (variable.path.empty() && !variable.address_of && variable.name != "$return") {
      Result<Binding> constant = bind_enumerator(world, point.site.module, variable.name.substr(1));
      if (constant.ok()) return constant;
    }
    return std::move(start).error();
  }
  return bind_from(*start, variable.path, variable.address_of, moment_of(point, at_entry));
}

Result<Binding> bind_in_function(TracedWorld& world, const ResolvedPoint& point, bool at_entry,
                                 const syntax::AtOperation& operation) {
  if (operation.name == "@uderef" || operation.name == "@uregister") return bind_raw(operation);
  if (operation.name == "@enum") return bind_enum(world, &point, operation);
  if (operation.name == "@sizeof") return bind_size(world, &point, at_entry, operation);
  if (operation.name == "@const") return bind_constant(world, operation);
  if (operation.name == "@kderef" && (point.site.kernel || !point.site.tracepoint.empty())) return bind_raw(operation);
  if (operation.name == "@kderef" || operation.name == "@kregister") {
    return Error{fmt::format("'{}' reads memory or registers of the kernel, but this probe is on a process", operation.name),
                 fmt::format("'@u{}' reads those of the process", operation.name.substr(2))};
  }
  TRY(StartPlace start, start_of(world, &point, operation));
  if (is_plain_cast(operation)) return bind_plain_cast(start);
  return bind_from(start, operation.path, operation.address_of, moment_of(point, at_entry));
}

Result<Binding> bind_anywhere(TracedWorld& world, const syntax::AtOperation& operation) {
  if (operation.name == "@uderef") return bind_raw(operation);
  if (operation.name == "@enum") return bind_enum(world, nullptr, operation);
  if (operation.name == "@sizeof") return bind_size(world, nullptr, false, operation);
  if (operation.name == "@const") return bind_constant(world, operation);
  TRY(StartPlace start, start_of(world, nullptr, operation));
  if (is_plain_cast(operation)) return bind_plain_cast(start);
  return bind_from(start, operation.path, operation.address_of, Moment::kInside);
}

Result<std::vector<sema::EnumConstant>> constants_of(TracedWorld& world, const ResolvedPoint* point,
                                                     const syntax::AtOperation& cast) {
  TRY(StartPlace start, start_of(world, point, cast));
  return constants_in(start.place.type);
}

Result<std::vector<sema::EnumConstant>> constants_of_variable(TracedWorld& world, const ResolvedPoint* point, bool at_entry,
                                                              const syntax::Expression& variable) {
  TRY(debuginfo::Place place, typed_place(world, point, at_entry, variable,
                                          Error{"without a type's name, the value must be a variable of the program",
                                                "@enumname($x), @enumname(value, \"type\")"}));
  return constants_in(place.type.is_reference() ? place.type.target() : place.type);
}

Result<Binding> bind_pointer(TracedWorld& world, const sema::TargetType& type, const syntax::Dereference& dereference) {
  TRY(StartPlace start, start_of(world, type));
  return bind_from(start, dereference.path, dereference.address_of, Moment::kInside);
}

namespace {

// The names of the variables for $$vars, $$parms or $$locals.
std::vector<std::string> names_in(debuginfo::Module& module, const Frame& frame, bool parameters, bool locals) {
  std::vector<std::string> names;
  auto variables = module.variables(frame.function, frame.pc, frame.scope);
  if (!variables.ok()) return names;
  for (const debuginfo::Variable& variable : *variables) {
    bool is_parameter = variable.kind == debuginfo::Variable::Kind::kParameter;
    if (is_parameter ? parameters : locals) names.push_back("$" + variable.name);
  }
  return names;
}

// The same with their types, for -L.
void add_typed(debuginfo::Module& module, const Frame& frame, std::vector<std::string>& texts) {
  auto variables = module.variables(frame.function, frame.pc, frame.scope);
  if (!variables.ok()) return;
  for (const debuginfo::Variable& variable : *variables) {
    // As at the function's first instruction: locals that live nowhere yet are no use there.
    if (variable.kind == debuginfo::Variable::Kind::kLocal && !variable.place.available()) continue;
    texts.push_back("$" + variable.name + ":" + variable.place.type.name());
  }
}

// Parameters and results by the kernel's own type information where it has them, all else by debug information.
std::vector<std::string> variables_in_kernel(TracedWorld& world, const ResolvedPoint& point, const std::string& which) {
  std::vector<std::string> names = kernel_variables(world, point, which);
  const bool all = which == "$$vars", described = knows_kernel_variables(world, point);
  if (which == "$$return" || (described && which != "$$locals")) return names;
  if (const auto where = frame_in_image(world, point))
    names = names_in(*where->image->module, {where->function, where->pc, where->scope}, all || which == "$$parms",
                     all || which == "$$locals");
  return names;
}

}  // namespace

bool knows_function_variables(TracedWorld& world, const ResolvedPoint& point) {
  if (point.site.kernel) return knows_kernel_variables(world, point) || frame_in_image(world, point);
  auto module = world.module(point.site.module);
  return module.ok() && (*module)->has_debug_info();
}

std::vector<std::string> function_variables(TracedWorld& world, const ResolvedPoint& point, const std::string& which) {
  if (point.site.kernel) return variables_in_kernel(world, point, which);
  if (point.site.mark && (which != "$$locals" || point.site.mark->provider.empty())) return mark_variables(point, which);
  auto module = world.module(point.site.module);
  if (!module.ok() || !(*module)->has_debug_info()) return {};
  std::vector<std::string> names;
  bool all = which == "$$vars", parameters = all || which == "$$parms", locals = all || which == "$$locals";
  if (point.site.mark) parameters = locals;  // $$parms are the mark's own
  if (parameters || locals)
    for (const Frame& frame : frames_of(**module, point))
      for (std::string& name : names_in(**module, frame, parameters, locals))
        if (std::ranges::count(names, name) == 0) names.push_back(std::move(name));
  bool returns = point.kind == ProbeKind::kFunctionReturn && (all || which == "$$return");
  if (returns && (*module)->return_value(point.site.address).ok()) names.emplace_back("$return");
  return names;
}

void describe_function(TracedWorld& world, ResolvedPoint& point) {
  if (point.site.line > 0 || point.kind == ProbeKind::kStatement || point.site.kernel) return;
  auto module = world.module(point.site.module);
  if (!module.ok() || !(*module)->has_debug_info()) return;
  auto place = (*module)->declaration(point.site.address);
  if (!place.ok() || place->line <= 0) return;
  point.site.source_file = place->file;
  point.site.line = place->line;
  // ...function("NAME") becomes ...function("NAME@FILE:LINE"); what follows stays.
  std::string plain = fmt::format(".function({})", syntax::quoted(point.site.function));
  size_t at = point.text.find(plain);
  if (at == std::string::npos) return;
  const std::string with_place = point.site.function + fmt::format("@{}:{}", place->file, place->line);
  point.text.replace(at, plain.size(), fmt::format(".function({})", syntax::quoted(with_place)));
}

std::vector<std::string> typed_function_variables(TracedWorld& world, const ResolvedPoint& point) {
  if (point.site.kernel) {
    std::vector<std::string> texts = typed_kernel_variables(world, point);
    if (knows_kernel_variables(world, point)) return texts;
    if (const auto where = frame_in_image(world, point))
      add_typed(*where->image->module, {where->function, where->pc, where->scope}, texts);
    return texts;
  }
  if (point.site.mark) {
    std::vector<std::string> texts;
    for (const std::string& name : mark_variables(point, "$$vars")) texts.push_back(name + ":long");
    return texts;
  }
  auto module = world.module(point.site.module);
  if (!module.ok() || !(*module)->has_debug_info()) return {};
  std::vector<std::string> texts;
  if (point.kind == ProbeKind::kFunctionReturn) {
    auto result = (*module)->return_value(point.site.address);
    if (result.ok()) texts.push_back("$return:" + result->type.name());
    for (size_t i = 1; result.ok() && point.site.go; ++i) {
      auto further = (*module)->return_value(point.site.address, i);
      if (!further.ok()) break;
      texts.push_back(fmt::format("$r{}:{}", i, further->type.name()));
    }
  }
  add_typed(**module, frame_of(point), texts);
  return texts;
}

}  // namespace spile::probes
