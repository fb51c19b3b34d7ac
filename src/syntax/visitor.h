#pragma once
// Walks over the tree, for passes. A child that can be replaced is a slot: an ExpressionPtr& or StatementPtr& inside its
// parent; a child that can't be replaced (the array of an Index, the keys of a Foreach: always Variables) is visited as a node
// only.
//
//   for_each_slot(node, f)         f(ExpressionPtr&) for the direct slots of an expression or statement
//   for_each_inner_slot(node, f)   the same, and those of direct children that are not slots themselves
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

#include "base/function_ref.h"
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

using OnSlot = FunctionRef<void(ExpressionPtr&)>;
using OnStatementSlot = FunctionRef<void(StatementPtr&)>;
using OnExpression = FunctionRef<void(Expression&)>;
using OnConstExpression = FunctionRef<void(const Expression&)>;
using OnConstStatement = FunctionRef<void(const Statement&)>;

void for_each_slot(Expression& e, OnSlot f);
void for_each_slot(Statement& s, OnSlot f);

void for_each_inner_slot(Expression& e, OnSlot f);
void for_each_inner_slot(Statement& s, OnSlot f);

void for_each_child(Expression& e, OnExpression f);
void for_each_child(const Expression& e, OnConstExpression f);
void for_each_child(Statement& s, OnExpression f);
void for_each_child(const Statement& s, OnConstExpression f);

void for_each_statement(Statement& s, OnStatementSlot f);
void for_each_statement(const Statement& s, OnConstStatement f);

void for_each_expression(Expression& e, OnExpression f);
void for_each_expression(const Expression& e, OnConstExpression f);
void for_each_expression(Statement& s, OnExpression f);
void for_each_expression(const Statement& s, OnConstExpression f);

void rewrite(ExpressionPtr& slot, OnSlot f);
void rewrite(Statement& s, OnSlot f);

void rewrite_statements(StatementPtr& slot, OnStatementSlot f);

}  // namespace spile::syntax
