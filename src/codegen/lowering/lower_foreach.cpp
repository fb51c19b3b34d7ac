// foreach, over the elements of an array and over the buckets of a histogram.

#include "codegen/bodies/lowering.h"
#include "syntax/visitor.h"

namespace spile::codegen {

std::vector<llvm::Value*> Lowering::lower_slice(llvm::ArrayRef<const syntax::Expression*> slice) {
  std::vector<llvm::Value*> wanted;
  for (const syntax::Expression* index : slice) {
    if (!index) {
      wanted.push_back(nullptr);
      continue;
    }
    llvm::Value* value = lower(*index);
    wanted.push_back(index->type == ValueType::kString ? frame_.copied(value) : value);
  }
  return wanted;
}

void Lowering::lower_foreach(const syntax::Foreach& loop) {
  if (loop.histogram) return lower_bucket_loop(loop);
  Frame::Temporaries temporaries(frame_);
  const syntax::Global& global = *loop.array->global;
  MapLowering::Order order;
  order.column = static_cast<uint32_t>(loop.sort_column);
  order.direction = loop.sort_direction;
  order.statistic = static_cast<uint32_t>(loop.sort_by.value_or(syntax::Statistic::Operator::kCount));
  if (loop.limit) order.limit = lower(*loop.limit);
  std::vector<const syntax::Expression*> slice;
  for (const auto& index : loop.slice) slice.push_back(index.get());
  maps_.iterate(global, lower_slice(slice), order, loop.range, [&](llvm::Value* element, const MapLowering::Blocks& blocks) {
    lower_foreach_body(loop, element, {blocks.on_break, blocks.on_continue, errors_.open_tries()});
  });
}

void Lowering::lower_foreach_body(const syntax::Foreach& loop, llvm::Value* element, const Loop& blocks) {
  const syntax::Global& global = *loop.array->global;
  spend_actions(*loop.body, loop.range);
  std::vector<llvm::Value*> keys = maps_.keys_of(global, element);
  for (size_t i = 0; i < loop.keys.size(); ++i) store_variable(*loop.keys[i], keys[i]);
  if (loop.value) {
    if (global.type == ValueType::kStats) unit.refuse(loop.value->range, "an aggregate can't be assigned to a variable");
    else store_variable(*loop.value, maps_.value_of(global, element));
  }
  loops_.push_back(blocks);
  lower(*loop.body);
  loops_.pop_back();
}

// foreach (bucket in @hist_log(s)): every bucket's number, from 0; with `value = bucket`, its count too.
void Lowering::lower_bucket_loop(const syntax::Foreach& loop) {
  const auto* stats = loop.histogram->stats.get();
  const syntax::Global& global = *(syntax::as<syntax::Index>(*stats) ? syntax::as<syntax::Index>(*stats)->array->global
                                                                     : syntax::as<syntax::Variable>(*stats)->global);
  Frame::Temporaries temporaries(frame_);
  llvm::Value* limit = number(aggregates_.bucket_count(global));
  if (loop.limit) limit = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, limit, lower(*loop.limit));
  llvm::Value* aggregate = aggregate_of(*stats);
  llvm::Value* next = frame_.loop_variable(b.getInt64Ty(), "bucket");
  llvm::Value* exit = frame_.loop_exit();
  b.CreateStore(number(0), next);
  llvm::BasicBlock *head = block("bucket"), *visit = block("bucket.visit"), *done = block("bucket.done");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::Value* index = b.CreateLoad(b.getInt64Ty(), next);
  b.CreateCondBr(b.CreateICmpSLT(index, limit), visit, done);
  b.SetInsertPoint(visit);
  b.CreateStore(b.CreateAdd(index, number(1)), next);
  spend_actions(*loop.body, loop.range);
  if (!loop.keys.empty()) store_variable(*loop.keys[0], index);
  if (loop.value) store_variable(*loop.value, aggregates_.bucket(aggregate, index));
  loops_.push_back({done, head, errors_.open_tries()});
  lower(*loop.body);
  loops_.pop_back();
  branch_if_open(head);
  b.SetInsertPoint(done);
  maps_.note_loop(head, done, exit, loop.range);
}

}  // namespace spile::codegen
