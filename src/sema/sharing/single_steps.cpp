#include "sema/sharing/single_steps.h"

#include <map>

#include "sema/sharing/global_uses.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

const Global* scalar_of(const Expression& x) {
  const auto* variable = as<Variable>(x);
  return variable ? variable->global : nullptr;
}

bool is_one_step(const Assignment& assignment) {
  const bool adds = assignment.arithmetic == Binary::Operator::kAdd || assignment.arithmetic == Binary::Operator::kSubtract;
  return assignment.op == Assignment::Operator::kSet || (assignment.op == Assignment::Operator::kArithmetic && adds);
}

// Counts the places of one handler at which it uses each global, several where one may run more than once or takes more than a
// step.
class Steps {
 public:
  void visit(const Statement& s, bool repeated) {
    if (const auto* removal = as<Delete>(s)) exclude(*removal->target);
    if (const auto* code = as<EmbeddedStatement>(s)) exclude(code->globals);
    repeated |= s.kind == StatementKind::kWhile || s.kind == StatementKind::kFor || s.kind == StatementKind::kForeach;
    for_each_child(s, [&](const Expression& x) { visit(x, repeated); });
    for_each_statement(s, [&](const Statement& inner) { visit(inner, repeated); });
  }
  void visit(const Expression& x, bool repeated) {
    for_each_expression(x, [&](const Expression& e) {
      if (const Global* global = scalar_of(e)) places_[global] += repeated ? kMany : 1;
      if (const auto* assignment = as<Assignment>(e); assignment && !is_one_step(*assignment)) exclude(*assignment->target);
      if (const auto* code = as<Embedded>(e)) exclude(code->globals);
    });
  }
  const std::map<const Global*, int>& places() const { return places_; }

  static constexpr int kMany = 2;

 private:
  void exclude(const Expression& target) {
    if (const Global* global = scalar_of(target)) places_[global] = kMany;
  }
  void exclude(const EmbeddedGlobals& globals) {
    for (const Global* global : globals.read) places_[global] = kMany;
    for (const Global* global : globals.written) places_[global] = kMany;
  }

  std::map<const Global*, int> places_;
};

}  // namespace

bool runs_apart(const Probe& probe, bool written) {
  return probe.kind == ProbeKind::kBegin || (!written && (probe.kind == ProbeKind::kEnd || probe.kind == ProbeKind::kError));
}

std::set<const Global*> numbers_of_one_step(const Program& program) {
  std::set<const Global*> numbers;
  for (const Global* global : program.globals) {
    if (!global->is_array && global->type == ValueType::kLong) numbers.insert(global);
  }
  GlobalUses found;
  for (const Probe& probe : program.probes) {
    if (probe.kind == ProbeKind::kNever) continue;
    Steps steps;
    if (probe.condition) steps.visit(*probe.condition, false);
    for (const ExpressionPtr& save : probe.entry_saves) steps.visit(*save, true);
    steps.visit(*probe.body, false);
    const Touches touches = found.of(probe);
    for (const auto& [global, places] : steps.places()) {
      const auto touch = touches.find(const_cast<Global*>(global));
      const bool written = touch != touches.end() && (touch->second.written || touch->second.accumulated);
      if (places > 1 && !runs_apart(probe, written)) numbers.erase(global);
    }
  }
  for (const Function* function : program.functions) {
    if (!function->body) continue;
    Steps steps;
    steps.visit(*function->body, true);
    for (const auto& [global, places] : steps.places()) numbers.erase(global);
  }
  return numbers;
}

}  // namespace spile::sema
