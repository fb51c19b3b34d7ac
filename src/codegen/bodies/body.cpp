#include "codegen/bodies/body.h"

namespace spile::codegen {

Body::Body(Unit& u, llvm::IRBuilder<>& builder, llvm::Value* context_argument, llvm::Value* state_argument)
    : unit(u), b(builder), context(context_argument), state(state_argument), function(builder.GetInsertBlock()->getParent()) {}

llvm::Value* Body::call(const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments) {
  return unit.module.call_runtime(b, name, result, arguments);
}

llvm::Value* Body::at_offset(llvm::Value* pointer, int64_t bytes) {
  return bytes == 0 ? pointer : b.CreateConstGEP1_64(b.getInt8Ty(), pointer, static_cast<uint64_t>(bytes));
}

llvm::Value* Body::context_field(size_t offset) { return at_offset(context, static_cast<int64_t>(offset)); }

llvm::Value* Body::actions_left() {
  if (unit.repeats()) return call("spile_rt_kernel_actions", unit.module.ptr(), {context});
  return context_field(offsetof(abi::Context, actions_left));
}

llvm::Value* Body::stripe_offset(const syntax::Global& global) {
  const GlobalLayout& layout = unit.layout_of(global);
  llvm::Value* tid = thread ? thread : call("spile_rt_tid", b.getInt64Ty(), {context});
  return b.CreateMul(b.CreateAnd(tid, layout.stripes - 1), number(static_cast<int64_t>(layout.stripe_size)));
}

llvm::Value* Body::extend(llvm::Value* value, uint32_t bits, bool is_signed) {
  if (bits == 0 || bits >= 64) return value;
  llvm::Value* low = b.CreateTrunc(value, b.getIntNTy(bits));
  return is_signed ? b.CreateSExt(low, b.getInt64Ty()) : b.CreateZExt(low, b.getInt64Ty());
}

llvm::Value* Body::entry_alloca(llvm::Type* type, const char* name) {
  llvm::BasicBlock& entry = function->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  return at_entry.CreateAlloca(type, nullptr, name);
}

llvm::BasicBlock* Body::block(const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, function); }

bool Body::terminated() const { return b.GetInsertBlock()->getTerminator() != nullptr; }

void Body::branch_if_open(llvm::BasicBlock* target) {
  if (!terminated()) b.CreateBr(target);
}

void Body::start_dead_block() { b.SetInsertPoint(block("dead")); }

}  // namespace spile::codegen
