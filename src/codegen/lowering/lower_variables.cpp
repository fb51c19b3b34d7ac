// Expressions whose values are those of the traced program: $var, @cast and the like; and assignments to them (guru mode).

#include "codegen/bodies/lowering.h"
#include "syntax/visitor.h"

namespace spile::codegen {

namespace {

struct Target {
  int binding = -1;
  const std::vector<syntax::PathStep>* path = nullptr;
};

// What a variable's binding and its path are.
Target target_of(const syntax::Expression& node) {
  if (auto* variable = syntax::as<syntax::TargetVariable>(node)) return {variable->binding, &variable->path};
  if (auto* operation = syntax::as<syntax::AtOperation>(node)) return {operation->binding, &operation->path};
  if (auto* dereference = syntax::as<syntax::Dereference>(node)) return {dereference->binding, &dereference->path};
  return {};
}

// The address that a cast or a dereference starts from; null: absent.
const syntax::Expression* script_pointer(const syntax::Expression& node) {
  if (const auto* dereference = syntax::as<syntax::Dereference>(node)) return dereference->pointer.get();
  const auto* operation = syntax::as<syntax::AtOperation>(node);
  const size_t index = operation && operation->name == "@uderef" ? 1 : 0;  // @uderef(size, address)
  return operation && operation->arguments.size() > index ? operation->arguments[index].get() : nullptr;
}

}  // namespace

// Evaluates the index or the pointer that an operation of the node's binding names; null: the node has none.
llvm::Value* Lowering::lower_operand(const syntax::Expression& node, const location::Operation& op) {
  const syntax::Expression* operand = nullptr;
  const auto* index = std::get_if<location::Index>(&op);
  const Target target = target_of(node);
  if (!index) operand = script_pointer(node);
  else if (target.path && index->step < target.path->size()) operand = (*target.path)[index->step].expression.get();
  return operand ? lower(*operand) : nullptr;
}

llvm::Value* Lowering::read_target(const syntax::Expression& node) {
  return target_.read(target_of(node).binding, node.type, node.range,
                      [&](const location::Operation& op) { return lower_operand(node, op); });
}

void Lowering::write_target(const syntax::Expression& node, llvm::Value* value) {
  target_.write(target_of(node).binding, value, node.range,
                [&](const location::Operation& op) { return lower_operand(node, op); });
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
