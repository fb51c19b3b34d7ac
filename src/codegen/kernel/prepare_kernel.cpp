// Prepares a module for eBPF before LLVM optimizes it: everything is inlined into its program, and signed division is
// made of unsigned, as the instruction for it came with Linux 6.6 only.

#include <map>

#include "codegen/kernel/lower_kernel.h"

namespace spile::codegen {

namespace {

// A fifth of these is left after the optimizer, which is more than eBPF's jumps reach. A handler of 60 sprintf() has 79,000, one
// of 100 has 131,000 and does not fit; syscall.* with argstr has 160,000.
constexpr uint64_t kLargestInlined = 150'000;

// Instructions of a function with all that is inlined into it, before the optimizer. known: of functions that were asked for.
// REQUIRES: no function calls itself.
uint64_t inlined_size(llvm::Function& function, std::map<llvm::Function*, uint64_t>& known) {
  auto [found, is_new] = known.try_emplace(&function);
  if (!is_new) return found->second;
  uint64_t size = 0;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    ++size;
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
    if (callee && !callee->isDeclaration() && !callee->hasSection()) size += inlined_size(*callee, known);
  }
  return known[&function] = size;
}

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
  auto negative = [&](llvm::Value* value) { return b.CreateICmpSLT(value, llvm::Constant::getNullValue(value->getType())); };
  auto magnitude = [&](llvm::Value* value) { return b.CreateSelect(negative(value), b.CreateNeg(value), value); };
  bool quotient = division.getOpcode() == llvm::Instruction::SDiv;
  llvm::Value* result =
      quotient ? b.CreateUDiv(magnitude(left), magnitude(right)) : b.CreateURem(magnitude(left), magnitude(right));
  llvm::Value* flip = quotient ? b.CreateXor(negative(left), negative(right)) : negative(left);
  division.replaceAllUsesWith(b.CreateSelect(flip, b.CreateNeg(result), result));
  division.eraseFromParent();
}

}  // namespace

const llvm::Function* too_large_program(llvm::Module& module) {
  std::map<llvm::Function*, uint64_t> sizes;
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || !function.hasSection()) continue;
    if (inlined_size(function, sizes) > kLargestInlined) return &function;
  }
  return nullptr;
}

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
