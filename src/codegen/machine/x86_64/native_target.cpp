#include "codegen/machine/native_target.h"

#include <string>

namespace spile::codegen {

const NativeTarget kNativeTarget = {.triple = "x86_64-unknown-linux-gnu", .processor = "x86-64", .features = "-x87,-mmx,-sse"};

void initialize_native_target() {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
  LLVMInitializeX86AsmParser();  // the runtime has inline assembly
}

// preserve_most keeps all general registers but r11, which is dead at a call by the psABI. A caller that sees its callee's code
// may count on it all the same (gcc -fipa-ra). It is read before anything else and put back before every return; mostly it just
// stays where it is.
void keep_all_registers(llvm::Function& handler) {
  llvm::LLVMContext& context = handler.getContext();
  llvm::Type* word = llvm::Type::getInt64Ty(context);
  llvm::BasicBlock& entry = handler.getEntryBlock();
  llvm::IRBuilder<> b(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
  auto* read = llvm::InlineAsm::get(llvm::FunctionType::get(word, {}, false), "", "={r11}", true);
  auto* write = llvm::InlineAsm::get(llvm::FunctionType::get(llvm::Type::getVoidTy(context), {word}, false), "", "{r11}", true);
  llvm::Value* kept = b.CreateCall(read);
  for (llvm::BasicBlock& block : handler) {
    if (!llvm::isa<llvm::ReturnInst>(block.getTerminator())) continue;
    llvm::IRBuilder<>(block.getTerminator()).CreateCall(write, {kept});
  }
}

llvm::Value* read_vector_register(llvm::IRBuilder<>& b, int64_t place) {
  // 66 48 0f 7e c0   movq %xmm0, %rax: as bytes, since the compiler is not to use such registers
  std::string code =
      ".byte 0x66, " + std::to_string(place < 8 ? 0x48 : 0x4c) + ", 0x0f, 0x7e, " + std::to_string(0xc0 | (place & 7) << 3);
  auto* read = llvm::InlineAsm::get(llvm::FunctionType::get(b.getInt64Ty(), {}, false), code, "={rax}", true);
  return b.CreateCall(read);
}

}  // namespace spile::codegen
