// Writing to traced data (guru mode). The target is bound as for reading, and sema/written_place.h says where it lies: in
// memory, or in one of the saved block of registers that the trampoline restores from.

#include "abi/machine.h"
#include "codegen/lowering.h"
#include "sema/written_place.h"
#include "syntax/visitor.h"

namespace spile::codegen {

namespace {

struct Target {
  int binding = -1;
  const std::vector<syntax::PathStep>* path = nullptr;
  const syntax::Expression* base = nullptr;
};

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

void Lowering::write_target(const syntax::Expression& node, llvm::Value* value) {
  Target target = target_of(node);
  const std::vector<sema::Binding>* bindings = current_bindings();
  if (!unit.place.may_write()) {
    return unit.refuse(node.range, "only probes that run in the process can write to its variables");
  }
  if (!bindings || target.binding < 0 || static_cast<size_t>(target.binding) >= bindings->size()) {
    return unit.refuse(node.range, "this has no location in the traced program here");
  }
  const sema::Binding& binding = (*bindings)[static_cast<size_t>(target.binding)];
  auto place = sema::written_place(binding.ops);
  if (!place || binding.type != ValueType::kLong) return unit.refuse(node.range, "the variable can't be written to: its value is computed, not stored");
  if (place->is_float) value = call("spile_rt_narrow_float", b.getInt64Ty(), {value});
  auto merged = [&](llvm::Value* old, uint32_t bits) {
    uint64_t mask = (place->bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << place->bits) - 1) << place->shift;
    if (place->shift == 0 && place->bits >= bits) return value;
    llvm::Value* kept = b.CreateAnd(old, b.getInt64(~mask));
    return b.CreateOr(kept, b.CreateAnd(b.CreateShl(value, b.getInt64(place->shift)), b.getInt64(mask)));
  };
  if (place->in_register) {
    if (!body.site.registers || !abi::may_be_written(place->number)) return unit.refuse(node.range, "this register can't be written to here");
    llvm::Value* slot = at_offset(body.site.registers, 8 * place->number);
    // As an instruction does that writes to the lower half: the upper one is 0.
    if (place->shift == 0 && place->bits == 32) b.CreateStore(extend(value, 32, false), slot);
    else b.CreateStore(merged(b.CreateLoad(b.getInt64Ty(), slot), 64), slot);
    return;
  }
  std::vector<llvm::Value*> stack;
  const sema::Binding* outer = std::exchange(binding_, &binding);
  if (!run_location(llvm::ArrayRef(place->address.data(), place->address.size()), node, *target.path, target.base, stack)) {
    return unit.refuse(node.range, "the location of this value is not known here");
  }
  binding_ = outer;
  llvm::Value* address = stack.back();
  bool whole = place->shift == 0 && place->bits >= 8 * place->bytes;
  llvm::Value* word = whole ? value : merged(load_traced(address, place->bytes, false, node.range), 8 * place->bytes);
  llvm::Value* ok = call("spile_rt_store", b.getInt1Ty(), {context, address, b.getInt32(place->bytes), word});
  errors_.raise_if(b.CreateNot(ok), node.range, "write fault at %p near '" + std::string(node.range.text()) + "'", {address});
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
