// bind-dereferences: `p->next->value` where p is a script variable. The type of what p points to comes from where its
// value came from: a $variable, @cast, @var, or another dereference; it flows through assignments, parameters, results of
// functions, elements and keys of arrays, and values saved at a function's entry, until nothing changes. A variable that
// gets values of two different types has no type to follow.

#include <fmt/format.h>

#include <algorithm>

#include "sema/terms/elaboration.h"
#include "sema/terms/target_texts.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

// Where a type can be kept: a local, a global's value, one key of an array, a function's result.
using Entity = std::pair<const void*, size_t>;

class PointerFlow {
 public:
  explicit PointerFlow(Elaboration& e) : e_(e) {}

  void run() {
    do {
      changed_ = false;
      each_body([&] { walk(); });
    } while (changed_);
    reporting_ = true;
    each_body([&] { walk(); });
    for (const Entity& entity : pointers_) e_.pointers.insert({static_cast<const Global*>(entity.first), entity.second});
  }

 private:
  struct Known {
    TargetType type;
    bool mixed = false;
  };

  template <typename F>
  void each_body(F&& f) {
    for (Probe& probe : e_.program.probes) {
      probe_ = &probe;
      f();
    }
    probe_ = nullptr;
    for (Function* function : e_.program.functions) {
      function_ = function;
      f();
    }
    function_ = nullptr;
  }

  void walk() {
    if (function_) {
      if (function_->body) visit(function_->body);
      return;
    }
    for (ExpressionPtr& save : probe_->entry_saves) visit(save);
    if (probe_->condition) visit(probe_->condition);
    for (StatementPtr& statement : probe_->body->statements) visit(statement);
  }

  std::vector<Binding>& bindings() {
    return probe_ ? probe_->bindings : e_.program.function_bindings[static_cast<size_t>(function_->index)];
  }

  // ---- what is known
  static Entity entity_of(const Variable& variable) {
    return variable.global ? Entity{variable.global, 0} : Entity{variable.local, 0};
  }
  TargetType known(const Entity& entity) const {
    auto found = known_.find(entity);
    if (found != known_.end() && !found->second.mixed) return found->second.type;
    return pointers_.count(entity) ? TargetType{"?", ""} : TargetType{};
  }
  void flow(const TargetType& type, const Entity& entity) {
    // The type of a void* is unknown; only its module is known.
    if (!type.module.empty() && pointers_.insert(entity).second) changed_ = true;
    if (!type) return;
    auto [found, added] = known_.try_emplace(entity, Known{type, false});
    if (added) {
      changed_ = true;
    } else if (!found->second.mixed && !(found->second.type == type)) {
      found->second.mixed = changed_ = true;
    }
  }

  // ---- statements
  void visit(StatementPtr& slot) {
    if (auto* leave = as<Return>(slot); leave && leave->value && function_) {
      flow(visit(leave->value), {function_, 0});
      return;
    }
    if (auto* loop = as<Foreach>(slot); loop && loop->array && loop->array->global) {
      for (size_t i = 0; i < loop->keys.size(); ++i) {
        flow(known({loop->array->global, i + 1}), entity_of(*loop->keys[i]));
      }
      if (loop->value) flow(known({loop->array->global, 0}), entity_of(*loop->value));
    }
    for_each_slot(*slot, [&](ExpressionPtr& child) { visit(child); });
    for_each_statement(*slot, [&](StatementPtr& child) { visit(child); });
  }

  // ---- expressions: the type of the value, empty for plain ones
  TargetType visit(ExpressionPtr& slot) {
    switch (slot->kind) {
      case ExpressionKind::kVariable: return known(entity_of(static_cast<Variable&>(*slot)));
      case ExpressionKind::kIndex: {
        auto& index = static_cast<Index&>(*slot);
        visit_keys(index);
        return known({index.array->global, 0});
      }
      case ExpressionKind::kTargetVariable: visit_children(*slot); return type_of(static_cast<TargetVariable&>(*slot).binding);
      case ExpressionKind::kAtOperation: visit_children(*slot); return type_of(static_cast<AtOperation&>(*slot).binding);
      case ExpressionKind::kEntryValue: {
        auto& save = probe_->entry_saves[static_cast<size_t>(static_cast<EntryValue&>(*slot).index)];
        return visit(save);
      }
      case ExpressionKind::kTernary: {
        auto& ternary = static_cast<Ternary&>(*slot);
        visit(ternary.condition);
        TargetType type = visit(ternary.if_true), other = visit(ternary.if_false);
        return !type || type == other ? (other ? other : type) : !other ? type : TargetType{"?", ""};
      }
      case ExpressionKind::kAssignment: return visit_assignment(static_cast<Assignment&>(*slot));
      case ExpressionKind::kCall: return visit_call(static_cast<Call&>(*slot));
      case ExpressionKind::kDereference: return visit_dereference(slot);
      default: visit_children(*slot); return {};
    }
  }

  void visit_children(Expression& x) {
    for_each_slot(x, [&](ExpressionPtr& child) { visit(child); });
  }

  void visit_keys(Index& index) {
    for (size_t i = 0; i < index.indexes.size(); ++i) {
      if (index.indexes[i]) flow(visit(index.indexes[i]), {index.array->global, i + 1});
    }
  }

  TargetType type_of(int binding) { return binding < 0 ? TargetType{} : bindings()[static_cast<size_t>(binding)].target_type; }

  TargetType visit_assignment(Assignment& assignment) {
    TargetType type = visit(assignment.value);
    visit(assignment.target);
    if (assignment.op != Assignment::Operator::kSet) return {};
    if (auto* variable = as<Variable>(assignment.target)) flow(type, entity_of(*variable));
    if (auto* index = as<Index>(assignment.target)) flow(type, {index->array->global, 0});
    return type;
  }

  TargetType visit_call(Call& call) {
    for (size_t i = 0; i < call.arguments.size(); ++i) {
      TargetType type = visit(call.arguments[i]);
      for_each_callee(call, [&](Function& callee) { flow(type, {callee.parameters[i].get(), 0}); });
    }
    return call.function ? known({call.function, 0}) : TargetType{};
  }

  TargetType visit_dereference(ExpressionPtr& slot) {
    auto& dereference = static_cast<Dereference&>(*slot);
    TargetType pointer = visit(dereference.pointer);
    for (PathStep& step : dereference.path) {
      if (step.expression) visit(step.expression);
    }
    if (dereference.binding >= 0) return type_of(dereference.binding);
    if (!pointer) {
      if (reporting_) unknown(dereference);
      return {};
    }
    if (is_pretty(dereference.path)) {
      expand_pretty(slot, pointer);
      return {};
    }
    Result<Binding> binding = e_.target.bind_dereference(pointer, dereference);
    if (!binding.ok()) {
      if (reporting_) report(dereference, binding.error().message, binding.error().hint);
      return {};
    }
    dereference.binding = static_cast<int>(bindings().size());
    bindings().push_back(std::move(*binding));
    changed_ = true;
    return bindings().back().target_type;
  }

  void expand_pretty(ExpressionPtr& slot, const TargetType& pointer) {
    auto& dereference = static_cast<Dereference&>(*slot);
    bool deep = dereference.path.back().kind == PathStep::Kind::kPrettyDeep;
    ExpressionPtr base = without_pretty(dereference);
    auto parts = e_.target.pretty_dereference(pointer, static_cast<Dereference&>(*base), deep);
    if (!parts.ok()) {
      if (reporting_) report(dereference, parts.error().message, parts.error().hint);
      return;
    }
    slot = sprintf_of(*base, *parts, domain(), e_.program.limits);
    changed_ = true;
    visit_children(*slot);
  }

  // A function's body serves all places where it is called.
  Domain domain() const {
    if (probe_) return probe_->domain;
    auto in_kernel = [](const Probe& probe) { return probe.domain == Domain::kKernel; };
    const auto& probes = e_.program.probes;
    return std::any_of(probes.begin(), probes.end(), in_kernel) ? Domain::kKernel : Domain::kTarget;
  }

  void unknown(const Dereference& dereference) {
    const auto* index = as<Index>(dereference.pointer);
    const bool is_element = index && !dereference.path.empty() && dereference.path.front().kind != PathStep::Kind::kMember;
    report(dereference, "'->' and '[]' need a pointer of known type, and the type this value points to is unknown",
           is_element ? "several subscripts are separated by commas: " + index->array->name +
                            "[k1, k2]; or name the type: @cast(pointer, \"type\", \"module\")[0]"
                      : "name the type: @cast(pointer, \"type\", \"module\")->member");
  }

  void report(const Dereference& dereference, std::string message, std::string hint) {
    // One body may stand in many probes.
    if (!told_.insert({dereference.range.file, dereference.range.begin}).second) return;
    e_.diagnostics.error(dereference.range, std::move(message)).hint(std::move(hint));
  }

  Elaboration& e_;
  Probe* probe_ = nullptr;
  Function* function_ = nullptr;
  bool changed_ = false;
  bool reporting_ = false;
  std::map<Entity, Known> known_;
  std::set<Entity> pointers_;
  std::set<std::pair<const SourceFile*, uint32_t>> told_;
};

}  // namespace

void bind_dereferences(Elaboration& e) { PointerFlow(e).run(); }

}  // namespace spile::sema
