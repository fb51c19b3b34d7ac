// Helpers of the kernel write to the stack of eBPF, which has 512 bytes: bpf_get_func_arg for each use of a parameter, pid(),
// execname(). A buffer that has been read is free afterwards, so that the next call can have it.

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "codegen/ebpf/loadable.h"

namespace spile::codegen {

namespace {

// A use of a buffer by a load, a store to it, or a call: where, and which of its bytes.
struct Access {
  llvm::Instruction* instruction;
  uint64_t offset;
};

// The part of a block in which a buffer is in use.
struct Interval {
  llvm::Instruction *first, *last;
  bool overlaps(const Interval& other) const { return !last->comesBefore(other.first) && !other.last->comesBefore(first); }
};
using Intervals = std::map<llvm::BasicBlock*, Interval>;

uint64_t size_of(const llvm::AllocaInst& buffer) {
  return buffer.getModule()->getDataLayout().getTypeAllocSize(buffer.getAllocatedType());
}

// All uses of a buffer in the order of their blocks; absent: its address goes elsewhere.
std::optional<std::vector<Access>> accesses_of(llvm::AllocaInst& buffer) {
  std::vector<Access> accesses;
  std::vector<std::pair<llvm::Value*, uint64_t>> addresses = {{&buffer, 0}};
  while (!addresses.empty()) {
    auto [address, offset] = addresses.back();
    addresses.pop_back();
    for (llvm::User* user : address->users()) {
      auto* instruction = llvm::cast<llvm::Instruction>(user);
      if (auto* place = llvm::dyn_cast<llvm::GetElementPtrInst>(instruction)) {
        llvm::APInt moved(64, 0);
        if (!place->accumulateConstantOffset(buffer.getModule()->getDataLayout(), moved) || moved.isNegative())
          return std::nullopt;
        addresses.emplace_back(place, offset + moved.getZExtValue());
        continue;
      }
      const auto* store = llvm::dyn_cast<llvm::StoreInst>(instruction);
      if (store ? store->getValueOperand() == address
                : !llvm::isa<llvm::LoadInst>(instruction) && !llvm::isa<llvm::CallInst>(instruction))
        return std::nullopt;
      accesses.push_back({instruction, offset});
    }
  }
  return accesses;
}

// Whether stores write all of a buffer in a block before anything else uses it.
bool starts_with_stores(std::vector<Access> accesses, uint64_t size) {
  std::ranges::sort(accesses, [](const Access& a, const Access& b) { return a.instruction->comesBefore(b.instruction); });
  std::vector<bool> written(size);
  for (const Access& access : accesses) {
    auto* store = llvm::dyn_cast<llvm::StoreInst>(access.instruction);
    if (!store) break;
    const uint64_t stored = store->getModule()->getDataLayout().getTypeStoreSize(store->getValueOperand()->getType());
    for (uint64_t i = access.offset; i < std::min(size, access.offset + stored); ++i) written[i] = true;
  }
  return std::ranges::all_of(written, [](bool one) { return one; });
}

// Where a buffer is in use: all of a block that another block's value lives in. Absent: its address goes elsewhere, or it may be
// read before it is written, which would yield another one's value.
std::optional<Intervals> intervals_of(llvm::AllocaInst& buffer) {
  std::optional<std::vector<Access>> accesses = accesses_of(buffer);
  if (!accesses) return std::nullopt;
  std::map<llvm::BasicBlock*, std::vector<Access>> by_block;
  for (const Access& access : *accesses) by_block[access.instruction->getParent()].push_back(access);
  Intervals intervals;
  std::vector<llvm::BasicBlock*> pending;  // at whose beginning the buffer has a value of before
  for (auto& [block, here] : by_block) {
    auto before = [](const Access& a, const Access& b) { return a.instruction->comesBefore(b.instruction); };
    auto [first, last] = std::ranges::minmax_element(here, before);
    intervals[block] = {first->instruction, last->instruction};
    if (!starts_with_stores(here, size_of(buffer))) pending.push_back(block);
  }
  std::set<llvm::BasicBlock*> lives(pending.begin(), pending.end());
  while (!pending.empty()) {
    llvm::BasicBlock* block = pending.back();
    pending.pop_back();
    if (block->isEntryBlock()) return std::nullopt;
    intervals[block] = {&block->front(), block->getTerminator()};
    for (llvm::BasicBlock* predecessor : llvm::predecessors(block)) {
      const bool begins_there = by_block.contains(predecessor) && starts_with_stores(by_block[predecessor], size_of(buffer));
      llvm::Instruction* from = begins_there ? intervals[predecessor].first : &predecessor->front();
      intervals[predecessor] = {from, predecessor->getTerminator()};
      if (!begins_there && lives.insert(predecessor).second) pending.push_back(predecessor);
    }
  }
  return intervals;
}

bool overlap(const Intervals& a, const Intervals& b) {
  return std::ranges::any_of(a, [&](const auto& one) {
    auto other = b.find(one.first);
    return other != b.end() && one.second.overlaps(other->second);
  });
}

void share_buffers(llvm::Function& function) {
  constexpr uint64_t kLargest = 64;
  std::vector<std::pair<llvm::AllocaInst*, Intervals>> kept, buffers;
  for (llvm::Instruction& instruction : function.getEntryBlock()) {
    auto* buffer = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (!buffer || buffer->isArrayAllocation() || !is_helper_buffer(*buffer) || size_of(*buffer) > kLargest ||
        buffer->getAlign() > 8)
      continue;
    if (std::optional<Intervals> intervals = intervals_of(*buffer)) buffers.emplace_back(buffer, std::move(*intervals));
  }
  // The larger ones first: smaller ones fit into them.
  std::ranges::stable_sort(buffers, [](const auto& a, const auto& b) { return size_of(*a.first) > size_of(*b.first); });
  for (auto& [buffer, intervals] : buffers) {
    auto free = std::ranges::find_if(kept, [&](const auto& other) { return !overlap(intervals, other.second); });
    if (free == kept.end()) {
      // It stands at the beginning, as it serves uses that come before its own one, too.
      buffer->setAlignment(llvm::Align(8));
      kept.emplace_back(buffer, intervals);
      continue;
    }
    auto& [chosen, taken] = *free;
    for (auto& [block, interval] : intervals) {
      auto [other, fresh] = taken.try_emplace(block, interval);
      if (fresh) continue;
      if (interval.first->comesBefore(other->second.first)) other->second.first = interval.first;
      if (other->second.last->comesBefore(interval.last)) other->second.last = interval.last;
    }
    buffer->replaceAllUsesWith(chosen);
    buffer->eraseFromParent();
  }
  for (auto& [buffer, intervals] : kept) buffer->moveBefore(function.getEntryBlock(), function.getEntryBlock().begin());
}

}  // namespace

void share_helper_buffers(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) share_buffers(function);
  }
}

}  // namespace spile::codegen
