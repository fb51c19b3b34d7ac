// Prepares a module for eBPF before LLVM optimizes it: everything is inlined into its program, and signed division is
// made of unsigned, as the instruction for it came with Linux 6.6 only.

#include "codegen/lower_kernel.h"

namespace spile::codegen {

namespace {

void inline_everything(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || function.hasSection()) continue;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.removeFnAttr(llvm::Attribute::OptimizeNone);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.setVisibility(llvm::GlobalValue::DefaultVisibility);
  }
}

// |a| / |b| with the sign of the quotient; a remainder has the sign of a. As in C, and wrapping where C has no answer.
void expand_division(llvm::BinaryOperator& division) {
  llvm::IRBuilder<> b(&division);
  llvm::Value *left = division.getOperand(0), *right = division.getOperand(1);
  auto negative = [&](llvm::Value* value) {
    return b.CreateICmpSLT(value, llvm::Constant::getNullValue(value->getType()));
  };
  auto magnitude = [&](llvm::Value* value) { return b.CreateSelect(negative(value), b.CreateNeg(value), value); };
  bool quotient = division.getOpcode() == llvm::Instruction::SDiv;
  llvm::Value* result =
      quotient ? b.CreateUDiv(magnitude(left), magnitude(right)) : b.CreateURem(magnitude(left), magnitude(right));
  llvm::Value* flip = quotient ? b.CreateXor(negative(left), negative(right)) : negative(left);
  division.replaceAllUsesWith(b.CreateSelect(flip, b.CreateNeg(result), result));
  division.eraseFromParent();
}

}  // namespace

void prepare_for_kernel(ScriptModule& module) {
  inline_everything(module.module());
  for (llvm::Function& function : module.module()) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
        unsigned opcode = instruction.getOpcode();
        if (opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::SRem) {
          expand_division(llvm::cast<llvm::BinaryOperator>(instruction));
        }
      }
    }
  }
}

}  // namespace spile::codegen
