// The verifier follows each loop until another turn brings nothing new. may_goto (Linux 6.9) at each turn bounds the loop by a
// count of the kernel's own, so that it need not end by itself; but a variable of which the verifier knows more at each turn ("at
// least 8, at least 16") makes each turn new. So each variable of a loop gets a zero added that is read from memory, which makes
// it any number to the verifier.

#include "abi/kernel.h"
#include "codegen/ebpf/loadable.h"

namespace spile::codegen {

namespace {

class LoopBounds {
 public:
  explicit LoopBounds(llvm::Function& function) : function_(function), context_(function.getContext()) {}

  void run() {
    llvm::SmallVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, 8> edges;
    llvm::FindFunctionBackedges(function_, edges);
    // In the order in which they were found, never by address: the same script makes the same program.
    llvm::SetVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>> back(edges.begin(), edges.end());
    llvm::SetVector<const llvm::BasicBlock*> headers;
    for (const auto& [from, to] : back) headers.insert(to);
    for (const llvm::BasicBlock* header : headers) hide_variables(*const_cast<llvm::BasicBlock*>(header));
    for (const auto& [from, to] : back) bound(*const_cast<llvm::BasicBlock*>(from), *const_cast<llvm::BasicBlock*>(to));
  }

 private:
  // By an instruction that LLVM does not look into: else it would count the turns by a variable of its own.
  void hide_variables(llvm::BasicBlock& header) {
    llvm::IRBuilder<> b(&*header.getFirstInsertionPt());
    auto* type = llvm::FunctionType::get(b.getInt64Ty(), {b.getInt64Ty(), b.getInt64Ty()}, false);
    llvm::InlineAsm* add = llvm::InlineAsm::get(type, "$0 += $2", "=r,0,r", false);
    for (llvm::PHINode& variable : header.phis()) {
      if (variable.getType()->isIntegerTy(1)) continue;
      for (llvm::Use& value : variable.incoming_values()) {  // the verifier lets no register be read that was not written
        if (llvm::isa<llvm::UndefValue>(value)) value.set(llvm::Constant::getNullValue(variable.getType()));
      }
      bool is_pointer = variable.getType()->isPointerTy();
      llvm::Value* number = is_pointer ? b.CreatePtrToInt(&variable, b.getInt64Ty()) : b.CreateZExt(&variable, b.getInt64Ty());
      llvm::Value* hidden = b.CreateCall(type, add, {number, zero()});
      llvm::Value* instead =
          is_pointer ? b.CreateIntToPtr(hidden, variable.getType()) : b.CreateTrunc(hidden, variable.getType());
      variable.replaceUsesWithIf(instead, [&](llvm::Use& use) { return use.getUser() != number && use.getUser() != hidden; });
    }
  }

  llvm::Value* zero() {
    if (zero_) return zero_;
    llvm::IRBuilder<> b(&*function_.getEntryBlock().getFirstInsertionPt());
    llvm::Value* place =
        llvm::ConstantExpr::getIntToPtr(b.getInt64(abi::kKernelArenaBase + offsetof(abi::ArenaHeader, zero)), b.getPtrTy());
    return zero_ = b.CreateLoad(b.getInt64Ty(), place, /*isVolatile=*/true);
  }

  // Leads the edge over a may_goto, whose other way ends the function.
  void bound(llvm::BasicBlock& from, llvm::BasicBlock& to) {
    llvm::BasicBlock* turn = llvm::BasicBlock::Create(context_, "turn", &function_);
    llvm::BasicBlock* on = llvm::BasicBlock::Create(context_, "turn.on", &function_);
    from.getTerminator()->replaceSuccessorWith(&to, turn);
    to.replacePhiUsesWith(&from, on);
    llvm::IRBuilder<> b(turn);
    auto* type = llvm::FunctionType::get(b.getVoidTy(), false);
    llvm::InlineAsm* may_goto = llvm::InlineAsm::get(type, "may_goto ${0:l}", "!i", true);
    // may_goto reaches 32,768 instructions, so each has its own end near by.
    llvm::BasicBlock* given_up = llvm::BasicBlock::Create(context_, "turn.given_up", &function_, on);
    b.CreateCallBr(type, may_goto, on, {given_up});
    b.SetInsertPoint(given_up);
    b.CreateRet(llvm::ConstantInt::get(function_.getReturnType(), 0));
    b.SetInsertPoint(on);
    b.CreateBr(&to);
  }

  llvm::Function& function_;
  llvm::LLVMContext& context_;
  llvm::Value* zero_ = nullptr;
};

}  // namespace

void bound_loops(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) LoopBounds(function).run();
  }
}

}  // namespace spile::codegen
