#pragma once
// Walks over the tree, for passes. A child that can be replaced is a slot: an ExpressionPtr& or StatementPtr& inside its
// parent; a child that can't be replaced (the array of an Index, the keys of a Foreach: always Variables) is visited as a node
// only.
//
//   for_each_slot(node, f)         f(ExpressionPtr&) for the direct slots of an expression or statement
//   for_each_child(node, f)        f(Expression&) for all direct child expressions, Variables of arrays and keys too
//   for_each_statement(s, f)       f(StatementPtr&) for the direct child statements
//   for_each_expression(node, f)   f(Expression&) for every expression below, parents first; an expression itself too
//   rewrite(slot, f)               f(ExpressionPtr&) for every slot below and then this one: children first
//   rewrite(statement, f)          f(ExpressionPtr&) for all expression slots of a statement and of the statements in it
//   rewrite_statements(slot, f)    f(StatementPtr&) for every statement slot below and then this one
//
// Null children are passed over. The order is that of the source, but that a statement's own expressions (the step of a `for`,
// the variable of a `catch`) come before the statements in it. f may replace the node in its slot by another one, but not by
// null, and may move the old node into the new one; the walk does not descend into the new node. The const forms give const
// nodes, and for_each_statement then `const Statement&`. Recursion is bounded by kMaximumNesting.
//
// as<T>(node) is the node as a T, or null where it is of another kind; as<T>(slot) does so for a slot.

#include <type_traits>

#include "base/check.h"
#include "syntax/tree.h"

namespace spile::syntax {

template <typename T>
T* as(Expression& e) {
  return e.kind == T::kKind ? static_cast<T*>(&e) : nullptr;
}
template <typename T>
const T* as(const Expression& e) {
  return e.kind == T::kKind ? static_cast<const T*>(&e) : nullptr;
}
template <typename T>
T* as(const ExpressionPtr& e) {
  return e ? as<T>(*e) : nullptr;
}
template <typename T>
T* as(Statement& s) {
  return s.kind == T::kKind ? static_cast<T*>(&s) : nullptr;
}
template <typename T>
const T* as(const Statement& s) {
  return s.kind == T::kKind ? static_cast<const T*>(&s) : nullptr;
}
template <typename T>
T* as(const StatementPtr& s) {
  return s ? as<T>(*s) : nullptr;
}

namespace walk {

// T with the constness of Node.
template <typename T, typename Node>
using Like = std::conditional_t<std::is_const_v<Node>, const T, T>;

template <typename T, typename Node>
Like<T, Node>& to(Node& node) {
  return static_cast<Like<T, Node>&>(node);
}

// Calls f(pointer) if the pointer is not null.
template <typename Pointer, typename F>
void visit(Pointer& pointer, F& f) {
  if (pointer) f(pointer);
}
template <typename Pointers, typename F>
void visit_all(Pointers& pointers, F& f) {
  for (auto& pointer : pointers) visit(pointer, f);
}
template <typename Path, typename F>
void visit_path(Path& path, F& f) {
  for (auto& step : path) visit(step.expression, f);
}

// Calls f(pointer) for every child of an expression that is not null, whatever the type of the pointer.
template <typename Node, typename F>
void expression_children(Node& e, F&& f) {
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

// Calls f(pointer) for every expression directly in a statement.
template <typename Node, typename F>
void statement_expressions(Node& s, F&& f) {
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

// Calls f(pointer) for every statement directly in a statement.
template <typename Node, typename F>
void statement_children(Node& s, F&& f) {
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

// Lets through only the slots: the pointers that may hold any expression.
template <typename F>
auto only_slots(F& f) {
  return [&f](auto& pointer) {
    if constexpr (std::is_same_v<std::remove_const_t<std::remove_reference_t<decltype(pointer)>>, ExpressionPtr>) f(pointer);
  };
}

}  // namespace walk

template <typename F>
void for_each_slot(Expression& e, F&& f) {
  walk::expression_children(e, walk::only_slots(f));
}
template <typename F>
void for_each_slot(Statement& s, F&& f) {
  walk::statement_expressions(s, walk::only_slots(f));
}

template <typename F>
void for_each_child(Expression& e, F&& f) {
  walk::expression_children(e, [&f](auto& child) { f(static_cast<Expression&>(*child)); });
}
template <typename F>
void for_each_child(const Expression& e, F&& f) {
  walk::expression_children(e, [&f](auto& child) { f(static_cast<const Expression&>(*child)); });
}
template <typename F>
void for_each_child(Statement& s, F&& f) {
  walk::statement_expressions(s, [&f](auto& child) { f(static_cast<Expression&>(*child)); });
}
template <typename F>
void for_each_child(const Statement& s, F&& f) {
  walk::statement_expressions(s, [&f](auto& child) { f(static_cast<const Expression&>(*child)); });
}

template <typename F>
void for_each_statement(Statement& s, F&& f) {
  walk::statement_children(s, f);
}
template <typename F>
void for_each_statement(const Statement& s, F&& f) {
  walk::statement_children(s, [&f](auto& child) { f(static_cast<const Statement&>(*child)); });
}

template <typename F>
void for_each_expression(Expression& e, F&& f) {
  f(e);
  for_each_child(e, [&f](Expression& child) { for_each_expression(child, f); });
}
template <typename F>
void for_each_expression(const Expression& e, F&& f) {
  f(e);
  for_each_child(e, [&f](const Expression& child) { for_each_expression(child, f); });
}
template <typename F>
void for_each_expression(Statement& s, F&& f) {
  for_each_child(s, [&f](Expression& child) { for_each_expression(child, f); });
  for_each_statement(s, [&f](StatementPtr& child) { for_each_expression(*child, f); });
}
template <typename F>
void for_each_expression(const Statement& s, F&& f) {
  for_each_child(s, [&f](const Expression& child) { for_each_expression(child, f); });
  for_each_statement(s, [&f](const Statement& child) { for_each_expression(child, f); });
}

template <typename F>
void rewrite(ExpressionPtr& slot, F&& f) {
  // Histograms and arrays are not slots themselves, but contain slots.
  walk::expression_children(*slot, [&f](auto& child) {
    if constexpr (std::is_same_v<decltype(child), ExpressionPtr&>) {
      rewrite(child, f);
    } else {
      for_each_slot(*child, [&f](ExpressionPtr& inner) { rewrite(inner, f); });
    }
  });
  f(slot);
}
template <typename F>
void rewrite(Statement& s, F&& f) {
  walk::statement_expressions(s, [&f](auto& child) {
    if constexpr (std::is_same_v<decltype(child), ExpressionPtr&>) {
      rewrite(child, f);
    } else {
      for_each_slot(*child, [&f](ExpressionPtr& inner) { rewrite(inner, f); });
    }
  });
  for_each_statement(s, [&f](StatementPtr& child) { rewrite(*child, f); });
}

template <typename F>
void rewrite_statements(StatementPtr& slot, F&& f) {
  for_each_statement(*slot, [&f](StatementPtr& child) { rewrite_statements(child, f); });
  f(slot);
}

}  // namespace spile::syntax
