// foreach, over the elements of an array and over the buckets of a histogram.
//
// The runtime makes a (sorted) snapshot of the elements in scratch memory; slices and `limit` are applied here, element
// by element.

#include "codegen/lowering.h"
#include "syntax/visitor.h"

namespace spile::codegen {

// The keys of an element, in order; *length: of the packed key.
std::vector<llvm::Value*> Lowering::element_keys(const syntax::Global& global, llvm::Value* element,
                                                 llvm::Value** length) {
  llvm::Value* key = call("spile_rt_element_key", unit.module.ptr(), {element, unit.map_shape(global)});
  llvm::Value* at = b.getInt32(0);
  std::vector<llvm::Value*> keys;
  for (ValueType type : global.key_types) {
    if (type == ValueType::kString) {
      keys.push_back(call("spile_rt_key_get_string", unit.module.ptr(), {key, at}));
      at = call("spile_rt_key_skip_string", b.getInt32Ty(), {key, at});
    } else {
      keys.push_back(call("spile_rt_key_get_long", b.getInt64Ty(), {key, at}));
      at = b.CreateAdd(at, b.getInt32(8));
    }
  }
  *length = at;
  return keys;
}

// Null where the slice has `*`.
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

void Lowering::match_slice(const syntax::Global& global, llvm::ArrayRef<llvm::Value*> wanted,
                           llvm::ArrayRef<llvm::Value*> keys, llvm::BasicBlock* otherwise) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    llvm::Value* equal = nullptr;
    if (global.key_types[i] == ValueType::kString) {
      llvm::Value* order = call("spile_rt_string_compare", b.getInt32Ty(), {keys[i], wanted[i]});
      equal = b.CreateICmpEQ(order, b.getInt32(0));
    } else {
      equal = b.CreateICmpEQ(keys[i], wanted[i]);
    }
    llvm::BasicBlock* go_on = block("slice.next");
    b.CreateCondBr(equal, go_on, otherwise);
    b.SetInsertPoint(go_on);
  }
}

void Lowering::iterate(const syntax::Global& global, llvm::ArrayRef<const syntax::Expression*> slice, const Order& order,
                       SourceRange range, const std::function<void(llvm::Value*, const Loop&)>& visit_element) {
  std::vector<llvm::Value*> wanted = lower_slice(slice);
  bool filters = std::any_of(wanted.begin(), wanted.end(), [](auto* v) { return v != nullptr; });
  llvm::Value* mark = frame_.mark();
  llvm::Value* hint = order.limit && !filters ? order.limit : number(-1);
  llvm::Value* iteration = call("spile_rt_iterate", unit.module.ptr(),
                                {context, unit.place.global(body, global), unit.map_shape(global), b.getInt32(order.column),
                                 b.getInt32(static_cast<uint32_t>(order.direction)), b.getInt32(order.statistic), hint});
  errors_.raise_if(b.CreateIsNull(iteration), range, "no scratch memory is left to iterate over '" + global.name + "'");
  llvm::Value* left = entry_alloca(b.getInt64Ty(), "left");
  if (order.limit) b.CreateStore(order.limit, left);

  llvm::BasicBlock *head = block("each"), *visit = block("each.visit"), *done = block("each.done");
  Loop blocks{done, head, errors_.open_tries()};
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::Value* element = call("spile_rt_iterate_next", unit.module.ptr(), {iteration});
  b.CreateCondBr(b.CreateIsNull(element), done, visit);
  b.SetInsertPoint(visit);
  if (filters) {
    llvm::Value* length = nullptr;
    match_slice(global, wanted, element_keys(global, element, &length), head);
  }
  if (order.limit) {
    llvm::Value* remaining = b.CreateLoad(b.getInt64Ty(), left);
    llvm::BasicBlock* within = block("each.within");
    b.CreateCondBr(b.CreateICmpSGT(remaining, number(0)), within, done);
    b.SetInsertPoint(within);
    b.CreateStore(b.CreateSub(remaining, number(1)), left);
  }
  visit_element(element, blocks);
  branch_if_open(head);
  b.SetInsertPoint(done);
  frame_.release_to(mark);
}

void Lowering::lower_foreach(const syntax::Foreach& loop) {
  if (loop.histogram) return lower_bucket_loop(loop);
  Frame::Temporaries temporaries(frame_);
  const syntax::Global& global = *loop.array->global;
  Order order;
  order.column = static_cast<uint32_t>(loop.sort_column);
  order.direction = loop.sort_direction;
  order.statistic = static_cast<uint32_t>(loop.sort_by.value_or(syntax::Statistic::Operator::kCount));
  if (loop.limit) order.limit = lower(*loop.limit);
  std::vector<const syntax::Expression*> slice;
  for (const auto& index : loop.slice) slice.push_back(index.get());
  iterate(global, slice, order, loop.range,
          [&](llvm::Value* element, const Loop& blocks) { lower_foreach_body(loop, element, blocks); });
}

void Lowering::lower_foreach_body(const syntax::Foreach& loop, llvm::Value* element, const Loop& blocks) {
  const syntax::Global& global = *loop.array->global;
  spend_actions(*loop.body, loop.range);
  llvm::Value* length = nullptr;
  std::vector<llvm::Value*> keys = element_keys(global, element, &length);
  for (size_t i = 0; i < loop.keys.size(); ++i) store_variable(*loop.keys[i], keys[i]);
  if (loop.value) {
    llvm::Value* place = call("spile_rt_element_value", unit.module.ptr(), {element, unit.map_shape(global)});
    if (global.type == ValueType::kStats) unit.refuse(loop.value->range, "an aggregate can't be assigned to a variable");
    else store_variable(*loop.value, global.type == ValueType::kString ? place : b.CreateLoad(b.getInt64Ty(), place));
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
  llvm::Value* limit = number(bucket_count(global));
  if (loop.limit) limit = b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, limit, lower(*loop.limit));
  llvm::Value* aggregate = aggregate_of(*stats);
  llvm::Value* next = entry_alloca(b.getInt64Ty(), "bucket");
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
  if (loop.value) store_variable(*loop.value, bucket(aggregate, index));
  loops_.push_back({done, head, errors_.open_tries()});
  lower(*loop.body);
  loops_.pop_back();
  branch_if_open(head);
  b.SetInsertPoint(done);
}

}  // namespace spile::codegen
