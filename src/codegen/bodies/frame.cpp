#include "codegen/bodies/frame.h"

#include <algorithm>

namespace spile::codegen {

void Frame::reset() {
  longs_.clear();
  placed_.clear();
  string_offsets_.clear();
  long_offsets_.clear();
  top_ = peak_ = 0;
  needs_mark_ = false;
}

void Frame::declare(const std::vector<std::unique_ptr<syntax::Local>>& locals, bool in_loops) {
  for (const auto& local : locals) {
    const bool is_string = local->type == ValueType::kString;
    if (is_string || (in_loops && unit.place.repeats_by_calls())) {
      placed_[local.get()] = top_;
      (is_string ? string_offsets_ : long_offsets_).push_back(top_);
      top_ += is_string ? unit.layout.string_size : 8;
      peak_ = std::max(peak_, top_);
    } else {
      longs_[local.get()] = entry_alloca(b.getInt64Ty(), local->name.c_str());
      b.CreateStore(number(0), longs_[local.get()]);
    }
  }
}

void Frame::open() {
  base_ = entry_alloca(unit.module.ptr(), "frame");
  mark_ = entry_alloca(b.getInt64Ty(), "mark");
  taking_ = block("frame");
  taken_ = block("body");
  b.CreateBr(taking_);
  b.SetInsertPoint(taken_);
}

void Frame::close(const std::function<void()>& on_failure) {
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(taking_);
  if (needs_mark_ || peak_ > 0) {
    b.CreateStore(call("spile_rt_frame_mark", b.getInt64Ty(), {context}), mark_);
  }
  if (peak_ > 0) {
    llvm::Value* base = call("spile_rt_frame", unit.module.ptr(), {context, b.getInt32(peak_)});
    b.CreateStore(base, base_);
    llvm::BasicBlock *none = block("frame.none"), *made = block("frame.made");
    b.CreateCondBr(b.CreateIsNull(base), none, made, llvm::MDBuilder(b.getContext()).createBranchWeights(1, 100000));
    b.SetInsertPoint(none);
    on_failure();
    b.SetInsertPoint(made);
    for (uint32_t offset : string_offsets_) b.CreateStore(b.getInt8(0), at_offset(base, offset));
    for (uint32_t offset : long_offsets_) b.CreateStore(number(0), at_offset(base, offset));
  }
  b.CreateBr(taken_);
}

void Frame::release() {
  if (!needs_mark_ && peak_ == 0) return;
  release_to(b.CreateLoad(b.getInt64Ty(), mark_));
}

llvm::Value* Frame::address(uint32_t offset) {
  llvm::Value* base = b.CreateLoad(unit.module.ptr(), base_);
  return at_offset(base, offset);
}

llvm::Value* Frame::string_of(const syntax::Local& local) { return address(placed_.at(&local)); }

llvm::Value* Frame::long_of(const syntax::Local& local) {
  auto variable = longs_.find(&local);
  return variable != longs_.end() ? variable->second : address(placed_.at(&local));
}

llvm::Value* Frame::loop_variable(llvm::Type* type, const char* name) {
  return unit.place.repeats_by_calls() ? temporary_bytes(8) : entry_alloca(type, name);
}

llvm::Value* Frame::loop_exit() { return unit.place.repeats_by_calls() ? temporary_bytes(8) : nullptr; }

llvm::Value* Frame::temporary_bytes(uint32_t bytes) {
  uint32_t offset = top_;
  top_ += (bytes + 7) / 8 * 8;
  peak_ = std::max(peak_, top_);
  return address(offset);
}

llvm::Value* Frame::temporary_string() { return temporary_bytes(unit.layout.string_size); }

llvm::Value* Frame::copied(llvm::Value* string) {
  llvm::Value* out = temporary_string();
  call("spile_rt_string_copy", unit.module.none(), {out, string});
  return out;
}

llvm::Value* Frame::mark() {
  needs_mark_ = true;
  return call("spile_rt_frame_mark", b.getInt64Ty(), {context});
}

void Frame::release_to(llvm::Value* mark) { call("spile_rt_frame_release", unit.module.none(), {context, mark}); }

}  // namespace spile::codegen
