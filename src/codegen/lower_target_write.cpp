// Writing to traced data (guru mode). The target is bound as for reading; where it lies follows from the last operations:
// a load is a place in memory, a register is one of the saved block that the trampoline restores from, and a bit-field or
// an extension says which bits of it.

#include "codegen/lowering.h"
#include "syntax/visitor.h"

namespace spile::codegen {

using sema::LocationOp;
using Kind = LocationOp::Kind;

namespace {

// Where a binding's value lies: bits of a word at an address that `address` computes, or of a register.
struct WrittenPlace {
  bool in_register = false;
  int64_t number = 0;                   // of the register
  llvm::ArrayRef<LocationOp> address;
  uint32_t bytes = 8;                   // of the word in memory
  uint32_t shift = 0, bits = 64;        // within the word or register
};

std::optional<WrittenPlace> place_of(llvm::ArrayRef<LocationOp> ops) {
  WrittenPlace place;
  if (ops.empty()) return std::nullopt;
  if (ops.back().kind == Kind::kBitField) {
    place.shift = static_cast<uint32_t>(ops.back().value);
    place.bits = ops.back().size;
    ops = ops.drop_back();
  } else if (ops.back().kind == Kind::kExtend) {
    place.bits = 8u * ops.back().size;
    ops = ops.drop_back();
  }
  if (ops.empty()) return std::nullopt;
  if (ops.back().kind == Kind::kLoad) {
    place.bytes = ops.back().size;
    place.bits = std::min(place.bits, 8 * place.bytes - place.shift);
    place.address = ops.drop_back();
    return place;
  }
  // A part of a register: "register, constant, shift right".
  if (ops.size() == 3 && ops[1].kind == Kind::kConstant && ops[2].kind == Kind::kShiftRight) {
    place.shift += static_cast<uint32_t>(ops[1].value);
    ops = ops.take_front(1);
  }
  if (ops.size() != 1 || ops[0].kind != Kind::kRegister || place.shift + place.bits > 64) return std::nullopt;
  place.in_register = true;
  place.number = ops[0].value;
  return place;
}

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
  if (unit.place.domain() != sema::Domain::kTarget) {
    return unit.refuse(node.range, "only probes that run in the process can write to its variables");
  }
  if (!bindings || target.binding < 0 || static_cast<size_t>(target.binding) >= bindings->size()) {
    return unit.refuse(node.range, "this has no place in the traced program here");
  }
  const sema::Binding& binding = (*bindings)[static_cast<size_t>(target.binding)];
  auto place = place_of(binding.ops);
  if (!place || binding.type != ValueType::kLong) return unit.refuse(node.range, "this can't be written to: its value is computed, and lies nowhere");
  auto merged = [&](llvm::Value* old, uint32_t bits) {
    uint64_t mask = (place->bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << place->bits) - 1) << place->shift;
    if (place->shift == 0 && place->bits >= bits) return value;
    llvm::Value* kept = b.CreateAnd(old, b.getInt64(~mask));
    return b.CreateOr(kept, b.CreateAnd(b.CreateShl(value, b.getInt64(place->shift)), b.getInt64(mask)));
  };
  if (place->in_register) {
    constexpr int64_t kStackPointer = 7;
    if (!site.registers || place->number == kStackPointer) return unit.refuse(node.range, "this register can't be written to here");
    llvm::Value* slot = at_offset(site.registers, 8 * place->number);
    // As an instruction does that writes to the lower half: the upper one is 0.
    if (place->shift == 0 && place->bits == 32) b.CreateStore(extend(value, 32, false), slot);
    else b.CreateStore(merged(b.CreateLoad(b.getInt64Ty(), slot), 64), slot);
    return;
  }
  std::vector<llvm::Value*> stack;
  if (!run_location(place->address, node, *target.path, target.base, stack)) {
    return unit.refuse(node.range, "this value's place is not known here");
  }
  llvm::Value* address = stack.back();
  bool whole = place->shift == 0 && place->bits >= 8 * place->bytes;
  llvm::Value* word = whole ? value : merged(load_traced(address, place->bytes, false, node.range), 8 * place->bytes);
  llvm::Value* ok = call("spile_rt_store", b.getInt1Ty(), {context, address, b.getInt32(place->bytes), word});
  raise_if(b.CreateNot(ok), node.range, "write fault at %p near '" + std::string(node.range.text()) + "'", {address});
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
