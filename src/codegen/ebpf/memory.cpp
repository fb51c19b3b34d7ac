// Memory operations that the back end of eBPF doesn't have. Copies and fills of known size become loads and stores of words,
// others calls of the runtime's memcpy, memmove and memset. Atomic loads and stores become volatile ones: an aligned word is read
// and written whole.

#include "codegen/ebpf/loadable.h"

namespace spile::codegen {

namespace {

constexpr uint64_t kMostInline = 128;  // bytes that are copied without a loop

// Calls visit(offset, size) for words that make up `size` bytes.
template <typename Visit>
void for_each_word(uint64_t size, Visit visit) {
  uint64_t at = 0;
  for (uint64_t word : {8, 4, 2, 1}) {
    for (; at + word <= size; at += word) visit(at, word);
  }
}

void call_library(llvm::MemIntrinsic& operation, const char* name, llvm::ArrayRef<llvm::Value*> arguments) {
  llvm::Function* function = operation.getModule()->getFunction(name);
  CHECK(function && !function->isDeclaration());
  llvm::IRBuilder<> b(&operation);
  std::vector<llvm::Value*> given;
  for (unsigned i = 0; i < arguments.size(); ++i) {
    llvm::Type* type = function->getArg(i)->getType();
    given.push_back(arguments[i]->getType() == type ? arguments[i] : b.CreateZExt(arguments[i], type));
  }
  b.CreateCall(function, given);
}

void expand(llvm::MemIntrinsic& operation) {
  llvm::IRBuilder<> b(&operation);
  auto* length = llvm::dyn_cast<llvm::ConstantInt>(operation.getLength());
  bool is_small = length && length->getZExtValue() <= kMostInline;
  auto* to = operation.getRawDest();
  auto at = [&](llvm::Value* pointer, uint64_t offset) { return b.CreateConstGEP1_64(b.getInt8Ty(), pointer, offset); };
  if (auto* copy = llvm::dyn_cast<llvm::MemTransferInst>(&operation)) {
    if (!is_small)
      return call_library(operation, copy->getIntrinsicID() == llvm::Intrinsic::memmove ? "memmove" : "memcpy",
                          {to, copy->getRawSource(), copy->getLength()});
    std::vector<llvm::Value*> words;  // all are read first: ranges may overlap
    for_each_word(length->getZExtValue(), [&](uint64_t offset, uint64_t size) {
      words.push_back(
          b.CreateAlignedLoad(b.getIntNTy(static_cast<unsigned>(8 * size)), at(copy->getRawSource(), offset), llvm::Align(1)));
    });
    size_t next = 0;
    for_each_word(length->getZExtValue(),
                  [&](uint64_t offset, uint64_t) { b.CreateAlignedStore(words[next++], at(to, offset), llvm::Align(1)); });
    return;
  }
  auto& fill = llvm::cast<llvm::MemSetInst>(operation);
  auto* byte = llvm::dyn_cast<llvm::ConstantInt>(fill.getValue());
  if (!is_small || !byte) return call_library(operation, "memset", {to, fill.getValue(), fill.getLength()});
  for_each_word(length->getZExtValue(), [&](uint64_t offset, uint64_t size) {
    llvm::APInt word = llvm::APInt::getSplat(static_cast<unsigned>(8 * size), byte->getValue());
    b.CreateAlignedStore(b.getInt(word), at(to, offset), llvm::Align(1));
  });
}

void make_plain(llvm::Instruction& instruction) {
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction); load && load->isAtomic()) {
    load->setAtomic(llvm::AtomicOrdering::NotAtomic);
    load->setVolatile(true);
  } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction); store && store->isAtomic()) {
    store->setAtomic(llvm::AtomicOrdering::NotAtomic);
    store->setVolatile(true);
  } else if (llvm::isa<llvm::FenceInst>(instruction)) {
    instruction.eraseFromParent();
  }
}

}  // namespace

void expand_memory(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : llvm::make_early_inc_range(block)) {
        if (auto* operation = llvm::dyn_cast<llvm::MemIntrinsic>(&instruction)) {
          expand(*operation);
          operation->eraseFromParent();
        } else if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction); call && call->isLifetimeStartOrEnd()) {
          call->eraseFromParent();
        } else {
          make_plain(instruction);
        }
      }
    }
  }
}

}  // namespace spile::codegen
