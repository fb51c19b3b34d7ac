// The walks of visitor.h. Three functions know what is in which node; they are compiled once, for nodes that may be changed: the
// forms for const nodes hand on const children.

#include "syntax/visitor.h"

#include "base/check.h"

namespace spile::syntax {

namespace {

// What is called with a child; slot: null where the child can't be replaced.
using OnChild = FunctionRef<void(ExpressionPtr* slot, Expression& child)>;

template <typename T, typename Node>
T& to(Node& node) {
  return static_cast<T&>(node);
}

void visit(ExpressionPtr& pointer, OnChild f) {
  if (pointer) f(&pointer, *pointer);
}
template <typename T>
void visit(std::unique_ptr<T>& pointer, OnChild f) {
  if (pointer) f(nullptr, *pointer);
}
void visit(StatementPtr& pointer, OnStatementSlot f) {
  if (pointer) f(pointer);
}
template <typename Pointers, typename F>
void visit_all(Pointers& pointers, const F& f) {
  for (auto& pointer : pointers) visit(pointer, f);
}
void visit_path(std::vector<PathStep>& path, OnChild f) {
  for (PathStep& step : path) visit(step.expression, f);
}

// Calls f for every child of an expression that is not null.
void expression_children(Expression& e, OnChild f) {
  switch (e.kind) {
    case ExpressionKind::kNumber:
    case ExpressionKind::kString:
    case ExpressionKind::kVariable:
    case ExpressionKind::kEmbedded:
    case ExpressionKind::kEntryValue:
    case ExpressionKind::kPerf: return;
    case ExpressionKind::kIndex:
      visit(to<Index>(e).array, f);
      visit_all(to<Index>(e).indexes, f);
      return;
    case ExpressionKind::kTargetVariable: visit_path(to<TargetVariable>(e).path, f); return;
    case ExpressionKind::kDereference:
      visit(to<Dereference>(e).pointer, f);
      visit_path(to<Dereference>(e).path, f);
      return;
    case ExpressionKind::kAtOperation:
      visit_all(to<AtOperation>(e).arguments, f);
      visit_path(to<AtOperation>(e).path, f);
      return;
    case ExpressionKind::kUnary: visit(to<Unary>(e).operand, f); return;
    case ExpressionKind::kIncrement: visit(to<Increment>(e).operand, f); return;
    case ExpressionKind::kBinary:
      visit(to<Binary>(e).left, f);
      visit(to<Binary>(e).right, f);
      return;
    case ExpressionKind::kLogical:
      visit(to<Logical>(e).left, f);
      visit(to<Logical>(e).right, f);
      return;
    case ExpressionKind::kCompare:
      visit(to<Compare>(e).left, f);
      visit(to<Compare>(e).right, f);
      return;
    case ExpressionKind::kConcatenation:
      visit(to<Concatenation>(e).left, f);
      visit(to<Concatenation>(e).right, f);
      return;
    case ExpressionKind::kRegex: visit(to<Regex>(e).subject, f); return;
    case ExpressionKind::kComma:
      visit(to<Comma>(e).left, f);
      visit(to<Comma>(e).right, f);
      return;
    case ExpressionKind::kTernary:
      visit(to<Ternary>(e).condition, f);
      visit(to<Ternary>(e).if_true, f);
      visit(to<Ternary>(e).if_false, f);
      return;
    case ExpressionKind::kAssignment:
      visit(to<Assignment>(e).target, f);
      visit(to<Assignment>(e).value, f);
      return;
    case ExpressionKind::kIn:
      visit_all(to<In>(e).indexes, f);
      visit(to<In>(e).array, f);
      return;
    case ExpressionKind::kCall: visit_all(to<Call>(e).arguments, f); return;
    case ExpressionKind::kPrint: visit_all(to<Print>(e).arguments, f); return;
    case ExpressionKind::kStatistic:
      visit(to<Statistic>(e).stats, f);
      visit(to<Statistic>(e).percent, f);
      return;
    case ExpressionKind::kHistogram: visit(to<Histogram>(e).stats, f); return;
    case ExpressionKind::kHistogramIndex:
      visit(to<HistogramIndex>(e).histogram, f);
      visit(to<HistogramIndex>(e).bucket, f);
      return;
    case ExpressionKind::kDefined: visit(to<Defined>(e).operand, f); return;
    case ExpressionKind::kEntry: visit(to<Entry>(e).operand, f); return;
  }
  CHECK(false);
}

// Calls f for every expression directly in a statement.
void statement_expressions(Statement& s, OnChild f) {
  switch (s.kind) {
    case StatementKind::kBlock:
    case StatementKind::kNull:
    case StatementKind::kNext:
    case StatementKind::kBreak:
    case StatementKind::kContinue:
    case StatementKind::kEmbedded: return;
    case StatementKind::kExpression: visit(to<ExpressionStatement>(s).expression, f); return;
    case StatementKind::kIf: visit(to<If>(s).condition, f); return;
    case StatementKind::kWhile: visit(to<While>(s).condition, f); return;
    case StatementKind::kFor:
      visit(to<For>(s).init, f);
      visit(to<For>(s).condition, f);
      visit(to<For>(s).step, f);
      return;
    case StatementKind::kForeach: {
      auto& loop = to<Foreach>(s);
      visit(loop.value, f);
      visit_all(loop.keys, f);
      visit(loop.array, f);
      visit(loop.histogram, f);
      visit_all(loop.slice, f);
      visit(loop.limit, f);
      return;
    }
    case StatementKind::kReturn: visit(to<Return>(s).value, f); return;
    case StatementKind::kDelete: visit(to<Delete>(s).target, f); return;
    case StatementKind::kTry: visit(to<Try>(s).message, f); return;
  }
  CHECK(false);
}

// Calls f for every statement directly in a statement.
void statement_children(Statement& s, OnStatementSlot f) {
  switch (s.kind) {
    case StatementKind::kBlock: visit_all(to<Block>(s).statements, f); return;
    case StatementKind::kIf:
      visit(to<If>(s).then_branch, f);
      visit(to<If>(s).else_branch, f);
      return;
    case StatementKind::kWhile: visit(to<While>(s).body, f); return;
    case StatementKind::kFor: visit(to<For>(s).body, f); return;
    case StatementKind::kForeach: visit(to<Foreach>(s).body, f); return;
    case StatementKind::kTry:
      visit(to<Try>(s).body, f);
      visit(to<Try>(s).handler, f);
      return;
    default: return;
  }
}

Expression& changeable(const Expression& e) { return const_cast<Expression&>(e); }
Statement& changeable(const Statement& s) { return const_cast<Statement&>(s); }

auto only_slots(const OnSlot& f) {
  return [&f](ExpressionPtr* slot, Expression&) {
    if (slot) f(*slot);
  };
}
auto inner_slots(const OnSlot& f) {
  return [&f](ExpressionPtr* slot, Expression& child) {
    if (slot) f(*slot);
    else for_each_slot(child, f);
  };
}

}  // namespace

void for_each_slot(Expression& e, OnSlot f) { expression_children(e, only_slots(f)); }
void for_each_slot(Statement& s, OnSlot f) { statement_expressions(s, only_slots(f)); }

void for_each_inner_slot(Expression& e, OnSlot f) { expression_children(e, inner_slots(f)); }
void for_each_inner_slot(Statement& s, OnSlot f) { statement_expressions(s, inner_slots(f)); }

void for_each_child(Expression& e, OnExpression f) {
  expression_children(e, [&f](ExpressionPtr*, Expression& child) { f(child); });
}
void for_each_child(const Expression& e, OnConstExpression f) {
  expression_children(changeable(e), [&f](ExpressionPtr*, Expression& child) { f(child); });
}
void for_each_child(Statement& s, OnExpression f) {
  statement_expressions(s, [&f](ExpressionPtr*, Expression& child) { f(child); });
}
void for_each_child(const Statement& s, OnConstExpression f) {
  statement_expressions(changeable(s), [&f](ExpressionPtr*, Expression& child) { f(child); });
}

void for_each_statement(Statement& s, OnStatementSlot f) { statement_children(s, f); }
void for_each_statement(const Statement& s, OnConstStatement f) {
  statement_children(changeable(s), [&f](StatementPtr& child) { f(*child); });
}

void for_each_expression(Expression& e, OnExpression f) {
  f(e);
  for_each_child(e, [&f](Expression& child) { for_each_expression(child, f); });
}
void for_each_expression(const Expression& e, OnConstExpression f) {
  f(e);
  for_each_child(e, [&f](const Expression& child) { for_each_expression(child, f); });
}
void for_each_expression(Statement& s, OnExpression f) {
  for_each_child(s, [&f](Expression& child) { for_each_expression(child, f); });
  for_each_statement(s, [&f](StatementPtr& child) { for_each_expression(*child, f); });
}
void for_each_expression(const Statement& s, OnConstExpression f) {
  for_each_child(s, [&f](const Expression& child) { for_each_expression(child, f); });
  for_each_statement(s, [&f](const Statement& child) { for_each_expression(child, f); });
}

void rewrite(ExpressionPtr& slot, OnSlot f) {
  for_each_inner_slot(*slot, [&f](ExpressionPtr& inner) { rewrite(inner, f); });
  f(slot);
}
void rewrite(Statement& s, OnSlot f) {
  for_each_inner_slot(s, [&f](ExpressionPtr& inner) { rewrite(inner, f); });
  for_each_statement(s, [&f](StatementPtr& child) { rewrite(*child, f); });
}

void rewrite_statements(StatementPtr& slot, OnStatementSlot f) {
  for_each_statement(*slot, [&f](StatementPtr& child) { rewrite_statements(child, f); });
  f(slot);
}

}  // namespace spile::syntax
