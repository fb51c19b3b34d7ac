// Helpers of the kernel write numbers to the stack of eBPF, which has 512 bytes: bpf_get_func_arg for each use of a parameter. A buffer that is read
// right behind the call is free afterwards, so that the next call can have it.

#include <algorithm>
#include <map>
#include <optional>

#include "codegen/ebpf/loadable.h"

namespace spile::codegen {

namespace {

struct Use {
  llvm::AllocaInst* buffer;
  llvm::Instruction *first, *last;
};

// Where a buffer is in use; absent: in several blocks, or its address goes elsewhere.
std::optional<Use> use_of(llvm::AllocaInst& buffer) {
  Use use{&buffer, nullptr, nullptr};
  for (llvm::User* user : buffer.users()) {
    auto* instruction = llvm::cast<llvm::Instruction>(user);
    const auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction);
    const bool keeps_address = store ? store->getValueOperand() == &buffer : !llvm::isa<llvm::LoadInst>(instruction) && !llvm::isa<llvm::CallInst>(instruction);
    if (keeps_address || (use.first && instruction->getParent() != use.first->getParent())) return std::nullopt;
    if (!use.first || instruction->comesBefore(use.first)) use.first = instruction;
    if (!use.last || use.last->comesBefore(instruction)) use.last = instruction;
  }
  // What is read before it is written would be another one's value.
  if (!use.first || !llvm::isa<llvm::StoreInst>(use.first)) return std::nullopt;
  return use;
}

void share_buffers(llvm::Function& function) {
  std::map<llvm::BasicBlock*, std::vector<Use>> blocks;
  for (llvm::Instruction& instruction : function.getEntryBlock()) {
    auto* buffer = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (!buffer || !buffer->getAllocatedType()->isIntegerTy(64) || !is_helper_buffer(*buffer)) continue;
    if (std::optional<Use> use = use_of(*buffer)) blocks[use->first->getParent()].push_back(*use);
  }
  std::vector<llvm::AllocaInst*> kept;  // the first one of each block that is free there is taken
  for (llvm::BasicBlock& block : function) {
    std::vector<Use>& uses = blocks[&block];
    std::ranges::sort(uses, [](const Use& a, const Use& b) { return a.first->comesBefore(b.first); });
    std::map<llvm::AllocaInst*, llvm::Instruction*> taken;  // until the instruction
    for (const Use& use : uses) {
      auto free = std::ranges::find_if(kept, [&](llvm::AllocaInst* buffer) {
        auto other = taken.find(buffer);
        return other == taken.end() || other->second->comesBefore(use.first);
      });
      llvm::AllocaInst* chosen = free == kept.end() ? use.buffer : *free;
      if (free == kept.end()) {
        // It stands at the beginning, as it serves blocks that come before its own one, too.
        chosen->moveBefore(function.getEntryBlock(), function.getEntryBlock().begin());
        kept.push_back(chosen);
      }
      taken[chosen] = use.last;
      if (chosen == use.buffer) continue;
      use.buffer->replaceAllUsesWith(chosen);
      use.buffer->eraseFromParent();
    }
  }
}

}  // namespace

void share_helper_buffers(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) share_buffers(function);
  }
}

}  // namespace spile::codegen
