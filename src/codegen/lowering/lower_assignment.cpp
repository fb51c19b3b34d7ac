// Assignments and increments: what is written, and the value that the expression has.
//
// A handler in a traced process or the kernel only ever adds to a sharded global (sema's classify-globals), so there an
// addition goes to the thread's own shard and nothing reads the result.

#include "codegen/bodies/lowering.h"
#include "syntax/visitor.h"

namespace spile::codegen {

using Operator = syntax::Assignment::Operator;

llvm::Value* Lowering::lower_assignment(const syntax::Assignment& assignment) {
  if (assignment.op == Operator::kAccumulate) {
    llvm::Value* value = lower(*assignment.value);
    accumulate(*assignment.target, value);
    return value;
  }
  if (const auto* variable = syntax::as<syntax::Variable>(assignment.target)) return assign_variable(*variable, assignment);
  if (const auto* element = syntax::as<syntax::Index>(assignment.target)) return assign_element(*element, assignment);
  return assign_target(assignment);
}

// The new value from the old one, for all but plain `=`.
llvm::Value* Lowering::combine(const syntax::Assignment& assignment, llvm::Value* old, llvm::Value* value) {
  if (assignment.op == Operator::kArithmetic) {
    SourceRange range = operator_range(assignment.range, *assignment.target, *assignment.value);
    return arithmetic_.binary(assignment.arithmetic, old, value, range);
  }
  CHECK(assignment.op == Operator::kConcatenate);
  llvm::Value* out = frame_.temporary_string();
  call("spile_rt_string_concatenate", unit.module.none(), {out, old, value});
  return out;
}

void Lowering::store_variable(const syntax::Variable& variable, llvm::Value* value) {
  if (variable.local) {
    if (variable.local->type == ValueType::kString) {
      call("spile_rt_string_copy", unit.module.none(), {frame_.string_of(*variable.local), value});
    } else {
      b.CreateStore(value, frame_.long_of(*variable.local));
    }
    return;
  }
  llvm::Value* handle = unit.place.global(body, *variable.global);
  if (is_atomic(variable)) {
    b.CreateAlignedStore(value, handle, llvm::Align(8))->setAtomic(llvm::AtomicOrdering::Monotonic);
    return;
  }
  bool is_string = variable.global->type == ValueType::kString;
  call(is_string ? "spile_rt_string_set" : "spile_rt_long_set", unit.module.none(), {context, handle, value});
}

bool Lowering::is_atomic(const syntax::Variable& variable) const {
  return variable.global && unit.sharing_of(*variable.global) == sema::Sharing::kAtomic;
}

// Returns the value before the addition.
llvm::Value* Lowering::add_atomically(const syntax::Variable& variable, llvm::Value* delta) {
  llvm::Value* handle = unit.place.global(body, *variable.global);
  return b.CreateAtomicRMW(llvm::AtomicRMWInst::Add, handle, delta, llvm::Align(8), llvm::AtomicOrdering::Monotonic);
}

namespace {
bool is_addition(const syntax::Assignment& assignment) {
  return assignment.op == Operator::kArithmetic && (assignment.arithmetic == syntax::Binary::Operator::kAdd ||
                                                    assignment.arithmetic == syntax::Binary::Operator::kSubtract);
}
}  // namespace

llvm::Value* Lowering::assign_variable(const syntax::Variable& variable, const syntax::Assignment& assignment) {
  bool sharded = variable.global && unit.sharing_of(*variable.global) == sema::Sharing::kSharded && unit.place.has_shards();
  if ((sharded || is_atomic(variable)) && is_addition(assignment)) {
    llvm::Value* value = lower(*assignment.value);
    bool subtract = assignment.arithmetic == syntax::Binary::Operator::kSubtract;
    llvm::Value* delta = subtract ? b.CreateNeg(value) : value;
    if (!sharded) return b.CreateAdd(add_atomically(variable, delta), delta);
    add_to_global(*variable.global, delta);
    return value;
  }
  llvm::Value* value = lower(*assignment.value);
  if (assignment.op != Operator::kSet) value = combine(assignment, lower_variable(variable), value);
  store_variable(variable, value);
  return value;
}

void Lowering::add_to_global(const syntax::Global& global, llvm::Value* delta) {
  if (light_entered_) {
    llvm::BasicBlock* enter = block("light.enter");
    llvm::BasicBlock* entered = block("light.entered");
    b.CreateCondBr(b.CreateLoad(b.getInt1Ty(), light_entered_), entered, enter);
    b.SetInsertPoint(enter);
    llvm::Value* ok = call("spile_rt_enter_light", unit.module.i1(), {context});
    b.CreateStore(b.getInt1(true), light_entered_);
    llvm::BasicBlock* accepted = block("light.accepted");
    b.CreateCondBr(ok, accepted, light_refused_, llvm::MDBuilder(b.getContext()).createBranchWeights(10000, 1));
    b.SetInsertPoint(accepted);
    b.CreateBr(entered);
    b.SetInsertPoint(entered);
  }
  call("spile_rt_long_add", unit.module.none(), {context, unit.place.global(body, global), delta});
}

void Lowering::count_update(const syntax::Global& global, llvm::Value* place) {
  if (!unit.program.counts_updates[static_cast<size_t>(global.index)] || !unit.place.has_shards()) return;
  llvm::Value* updates = at_offset(place, 8);
  b.CreateStore(b.CreateAdd(b.CreateLoad(b.getInt64Ty(), updates), number(1)), updates);
}

llvm::Value* Lowering::assign_element(const syntax::Index& element, const syntax::Assignment& assignment) {
  const syntax::Global& global = *element.array->global;
  std::vector<const syntax::Expression*> indexes;
  for (const auto& index : element.indexes) indexes.push_back(index.get());
  MapLowering::Key key = lower_key(global, indexes);
  llvm::Value* value = lower(*assignment.value);
  bool is_string = global.type == ValueType::kString;
  // The very element that the value lies in may make room.
  if (is_string && syntax::info(global.array_kind).evicts) value = frame_.copied(value);
  if (!is_string && assignment.op == Operator::kSet) {
    maps_.set(global, key, value, element.range);
    return value;
  }
  llvm::Value* place = maps_.insert(global, key, element.range);
  if (assignment.op == Operator::kConcatenate) {
    // A value in a map of the kernel ends where its element ends: the verifier would not see that what is appended stays within.
    llvm::Value* out = unit.place.globals_are_memory() ? place : frame_.temporary_string();
    call("spile_rt_string_concatenate", unit.module.none(), {out, place, value});
    if (out != place) call("spile_rt_string_copy", unit.module.none(), {place, out});
    return out;
  }
  if (is_string) {
    call("spile_rt_string_copy", unit.module.none(), {place, value});
    return value;
  }
  value = combine(assignment, b.CreateLoad(b.getInt64Ty(), place), value);
  b.CreateStore(value, place);
  count_update(global, place);
  return value;
}

llvm::Value* Lowering::lower_increment(const syntax::Increment& increment) {
  llvm::Value* delta = number(increment.delta);
  if (const auto* element = syntax::as<syntax::Index>(increment.operand)) {
    std::vector<const syntax::Expression*> indexes;
    for (const auto& index : element->indexes) indexes.push_back(index.get());
    MapLowering::Key key = lower_key(*element->array->global, indexes);
    llvm::Value* place = maps_.insert(*element->array->global, key, element->range);
    llvm::Value* old = b.CreateLoad(b.getInt64Ty(), place);
    llvm::Value* updated = b.CreateAdd(old, delta);
    b.CreateStore(updated, place);
    count_update(*element->array->global, place);
    return increment.is_prefix ? updated : old;
  }
  const auto* variable = syntax::as<syntax::Variable>(increment.operand);
  if (!variable) return increment_target(increment);
  if (variable->global && unit.sharing_of(*variable->global) == sema::Sharing::kSharded && unit.place.has_shards()) {
    add_to_global(*variable->global, delta);
    return number(0);
  }
  const bool atomic = is_atomic(*variable);
  llvm::Value* old = atomic ? add_atomically(*variable, delta) : lower_variable(*variable);
  llvm::Value* updated = b.CreateAdd(old, delta);
  if (!atomic) store_variable(*variable, updated);
  return increment.is_prefix ? updated : old;
}

// s <<< value, a[k] <<< value
void Lowering::accumulate(const syntax::Expression& target, llvm::Value* value) {
  llvm::Value* aggregate = nullptr;
  const syntax::Global* global = nullptr;
  if (const auto* variable = syntax::as<syntax::Variable>(target)) {
    global = variable->global;
    aggregate = aggregates_.storage(*global, target.range);
  } else {
    const auto* element = syntax::as<syntax::Index>(target);
    global = element->array->global;
    std::vector<const syntax::Expression*> indexes;
    for (const auto& index : element->indexes) indexes.push_back(index.get());
    aggregate = maps_.insert(*global, lower_key(*global, indexes), element->range);
  }
  if (unit.layout_of(*global).aggregate.features & abi::kAggregateSketch && !unit.place.globals_are_memory()) {
    unit.refuse(target.range,
                "percentiles of '" + global->name +
                    "' are not available in a handler that runs in the kernel, before Linux 6.12 or for large arrays",
                global->is_array ? "declare how many elements the array needs: global " + global->name + "[100]"
                                 : "@hist_log(" + global->name + ") is");
  }
  aggregates_.add(*global, aggregate, value);
}

}  // namespace spile::codegen
