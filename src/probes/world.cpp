// TargetInfo over the real world: asks the families, and hands on to where each kind of point has its variables.

#include <fmt/format.h>

#include <set>

#include "probes/binding/bind_function.h"
#include "probes/binding/pretty.h"
#include "probes/kernel/kernel_trace.h"
#include "probes/kernel/netfilter.h"
#include "probes/kernel/start_place.h"
#include "probes/process/process_lifecycle.h"
#include "probes/terms/family.h"
#include "probes/terms/probes.h"
#include "probes/world/traced_world.h"
#include "syntax/visitor.h"

namespace spile::probes {

namespace {

using sema::Binding;
using sema::ProbeKind;
using sema::ResolvedPoint;
using sema::Variables;

Variables variables_of(const ResolvedPoint& point) { return sema::info(point.kind).variables; }

// Whether handlers in the kernel compare the process's program.
bool is_life_of_program(const ResolvedPoint& point) {
  return sema::info(point.kind).source == sema::Source::kWatch && point.domain == sema::Domain::kKernel &&
         !point.site.module.empty();
}

// The variable of the probed place that @var("name") may mean; null: another operation, or one that says where the variable is.
std::unique_ptr<syntax::TargetVariable> local_of(const syntax::AtOperation& operation) {
  if (operation.name != "@var" || operation.arguments.size() != 1) return nullptr;
  const auto* name = syntax::as<syntax::String>(operation.arguments[0]);
  if (!name || name->value.find('@') != std::string::npos) return nullptr;
  syntax::ExpressionPtr copy = syntax::clone(operation);
  auto variable = std::make_unique<syntax::TargetVariable>(operation.range);
  variable->name = "$" + name->value;
  variable->path = std::move(static_cast<syntax::AtOperation&>(*copy).path);
  variable->address_of = operation.address_of;
  return variable;
}

class RealWorld : public World {
 public:
  explicit RealWorld(const WorldOptions& options) : world_(options) {}

  Result<void> find_program() {
    TRY_DO(world_.find_program());
    choose_runtime({}, false);
    return {};
  }

  void choose_runtime(const std::vector<const syntax::ProbePoint*>& points, bool asks_for_kernel) override {
    world_.choose_runtime(points, asks_for_kernel);
  }
  bool may_probe_kernel() const override { return world_.options().may_probe_kernel && world_.options().may_probe_kernel(); }
  bool can_mix() const override { return world_.can_mix(); }

  ModuleFiles module_files() const override { return world_.module_files(); }
  void save_answers() override { world_.save_answers(); }
  Result<std::shared_ptr<debuginfo::Module>> module_named(const std::string& name) override {
    TRY(const std::string path, find_module(world_, name));
    return world_.module(path);
  }
  kernelinfo::Features kernel_features(bool asks_members) override {
    return asks_kernel_ || asks_members ? world_.kernel().features() : kernelinfo::Features();
  }
  std::vector<std::string> remarks() const override { return {world_.remarks().begin(), world_.remarks().end()}; }
  std::vector<std::string> unprintable() const override { return {world_.unprintable().begin(), world_.unprintable().end()}; }
  std::vector<std::string> left_out() const override { return {world_.left_out().begin(), world_.left_out().end()}; }

  Result<Points> resolve(const syntax::ProbePoint& point) override {
    for (const Family* family : families()) {
      if (!family->takes(point)) continue;
      Result<Points> points = family->resolve(world_, point);
      if (points.ok()) asks_kernel_ |= points->front().site.kernel || is_life_of_program(points->front());
      return points;
    }
    return Error{fmt::format("unknown probe point '{}'", text_of(point)), ""};
  }

  void choose_variables(ResolvedPoint& point, const std::vector<const syntax::TargetVariable*>& read) override {
    choose_tracepoint_variables(world_, point, read);
  }

  Result<Binding> bind(const ResolvedPoint& point, bool at_entry, const syntax::TargetVariable& variable) override {
    if (point.packet) return bind_in_function(world_, point, at_entry, variable);
    switch (variables_of(point)) {
      case Variables::kSystemCall: return bind_in_system_call(point, variable);
      case Variables::kRecord:
        return point.site.by_arguments ? bind_in_function(world_, point, at_entry, variable)
                                       : bind_in_tracepoint(world_, point, variable);
      default: return bind_in_function(world_, point, at_entry, variable);
    }
  }

  // @var("name") is $name where the point has it.
  Result<Binding> bind(const ResolvedPoint& point, bool at_entry, const syntax::AtOperation& operation) override {
    if (auto local = local_of(operation)) {
      Result<Binding> binding = bind(point, at_entry, *local);
      if (binding.ok()) return binding;
    }
    return bind_in_function(world_, point, at_entry, operation);
  }

  Result<Binding> bind_dereference(const sema::TargetType& pointer, const syntax::Dereference& dereference) override {
    return bind_pointer(world_, pointer, dereference);
  }

  Result<Binding> bind_without_point(const syntax::AtOperation& operation) override { return bind_anywhere(world_, operation); }

  Result<std::vector<sema::EnumConstant>> constants(const ResolvedPoint* point, const syntax::AtOperation& cast) override {
    return probes::constants_of(world_, point, cast);
  }
  Result<std::vector<sema::EnumConstant>> constants_of(const ResolvedPoint* point, bool at_entry,
                                                       const syntax::Expression& variable) override {
    return constants_of_variable(world_, point, at_entry, variable);
  }

  Result<std::vector<sema::PrettyPart>> pretty(const ResolvedPoint& point, bool at_entry, const syntax::Expression& expression,
                                               bool deep) override {
    return pretty_parts(world_, point, at_entry, expression, deep);
  }

  Result<std::vector<sema::PrettyPart>> pretty_dereference(const sema::TargetType& pointer,
                                                           const syntax::Dereference& dereference, bool deep) override {
    return pretty_parts(world_, pointer, dereference, deep);
  }

  Result<std::vector<sema::PrettyPart>> pretty_without_point(const syntax::AtOperation& operation, bool deep) override {
    return pretty_parts(world_, operation, deep);
  }

  Result<std::string> constant_text(const ResolvedPoint& point, const std::string& name) override {
    return mark_text(point, name);
  }

  std::vector<std::string> variables(const ResolvedPoint& point, const std::string& which) override {
    if (point.packet) return which == "$$vars" || which == "$$parms" ? packet_variables(false) : std::vector<std::string>();
    switch (variables_of(point)) {
      case Variables::kSystemCall: return system_call_variables(point, which);
      case Variables::kRecord:
        return which == "$$vars" || which == "$$parms" ? tracepoint_variables(world_, point, false) : std::vector<std::string>{};
      default: return function_variables(world_, point, which);
    }
  }

  bool knows_variables(const ResolvedPoint& point) override {
    const Variables variables = variables_of(point);
    if (variables == Variables::kSystemCall || variables == Variables::kRecord || point.site.mark) return true;
    return knows_function_variables(world_, point);
  }

  Error needs_debug_info(const ResolvedPoint& point, const std::string& what, const std::string& instead) override {
    auto module = world_.module(point.site.module);
    return module.ok() ? (*module)->needs_debug_info(what, instead) : sema::TargetInfo::needs_debug_info(point, what, instead);
  }

  std::string where_readable(const ResolvedPoint& point, const syntax::TargetVariable& variable) override {
    return probes::where_readable(world_, point, variable);
  }

  void describe(ResolvedPoint& point) override {
    bool in_function = point.kind == ProbeKind::kFunctionEntry || point.kind == ProbeKind::kFunctionReturn;
    if (in_function && !point.site.mark) describe_function(world_, point);
  }

  std::vector<std::string> known_components(const syntax::ProbePoint& point, size_t index) override {
    std::vector<std::string> names;
    for (const Family* family : families()) {
      if (index == 0 && *family->name) names.emplace_back(family->name);
      if (index == 0 || family->name != point.components[0].name) continue;
      for (std::string& name : family->components(point, index)) names.push_back(std::move(name));
    }
    return names;
  }

  Result<std::vector<ListedPoint>> list(const syntax::ProbePoint& pattern, bool with_variables) override {
    TRY(Points points, resolve(pattern));
    std::vector<ListedPoint> listed;
    std::set<std::pair<std::string, std::vector<std::string>>> seen;  // inlined calls have the same text
    for (ResolvedPoint& point : points) {
      describe(point);
      ListedPoint one;
      one.text = point.text;
      one.function = point.site.function;
      if (with_variables) one.variables = typed_variables(point);
      if (seen.insert({one.text, one.variables}).second) listed.push_back(std::move(one));
    }
    return listed;
  }

  std::vector<std::string> typed_variables(const ResolvedPoint& point) override {
    std::vector<std::string> typed;
    switch (variables_of(point)) {
      case Variables::kNone: return {};
      case Variables::kFunction: return typed_function_variables(world_, point);
      case Variables::kRecord: return point.packet ? packet_variables(true) : tracepoint_variables(world_, point, true);
      case Variables::kSystemCall:
        for (const std::string& name : system_call_variables(point, "$$vars")) typed.push_back(name + ":long");
        return typed;
    }
    return {};
  }

 private:
  TracedWorld world_;
  bool asks_kernel_ = false;  // a point is on a function of the kernel, or of one program's processes
};

}  // namespace

Result<std::unique_ptr<World>> World::open(const WorldOptions& options) {
  auto world = std::make_unique<RealWorld>(options);
  TRY_DO(world->find_program());
  return std::unique_ptr<World>(std::move(world));
}

}  // namespace spile::probes
