// Expressions whose values are those of the traced program: $var, @cast and the like; and assignments to them (guru mode).

#include "codegen/lowering.h"
#include "syntax/visitor.h"

namespace spile::codegen {

namespace {

struct Target {
  int binding = -1;
  const std::vector<syntax::PathStep>* path = nullptr;
  const syntax::Expression* base = nullptr;
};

// What a variable's binding and its operands are.
Target target_of(const syntax::Expression& node) {
  if (auto* variable = syntax::as<syntax::TargetVariable>(node)) return {variable->binding, &variable->path, nullptr};
  if (auto* operation = syntax::as<syntax::AtOperation>(node)) {
    return {operation->binding, &operation->path, operation->arguments.empty() ? nullptr : operation->arguments[0].get()};
  }
  if (auto* dereference = syntax::as<syntax::Dereference>(node)) {
    return {dereference->binding, &dereference->path, dereference->pointer.get()};
  }
  return {};
}

}  // namespace

// Evaluates what an operation kIndex names: step n of the path; -1: the pointer that a cast or a dereference starts from; -2: an
// operation's second argument.
llvm::Value* Lowering::lower_operand(const syntax::Expression& node, const sema::LocationOp& op) {
  const Target target = target_of(node);
  const syntax::Expression* index = nullptr;
  const auto* operation = syntax::as<syntax::AtOperation>(node);
  if (op.value == -1) index = target.base;
  else if (op.value == -2 && operation && operation->arguments.size() > 1) index = operation->arguments[1].get();
  else if (op.value >= 0 && static_cast<size_t>(op.value) < target.path->size()) index = (*target.path)[static_cast<size_t>(op.value)].expression.get();
  return index ? lower(*index) : nullptr;
}

llvm::Value* Lowering::read_target(const syntax::Expression& node) {
  return target_.read(target_of(node).binding, node.type, node.range, [&](const sema::LocationOp& op) { return lower_operand(node, op); });
}

void Lowering::write_target(const syntax::Expression& node, llvm::Value* value) {
  target_.write(target_of(node).binding, value, node.range, [&](const sema::LocationOp& op) { return lower_operand(node, op); });
}

llvm::Value* Lowering::assign_target(const syntax::Assignment& assignment) {
  llvm::Value* value = lower(*assignment.value);
  if (assignment.op != syntax::Assignment::Operator::kSet) value = combine(assignment, lower(*assignment.target), value);
  write_target(*assignment.target, value);
  return value;
}

llvm::Value* Lowering::increment_target(const syntax::Increment& increment) {
  llvm::Value* old = lower(*increment.operand);
  llvm::Value* made = b.CreateAdd(old, number(increment.delta));
  write_target(*increment.operand, made);
  return increment.is_prefix ? made : old;
}

}  // namespace spile::codegen
