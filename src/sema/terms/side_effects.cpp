#include "sema/terms/side_effects.h"

#include <vector>

#include "sema/terms/elaboration.h"
#include "sema/terms/embedded_code.h"
#include "sema/terms/fold.h"
#include "syntax/visitor.h"

namespace spile::sema {

using namespace syntax;

bool always_leaves(const Statement& s) {
  switch (s.kind) {
    case StatementKind::kReturn:
    case StatementKind::kNext:
    case StatementKind::kBreak:
    case StatementKind::kContinue: return true;
    case StatementKind::kBlock:
      for (const StatementPtr& inner : static_cast<const Block&>(s).statements) {
        if (always_leaves(*inner)) return true;
      }
      return false;
    case StatementKind::kIf: {
      auto& branch = static_cast<const If&>(s);
      return branch.else_branch && always_leaves(*branch.then_branch) && always_leaves(*branch.else_branch);
    }
    default: return false;
  }
}

bool SideEffects::none_in(const Expression& expression) {
  return is_pure(expression, [this](const Call& call) { return none_in_call(call); });
}

bool SideEffects::none_in_call(const Call& call) {
  if (!call.function) return false;
  bool none = true;
  for_each_callee(call, [&](const Function& callee) { none = none && none_in(callee); });
  return none;
}

// While a function is being looked at, it counts as having effects: so recursion does. Callees first, by a stack of our own:
// chains of calls may be tens of thousands of functions long.
bool SideEffects::none_in(const Function& function) {
  struct Pending {
    const Function* function;
    std::vector<const Function*> callees;
  };
  std::vector<Pending> pending;
  auto enter = [&](const Function& entered) {
    if (!known_.try_emplace(&entered, false).second || !entered.body) return;
    pending.push_back({&entered, {}});
    for_each_expression(static_cast<const Statement&>(*entered.body), [&](const Expression& x) {
      auto* call = as<Call>(x);
      if (call) for_each_callee(*call, [&](const Function& callee) { pending.back().callees.push_back(&callee); });
    });
  };
  enter(function);
  while (!pending.empty()) {
    Pending& top = pending.back();
    if (!top.callees.empty()) {
      const Function* callee = top.callees.back();
      top.callees.pop_back();
      enter(*callee);
      continue;
    }
    const Function* done = top.function;
    in_library_ = done->from_library;
    known_[done] = none_in(*done->body);
    pending.pop_back();
  }
  return known_[&function];
}

bool SideEffects::none_in(const Statement& s) {
  switch (s.kind) {
    case StatementKind::kNull: return true;
    case StatementKind::kBlock:
      for (const StatementPtr& inner : static_cast<const Block&>(s).statements) {
        if (!none_in(*inner)) return false;
      }
      return true;
    case StatementKind::kIf: {
      auto& branch = static_cast<const If&>(s);
      return none_in(*branch.condition) && none_in(*branch.then_branch) && (!branch.else_branch || none_in(*branch.else_branch));
    }
    case StatementKind::kReturn: {
      auto& value = static_cast<const Return&>(s).value;
      return !value || none_in(*value);
    }
    case StatementKind::kExpression: {
      const ExpressionPtr& expression = static_cast<const ExpressionStatement&>(s).expression;
      // A function's locals are its own business. A division by zero is an error.
      auto is_local = [](const ExpressionPtr& target) {
        auto* variable = as<Variable>(target);
        return variable && variable->local;
      };
      if (auto* increment = as<Increment>(expression)) return is_local(increment->operand);
      if (auto* assignment = as<Assignment>(expression)) {
        const bool divides =
            assignment->op == Assignment::Operator::kArithmetic &&
            (assignment->arithmetic == Binary::Operator::kDivide || assignment->arithmetic == Binary::Operator::kModulo);
        return is_local(assignment->target) && assignment->op != Assignment::Operator::kAccumulate && !divides &&
               none_in(*assignment->value);
      }
      return none_in(*expression);
    }
    case StatementKind::kBreak:
    case StatementKind::kContinue: return true;
    // A loop of the script's own may be without end, which is an error.
    case StatementKind::kFor: {
      if (!in_library_) return false;
      auto& loop = static_cast<const For&>(s);
      auto is_quiet = [&](const ExpressionPtr& part) {
        if (!part) return true;
        ExpressionStatement alone(part->range);
        alone.expression = clone(*part);
        return none_in(alone);
      };
      return is_quiet(loop.init) && (!loop.condition || none_in(*loop.condition)) && is_quiet(loop.step) && none_in(*loop.body);
    }
    case StatementKind::kWhile: {
      if (!in_library_) return false;
      auto& loop = static_cast<const While&>(s);
      return none_in(*loop.condition) && none_in(*loop.body);
    }
    case StatementKind::kEmbedded: return embedded_traits(static_cast<const EmbeddedStatement&>(s).code).pure;
    default: return false;
  }
}

}  // namespace spile::sema
