#include "probes/world/kernel_types.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.h"
#include "debuginfo/conventions/calling_convention.h"
#include "debuginfo/terms/names.h"
#include "probes/terms/system_call_parameters.h"

namespace spile::probes {

namespace {

using kernelinfo::Btf;
using sema::ProbeKind;
using sema::ResolvedPoint;

constexpr char kPrefix[] = "kernel:";

std::vector<debuginfo::Place> places_of(const Btf::Function& function) {
  std::vector<debuginfo::PassedParameter> passed;
  for (const Btf::Parameter& parameter : function.parameters) passed.push_back({parameter.type, false});
  return debuginfo::parameter_places(function.returned, passed);
}

Result<Btf::Function> function_of(TracedWorld& world, const ResolvedPoint& point) {
  const sema::KernelFunction& place = *point.site.kernel;
  if (place.symbol.empty() || place.offset != 0 || point.site.scope != 0)
    return Error{"variables are known at the entry and the return of a function only", "use kernel.function(\"NAME\")"};
  TRY(std::shared_ptr<Btf> types, kernel_types(world, point.site.module));
  if (std::optional<Btf::Function> found = types->function(place.symbol)) return *found;
  if (debuginfo::clone_name(place.symbol).specialised)
    return Error{fmt::format("the parameters of '{}' are not known: the compiler made a copy of the function for some of its "
                             "callers, with parameters of its own",
                             place.symbol),
                 "use int_arg(1), pointer_arg(2) ..., if you know its machine code"};
  return Error{fmt::format("the kernel's type information does not describe the function '{}'", place.symbol),
               "use int_arg(1), pointer_arg(2) ..., and returnval() at returns"};
}

// What a program passes to a system call, if the function is one: its own parameter is where the program's registers were saved.
// No value: another function.
std::optional<std::vector<SystemCallParameter>> passed_by_program(const Btf::Function& function) {
  constexpr std::string_view kCallPrefix = "__x64_sys_";
  if (!function.name.starts_with(kCallPrefix) || function.parameters.size() != 1) return std::nullopt;
  return system_call_parameters(std::string_view(function.name).substr(kCallPrefix.size()));
}

const char* type_name_of(const SystemCallParameter& parameter) {
  if (parameter.bytes == 8) return "long unsigned int";
  if (parameter.bytes == 2) return "short unsigned int";
  return parameter.is_signed ? "int" : "unsigned int";
}

// Where the program's register for parameter `index` was saved. arch/x86/include/asm/syscall_wrapper.h
Result<debuginfo::Place> place_passed_by_program(Btf& types, const Btf::Function& function, const SystemCallParameter& parameter,
                                                 size_t index) {
  constexpr std::string_view kSaved[] = {"di", "si", "dx", "r10", "r8", "r9"};
  const std::optional<debuginfo::Type> registers = types.type_named("pt_regs");
  const std::optional<debuginfo::Member> saved =
      registers && index < std::size(kSaved) ? registers->member(kSaved[index]) : std::nullopt;
  const std::optional<debuginfo::Type> type = types.type_named(type_name_of(parameter));
  if (!saved || !type)
    return Error{fmt::format("where '{}' has its parameters is not in the kernel's type information", function.name),
                 "$regs is the address of the program's registers"};
  std::vector<debuginfo::Place> places = places_of(function);
  debuginfo::Place place;
  place.kind = debuginfo::Place::Kind::kMemory;
  place.operations = places[0].operations;
  place.operations.emplace_back(location::PlusConstant{static_cast<int64_t>(saved->offset)});
  place.type = *type;
  return place;
}

// Parameters that the same functions had by other names in older kernels, which scripts still use.
constexpr std::pair<std::string_view, std::string_view> kFormerNames[] = {{"$cachep", "$s"},           {"$s", "$cachep"},
                                                                          {"$q", "$wq_head"},          {"$wait", "$wq_entry"},
                                                                          {"$gfp_flags", "$gfpflags"}, {"$gfp_mask", "$gfp"}};

// Bytes up to the next symbol, which is all that the kernel knows about a variable's size. "x_64" at the address of "x" says it
// itself.
uint64_t size_of(const kernelinfo::Symbols& symbols, const kernelinfo::Symbol& variable) {
  uint64_t next = ~uint64_t{0};
  for (const kernelinfo::Symbol& symbol : symbols.all()) {
    if (symbol.address == variable.address && symbol.name == std::string(variable.name) + "_64") return 8;
    if (symbol.address > variable.address) next = std::min(next, symbol.address);
  }
  return next - variable.address;
}

bool is_at_return(const ResolvedPoint& point, bool at_entry) { return point.kind == ProbeKind::kFunctionReturn && !at_entry; }

}  // namespace

std::string loaded_module(const std::string& module) {
  return module.starts_with(kPrefix) ? module.substr(sizeof kPrefix - 1) : std::string();
}

bool is_kernel_module(const std::string& module) { return module == "kernel" || module.starts_with(kPrefix); }

bool is_of_kernel(const std::string& module) { return is_kernel_module(module) || module.starts_with(kKernelImage); }

std::string find_kernel_module(TracedWorld& world, const ResolvedPoint* point, const std::string& name) {
  // "kernel<struct sock>" names the type once more, as SystemTap's scripts may have a header there.
  if (name == "kernel" || name.starts_with("kernel<")) return "kernel";
  const bool in_kernel = point && is_kernel_module(point->site.module);
  return in_kernel ? kernel_module_named(world, name) : std::string();
}

std::string kernel_module_named(TracedWorld& world, const std::string& name) {
  return world.kernel().has_module(name) ? kPrefix + name : std::string();
}

Result<std::shared_ptr<Btf>> kernel_types(TracedWorld& world, const std::string& module) {
  return world.kernel().types(loaded_module(module));
}

Result<debuginfo::Type> kernel_type(TracedWorld& world, const std::string& module, const std::string& name) {
  TRY(std::shared_ptr<Btf> types, kernel_types(world, module));
  if (std::optional<debuginfo::Type> found = types->type_named(name)) return *found;
  // "struct " is right: what is misspelled is what follows.
  const std::string keyword = name.substr(0, name.rfind(' ') + 1);
  std::vector<std::string> names;
  for (const std::string& each : types->type_names()) {
    if (each.starts_with(keyword)) names.push_back(each.substr(keyword.size()));
  }
  const std::string near = nearest_name(name.substr(keyword.size()), names);
  return Error{fmt::format("the kernel has no type '{}'", name),
               near.empty() ? "" : fmt::format("did you mean '{}{}'?", keyword, near)};
}

Result<debuginfo::Place> place_in_kernel(TracedWorld& world, const ResolvedPoint& point, bool at_entry,
                                         const syntax::TargetVariable& variable) {
  TRY(Btf::Function function, function_of(world, point));
  if (variable.name == "$return") {
    if (!is_at_return(point, at_entry)) return Error{"$return is only known in .return probes, outside of @entry", ""};
    if (function.returned.kind() == debuginfo::TypeKind::kVoid)
      return Error{fmt::format("the function '{}' returns nothing", function.name), ""};
    return debuginfo::return_place(function.returned);
  }
  std::vector<std::string> names;
  if (const auto passed = passed_by_program(function)) {
    for (size_t i = 0; i < passed->size(); ++i) {
      names.push_back(fmt::format("${}", (*passed)[i].name));
      if (names.back() != variable.name) continue;
      TRY(std::shared_ptr<Btf> types, kernel_types(world, point.site.module));
      return place_passed_by_program(*types, function, (*passed)[i], i);
    }
  }
  std::vector<debuginfo::Place> places = places_of(function);
  for (size_t i = 0; i < places.size(); ++i) {
    if (function.parameters[i].name.empty()) continue;
    names.push_back("$" + function.parameters[i].name);
    if (names.back() == variable.name) return std::move(places[i]);
  }
  for (const auto& [former, name] : kFormerNames) {
    const auto same = [&](const Btf::Parameter& parameter) { return "$" + parameter.name == name; };
    const auto found = former == variable.name ? std::ranges::find_if(function.parameters, same) : function.parameters.end();
    if (found != function.parameters.end()) return std::move(places[static_cast<size_t>(found - function.parameters.begin())]);
  }
  std::string near = nearest_name(variable.name, names);
  return Error{fmt::format("the function '{}' has no parameter '{}'", function.name, variable.name.substr(1)),
               !near.empty() ? fmt::format("did you mean '{}'?", near)
               : names.empty()
                   ? ""
                   : fmt::format("it has: {}; local variables are not in the kernel's type information", fmt::join(names, ", "))};
}

Error no_kernel_variable(const kernelinfo::Symbols& symbols, const std::string& loaded, const std::string& name) {
  std::vector<std::string> names;
  bool is_function = false;
  for (const kernelinfo::Symbol& symbol : symbols.all()) {
    if (symbol.module != loaded) continue;
    if (symbol.is_code()) is_function |= symbol.name == name;
    // Of each kernel, the linker's marks between its sections are listed.
    else if (std::string_view("dDbBrRA").find(symbol.type) != std::string_view::npos && !symbol.name.starts_with("__"))
      names.emplace_back(symbol.name);
  }
  const std::string message =
      fmt::format("no variable '{}' in {}", name, loaded.empty() ? "this kernel" : "the module " + loaded);
  if (is_function)
    return {fmt::format("'{}' is a function of the kernel", name), fmt::format("kernel.function(\"{}\") probes its calls", name)};
  constexpr size_t kFew = 1'000;  // where the kernel lists its variables, there are some 20,000
  if (loaded.empty() && symbols.all().size() > 20 * kFew && names.size() < kFew)
    return {message, "this kernel lists its functions only: it was built without CONFIG_KALLSYMS_ALL"};
  const std::string near = nearest_name(name, names);
  return {message, near.empty() ? "" : fmt::format("did you mean '{}'?", near)};
}

Result<debuginfo::Place> place_of_kernel_variable(TracedWorld& world, const std::string& module, const std::string& name,
                                                  bool address_of) {
  const std::string plain = name.substr(0, name.find('@'));
  TRY(const kernelinfo::Symbols* symbols, world.kernel().symbols());
  std::vector<kernelinfo::Symbol> found = symbols->named(plain, loaded_module(module));
  std::erase_if(found, [](const kernelinfo::Symbol& symbol) { return symbol.is_code(); });
  if (found.empty()) return no_kernel_variable(*symbols, loaded_module(module), plain);
  if (found.size() > 1)
    return Error{fmt::format("the kernel has {} variables '{}', which its symbols don't distinguish", found.size(), plain), ""};
  if (found[0].address == 0)
    return Error{fmt::format("the kernel hides the address of '{}'", plain),
                 world.kernel().kptr_restrict() > 1 ? "as root: sysctl kernel.kptr_restrict=1" : "run as root"};
  TRY(std::shared_ptr<Btf> types, kernel_types(world, module));
  if (types->variable(plain))
    return Error{fmt::format("'{}' is a variable of which each CPU has its own: these can't be read by name", plain), ""};
  debuginfo::Place place;
  place.kind = debuginfo::Place::Kind::kMemory;
  place.operations = {location::Constant{static_cast<int64_t>(found[0].address)}};
  const uint64_t size = size_of(*symbols, found[0]);
  std::optional<debuginfo::Type> type;
  if (size == 8) type = types->type_named("long int");
  if (size == 4) type = types->type_named("int");
  // Of another size, only the address can be had: &@var("init_task").
  if (type) place.type = *type;
  else if (!address_of)
    return Error{
        fmt::format("the type of '{}' is not known: the kernel describes types of functions and of variables of CPUs only",
                    plain),
        fmt::format("read it by its address: kernel_long(&@var(\"{}{}\")), or @cast(&@var(...), \"TYPE\", \"kernel\")", plain,
                    name.ends_with("@kernel") ? "@kernel" : "")};
  return place;
}

std::vector<std::string> kernel_variables(TracedWorld& world, const ResolvedPoint& point, const std::string& which) {
  std::vector<std::string> names;
  Result<Btf::Function> function = function_of(world, point);
  if (!function.ok()) return names;
  const bool all = which == "$$vars";
  const auto passed = passed_by_program(*function);
  if (passed && (all || which == "$$parms")) {
    for (const SystemCallParameter& parameter : *passed) names.push_back(fmt::format("${}", parameter.name));
  } else if (all || which == "$$parms") {
    for (const Btf::Parameter& parameter : function->parameters) {
      if (!parameter.name.empty()) names.push_back("$" + parameter.name);
    }
  }
  const bool returns = point.kind == ProbeKind::kFunctionReturn && function->returned.kind() != debuginfo::TypeKind::kVoid;
  if ((all || which == "$$return") && returns) names.emplace_back("$return");
  return names;
}

std::vector<std::string> typed_kernel_variables(TracedWorld& world, const ResolvedPoint& point) {
  std::vector<std::string> texts;
  Result<Btf::Function> function = function_of(world, point);
  if (!function.ok()) return texts;
  if (point.kind == ProbeKind::kFunctionReturn && function->returned.kind() != debuginfo::TypeKind::kVoid)
    texts.push_back("$return:" + function->returned.name());
  if (const auto passed = passed_by_program(*function)) {
    for (const SystemCallParameter& parameter : *passed)
      texts.push_back(fmt::format("${}:{}", parameter.name, type_name_of(parameter)));
  }
  for (const Btf::Parameter& parameter : function->parameters) {
    if (!parameter.name.empty()) texts.push_back("$" + parameter.name + ":" + parameter.type.name());
  }
  return texts;
}

bool knows_kernel_variables(TracedWorld& world, const ResolvedPoint& point) { return function_of(world, point).ok(); }

}  // namespace spile::probes
