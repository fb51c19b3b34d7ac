// Functions of the controller's image: initial values, merging of shards, the bodies of begin, end and timer probes, and
// access to the controller's copies of globals for back ends that keep theirs elsewhere.

#include "codegen/bodies/call_points.h"
#include "codegen/bodies/lowering.h"
#include "codegen/process/lower_native.h"
#include "codegen/terms/global_cursor.h"
#include "sema/terms/recorded.h"
#include "syntax/visitor.h"

namespace spile::codegen {

llvm::Value* load_register(llvm::IRBuilder<>& builder, llvm::Value* registers, size_t offset) {
  return builder.CreateLoad(builder.getInt64Ty(), builder.CreateConstGEP1_64(builder.getInt8Ty(), registers, offset));
}

uint32_t save_bytes(const Layout& layout, const sema::Probe& probe) {
  uint32_t bytes = 0;
  for (const auto& save : probe.entry_saves) bytes += save->type == ValueType::kString ? layout.string_size : 8;
  return bytes;
}

namespace {

// An exported C function with a context that has entered.
class ControllerFunction {
 public:
  ControllerFunction(Unit& u, const std::string& name, llvm::Type* result, llvm::ArrayRef<llvm::Type*> parameters)
      : unit(u),
        function(u.module.add_function(name, llvm::FunctionType::get(result, parameters, false))),
        b(llvm::BasicBlock::Create(u.module.context(), "entry", function)) {
    context = b.CreateAlloca(llvm::ArrayType::get(b.getInt64Ty(), sizeof(abi::Context) / 8), nullptr, "context");
    state = b.CreateAlloca(llvm::ArrayType::get(b.getInt64Ty(), sizeof(State) / 8), nullptr, "state");
    u.module.export_function(function);
    call("spile_rt_enter", u.module.i1(), {context});
  }

  llvm::Value* call(const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments) {
    return unit.module.call_runtime(b, name, result, arguments);
  }
  void leave() { call("spile_rt_leave", unit.module.none(), {context}); }
  llvm::Value* number(uint64_t value) { return b.getInt64(value); }
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b.getContext(), name, function); }
  llvm::Value* handle(const syntax::Global& global) {
    return call("spile_rt_shared", unit.module.ptr(), {context, number(unit.layout_of(global).storage)});
  }
  llvm::Value* offset(llvm::Value* pointer, llvm::Value* bytes) { return b.CreateGEP(b.getInt8Ty(), pointer, bytes); }

  Unit& unit;
  llvm::Function* function;
  llvm::IRBuilder<> b;
  llvm::Value* context;
  llvm::Value* state;
};

void lower_init(Unit& unit) {
  ControllerFunction f(unit, "init", unit.module.none(), {});
  for (const syntax::Global* global : unit.program.globals) {
    llvm::Value* handle = f.handle(*global);
    if (global->is_array) {
      f.call("spile_rt_map_init", unit.module.none(), {handle, unit.map_shape(*global)});
    } else if (const auto* text = syntax::as<syntax::String>(global->initial)) {
      f.call("spile_rt_string_set", unit.module.none(),
             {f.context, handle, unit.module.text(std::string_view(text->value).substr(0, unit.layout.string_limit - 1))});
    } else if (const auto* value = syntax::as<syntax::Number>(global->initial)) {
      f.call("spile_rt_long_set", unit.module.none(), {f.context, handle, f.number(static_cast<uint64_t>(value->value))});
    }
  }
  f.leave();
  f.b.CreateRetVoid();
}

// The slots of one arena, from the `first` on. offset: where the arena begins in spile's. Shards lie at the same places in all
// slots.
struct SlotsOf {
  const Layout& layout;
  uint64_t offset;
  uint64_t first;
};

// merged += shard - seen; seen = shard. The shard itself belongs to its thread and is never written here.
void merge_scalar(ControllerFunction& f, const SlotsOf& slots, const syntax::Global& global, llvm::Value* arena,
                  llvm::Value* shards, llvm::Value* slot) {
  const GlobalLayout& layout = f.unit.layout_of(global);
  const uint64_t all_seen = slots.offset + slots.layout.globals[static_cast<size_t>(global.index)].seen;
  llvm::Value* value = f.b.CreateLoad(f.b.getInt64Ty(), f.offset(shards, f.number(layout.shard)), true);
  llvm::Value* seen = f.offset(arena, f.b.CreateAdd(f.number(all_seen), f.b.CreateShl(slot, f.number(3))));
  llvm::Value* delta = f.b.CreateSub(value, f.b.CreateLoad(f.b.getInt64Ty(), seen));
  f.b.CreateStore(value, seen);
  llvm::Value* merged = f.offset(arena, f.number(layout.storage));
  f.b.CreateStore(f.b.CreateAdd(f.b.CreateLoad(f.b.getInt64Ty(), merged), delta), merged);
}

// i32 or i64 of a slot's head.
llvm::Value* slot_field(ControllerFunction& f, llvm::Value* slot_address, size_t offset, llvm::Type* type) {
  return f.b.CreateLoad(type, f.offset(slot_address, f.number(offset)), true);
}

void merge_shard(ControllerFunction& f, const syntax::Global& global, llvm::Value* of_epoch, llvm::Value* lost) {
  llvm::Value* shard = f.offset(of_epoch, f.number(f.unit.layout_of(global).shard));
  bool stats = global.type == ValueType::kStats;
  llvm::Value* aggregate =
      stats ? f.unit.aggregate_shape(global) : static_cast<llvm::Value*>(llvm::ConstantPointerNull::get(f.unit.module.ptr()));
  if (!global.is_array) {
    f.call("spile_rt_aggregate_merge", f.unit.module.none(), {f.handle(global), shard, aggregate});
    return;
  }
  llvm::Value* more =
      f.call("spile_rt_map_merge", f.b.getInt64Ty(), {f.context, f.handle(global), shard, f.unit.map_shape(global), aggregate});
  f.b.CreateStore(f.b.CreateAdd(f.b.CreateLoad(f.b.getInt64Ty(), lost), more), lost);
}

// Leaves out maps and aggregates of a thread that still stands in a handler of that epoch: it may be in the midst of a
// change. They come with the next epoch of the same parity.
void merge_slot(ControllerFunction& f, const SlotsOf& slots, llvm::Value* arena, llvm::Value* slot, llvm::Value* address,
                llvm::Value* epoch, llvm::Value* lost) {
  llvm::Value* shards = f.offset(address, f.number(slots.layout.arena.shards_offset));
  llvm::BasicBlock *quiet = f.block("quiet"), *merged = f.block("merged");
  for (const syntax::Global* global : f.unit.program.globals) {
    bool sharded = f.unit.sharing_of(*global) == sema::Sharing::kSharded;
    if (sharded && !f.unit.layout_of(*global).in_epochs) merge_scalar(f, slots, *global, arena, shards, slot);
  }
  llvm::Value* busy = slot_field(f, address, offsetof(abi::ThreadSlot, busy), f.b.getInt32Ty());
  f.b.CreateCondBr(f.b.CreateICmpEQ(busy, f.b.CreateAdd(epoch, f.b.getInt32(1))), merged, quiet);
  f.b.SetInsertPoint(quiet);
  llvm::Value* parity = f.b.CreateZExt(f.b.CreateAnd(epoch, 1), f.b.getInt64Ty());
  llvm::Value* of_epoch = f.offset(shards, f.b.CreateMul(parity, f.number(f.unit.layout.epoch_stride)));
  for (const syntax::Global* global : f.unit.program.globals) {
    bool sharded = f.unit.sharing_of(*global) == sema::Sharing::kSharded;
    if (sharded && f.unit.layout_of(*global).in_epochs) merge_shard(f, *global, of_epoch, lost);
  }
  f.b.CreateBr(merged);
  f.b.SetInsertPoint(merged);
}

// Merges the slots up to the first one that no thread has ever claimed (claims take the lowest free one): memory that
// nothing has touched stays untouched.
void merge_slots(ControllerFunction& f, const SlotsOf& slots, llvm::Value* epoch, llvm::Value* lost) {
  const ArenaLayout& layout = slots.layout.arena;
  llvm::Value* next = f.b.CreateAlloca(f.b.getInt64Ty(), nullptr, "slot");
  f.b.CreateStore(f.number(slots.first), next);
  llvm::Value* end = f.number(layout.slot_count);
  llvm::Value* arena = f.call("spile_rt_shared", f.unit.module.ptr(), {f.context, f.number(0)});
  llvm::BasicBlock *head = f.block("slot"), *check = f.block("check"), *work = f.block("merge"), *done = f.block("done");
  f.b.CreateBr(head);
  f.b.SetInsertPoint(head);
  llvm::Value* slot = f.b.CreateLoad(f.b.getInt64Ty(), next);
  llvm::Value* address = f.offset(
      arena, f.b.CreateAdd(f.b.CreateMul(slot, f.number(layout.slot_stride)), f.number(slots.offset + layout.slots_offset)));
  f.b.CreateCondBr(f.b.CreateICmpULT(slot, end), check, done);
  f.b.SetInsertPoint(check);
  llvm::Value* owner = slot_field(f, address, offsetof(abi::ThreadSlot, owner), f.b.getInt64Ty());
  llvm::Value* ever = slot_field(f, address, offsetof(abi::ThreadSlot, thread_pointer), f.b.getInt64Ty());
  f.b.CreateCondBr(f.b.CreateIsNull(f.b.CreateOr(owner, ever)), done, work);
  f.b.SetInsertPoint(work);
  merge_slot(f, slots, arena, slot, address, epoch, lost);
  f.b.CreateStore(f.b.CreateAdd(slot, f.number(1)), next);
  f.b.CreateBr(head);
  f.b.SetInsertPoint(done);
}

void lower_merge(Unit& unit) {
  ControllerFunction f(unit, "merge", unit.module.i64(), {unit.module.i32()});
  llvm::Value* lost = f.b.CreateAlloca(f.b.getInt64Ty(), nullptr, "lost");
  f.b.CreateStore(f.number(0), lost);
  bool any =
      std::any_of(unit.program.sharing.begin(), unit.program.sharing.end(), [](auto s) { return s == sema::Sharing::kSharded; });
  if (any) merge_slots(f, {unit.layout, 0, abi::kOverflowSlot}, f.function->getArg(0), lost);
  if (any && unit.kernel_layout)
    merge_slots(f, {*unit.kernel_layout, unit.layout.arena.kernel_offset, abi::kFirstSlot}, f.function->getArg(0), lost);
  f.leave();
  f.b.CreateRet(f.b.CreateLoad(f.b.getInt64Ty(), lost));
}

void lower_controller_probe(Unit& unit, const sema::Probe& probe) {
  ControllerFunction f(unit, "probe." + std::to_string(probe.index), unit.module.none(), {});
  Body body(unit, f.b, f.context, f.state);
  llvm::BasicBlock* end = nullptr;
  if (sema::is_for_some_calls(probe)) {
    // The point is the number of the site.
    llvm::BasicBlock* wanted = f.block("wanted");
    end = f.block("end");
    llvm::Value* point = point_of_call(unit, f.b, probe, unit.place.call_number(body));
    f.b.CreateCondBr(f.b.CreateICmpNE(point, f.number(0)), wanted, end);
    f.b.SetInsertPoint(wanted);
    body.site.site_id = f.b.CreateSub(point, f.number(1));
    f.b.CreateStore(body.site.site_id, body.context_field(offsetof(abi::Context, site_id)));
  }
  Lowering lowering(body);
  lowering.store_site();
  lowering.lower_probe(probe);
  if (end) {
    f.b.CreateBr(end);
    f.b.SetInsertPoint(end);
  }
  f.leave();
  f.b.CreateRetVoid();
}

// uint64_t(): whether a probe of traced processes is wanted now.
void lower_controller_condition(Unit& unit, const sema::Probe& probe) {
  ControllerFunction f(unit, "condition." + std::to_string(probe.index), unit.module.i64(), {});
  Body body(unit, f.b, f.context, f.state);
  Lowering lowering(body);
  llvm::Value* wanted = lowering.lower_switch(probe);
  f.leave();
  f.b.CreateRet(wanted);
}

// A switch over globals by their index; `each` fills a global's block, which must end itself.
void for_each_global(ControllerFunction& f, llvm::Value* index, llvm::BasicBlock* otherwise,
                     const std::function<void(const syntax::Global&)>& each) {
  auto* choice = f.b.CreateSwitch(index, otherwise);
  for (const syntax::Global* global : f.unit.program.globals) {
    llvm::BasicBlock* of_global = f.block("global");
    choice->addCase(f.b.getInt32(static_cast<uint32_t>(global->index)), of_global);
    f.b.SetInsertPoint(of_global);
    each(*global);
  }
}

void lower_global_clear(Unit& unit) {
  ControllerFunction f(unit, "global_clear", unit.module.none(), {unit.module.i32()});
  llvm::BasicBlock* done = f.block("done");
  for_each_global(f, f.function->getArg(0), done, [&](const syntax::Global& global) {
    llvm::Value* handle = f.handle(global);
    if (global.is_array) f.call("spile_rt_map_clear", unit.module.none(), {f.context, handle, unit.map_shape(global)});
    else if (global.type == ValueType::kStats)
      f.call("spile_rt_aggregate_clear", unit.module.none(), {handle, unit.aggregate_shape(global)});
    else if (global.type == ValueType::kString)
      f.call("spile_rt_string_set", unit.module.none(), {f.context, handle, unit.module.text("")});
    else f.call("spile_rt_long_set", unit.module.none(), {f.context, handle, f.number(0)});
    f.b.CreateBr(done);
  });
  f.b.SetInsertPoint(done);
  f.leave();
  f.b.CreateRetVoid();
}

void store_value(ControllerFunction& f, const syntax::Global& global, llvm::Value* place, llvm::Value* value) {
  if (global.type == ValueType::kString) {
    f.call("spile_rt_string_copy", f.unit.module.none(), {place, value});
    return;
  }
  uint32_t size = global.type == ValueType::kStats ? f.unit.layout_of(global).aggregate.size : 8;
  for (uint32_t at = 0; at < size && size <= 64; at += 8) {
    f.b.CreateStore(f.b.CreateLoad(f.b.getInt64Ty(), f.offset(value, f.number(at))), f.offset(place, f.number(at)));
  }
  if (size > 64) f.b.CreateMemCpy(place, llvm::Align(8), value, llvm::Align(8), size);
}

void add_value(ControllerFunction& f, const syntax::Global& global, llvm::Value* place, llvm::Value* value) {
  if (global.type == ValueType::kString) return store_value(f, global, place, value);
  if (global.type == ValueType::kStats) {
    f.call("spile_rt_aggregate_merge", f.unit.module.none(), {place, value, f.unit.aggregate_shape(global)});
    return;
  }
  const uint32_t size = global.is_array ? f.unit.layout_of(global).map.value_size : 8;
  for (uint32_t at = 0; at < size; at += 8) {
    llvm::Value *to = f.offset(place, f.number(at)), *from = f.offset(value, f.number(at));
    f.b.CreateStore(f.b.CreateAdd(f.b.CreateLoad(f.b.getInt64Ty(), to), f.b.CreateLoad(f.b.getInt64Ty(), from)), to);
  }
}

// global_put and global_add: they differ in what is done with an element once it is there.
template <typename Store>
void lower_global_store(Unit& unit, const char* name, Store&& store) {
  ControllerFunction f(unit, name, unit.module.i1(),
                       {unit.module.i32(), unit.module.ptr(), unit.module.i32(), unit.module.ptr()});
  f.function->addRetAttr(llvm::Attribute::ZExt);
  llvm::BasicBlock *done = f.block("done"), *full = f.block("full");
  for_each_global(f, f.function->getArg(0), full, [&](const syntax::Global& global) {
    llvm::Value* place = f.handle(global);
    if (global.is_array) {
      place = f.call("spile_rt_map_insert", unit.module.ptr(),
                     {f.context, place, unit.map_shape(global), f.function->getArg(1), f.function->getArg(2)});
      llvm::BasicBlock* found = f.block("found");
      f.b.CreateCondBr(f.b.CreateIsNull(place), full, found);
      f.b.SetInsertPoint(found);
    }
    store(f, global, place, f.function->getArg(3));
    f.b.CreateBr(done);
  });
  for (auto [end, ok] : {std::pair{done, true}, std::pair{full, false}}) {
    f.b.SetInsertPoint(end);
    f.leave();
    f.b.CreateRet(f.b.getInt1(ok));
  }
}

// The packed length of an element's key.
llvm::Value* key_length(ControllerFunction& f, const syntax::Global& global, llvm::Value* key) {
  llvm::Value* at = f.b.getInt32(0);
  for (ValueType type : global.key_types) {
    if (type == ValueType::kString) at = f.call("spile_rt_key_skip_string", f.b.getInt32Ty(), {key, at});
    else at = f.b.CreateAdd(at, f.b.getInt32(8));
  }
  return at;
}

// The lock of a global that handlers elsewhere change meanwhile; null: it has none, or is a number that changes in one step.
llvm::Value* lock_of(ControllerFunction& f, const syntax::Global& global) {
  const uint64_t offset = f.unit.layout_of(global).lock;
  return offset == 0 || f.unit.sharing_of(global) == sema::Sharing::kAtomic ? nullptr : f.number(offset);
}

// An element is read under the global's lock, if it has one. A handler that needs the lock takes it away (abi::kReadingHolder):
// what was read is read again then.
class LockedRead {
 public:
  // Begins to read. The cursor is where it was whenever the reading begins anew. unavailable: where the lock can't be had.
  LockedRead(ControllerFunction& f, const syntax::Global& global, llvm::Value* cursor, llvm::BasicBlock* unavailable)
      : f_(f), lock_(lock_of(f, global)) {
    if (!lock_) return;
    llvm::Value* start = f.b.CreateLoad(f.b.getInt32Ty(), cursor);
    llvm::BasicBlock *before = f.b.GetInsertBlock(), *begin = f.block("lock"), *held = f.block("locked");
    again_ = f.block("again");
    f.b.CreateBr(begin);
    f.b.SetInsertPoint(begin);
    llvm::PHINode* attempt = f.b.CreatePHI(f.b.getInt32Ty(), 2);
    f.b.CreateStore(start, cursor);
    f.b.CreateCondBr(f.call("spile_rt_lock_to_read", f.b.getInt1Ty(), {f.context, lock_, attempt}), held, unavailable);
    f.b.SetInsertPoint(again_);
    llvm::Value* next = f.b.CreateAdd(attempt, f.b.getInt32(1));
    f.b.CreateBr(begin);
    attempt->addIncoming(f.b.getInt32(0), before);
    attempt->addIncoming(next, again_);
    f.b.SetInsertPoint(held);
  }

  // What is emitted next runs once all that was read is known to be whole. May be called on several paths.
  void end() {
    if (!lock_) return;
    llvm::BasicBlock* whole = f_.block("whole");
    f_.b.CreateCondBr(f_.call("spile_rt_unlock_read", f_.b.getInt1Ty(), {f_.context, lock_}), whole, again_);
    f_.b.SetInsertPoint(whole);
  }

 private:
  ControllerFunction& f_;
  llvm::Value* lock_;
  llvm::BasicBlock* again_ = nullptr;
};

// Whether others can write to the global's memory. Its elements are handed out as copies in private memory: whoever reads them
// reads nowhere else, whatever lies in the map.
bool is_shared(ControllerFunction& f, const syntax::Global& global) {
  const sema::Sharing sharing = f.unit.sharing_of(global);
  return sharing != sema::Sharing::kController && sharing != sema::Sharing::kSharded && sharing != sema::Sharing::kUnused;
}

// Copies a key and a value to the exchange. Stores where the value is, and returns the key.
llvm::Value* copy_out(ControllerFunction& f, const syntax::Global& global, llvm::Value* key, llvm::Value* value,
                      llvm::Value* value_at) {
  const GlobalLayout& layout = f.unit.layout_of(global);
  const uint64_t value_size = layout.map.capacity ? layout.map.value_size : layout.size;
  llvm::Value* to =
      f.call("spile_rt_shared", f.unit.module.ptr(), {f.context, f.number(f.unit.layout.arena.exchange_offset + kExchangeHead)});
  if (key) f.b.CreateMemCpy(to, llvm::Align(8), key, llvm::Align(8), layout.map.key_size);
  llvm::Value* copy = f.offset(to, f.number(layout.map.key_size));
  f.b.CreateMemCpy(copy, llvm::Align(8), value, llvm::Align(8), value_size);
  f.b.CreateStore(copy, value_at);
  return to;
}

// Returns the element of an array after *cursor.
void next_element(ControllerFunction& f, const syntax::Global& global, llvm::BasicBlock* none, llvm::BasicBlock* unavailable) {
  llvm::Argument *cursor = f.function->getArg(1), *length = f.function->getArg(2), *value = f.function->getArg(3);
  llvm::Value* shape = f.unit.map_shape(global);
  LockedRead read(f, global, cursor, unavailable);
  llvm::Value* element = f.call("spile_rt_map_next", f.unit.module.ptr(), {f.handle(global), shape, cursor});
  llvm::BasicBlock *found = f.block("found"), *end = f.block("end");
  f.b.CreateCondBr(f.b.CreateIsNull(element), end, found);
  f.b.SetInsertPoint(end);
  read.end();
  f.b.CreateBr(none);
  f.b.SetInsertPoint(found);
  llvm::Value* key = f.call("spile_rt_element_key", f.unit.module.ptr(), {element, shape});
  llvm::Value* place = f.call("spile_rt_element_value", f.unit.module.ptr(), {element, shape});
  if (is_shared(f, global)) key = copy_out(f, global, key, place, value);
  else f.b.CreateStore(place, value);
  read.end();
  f.b.CreateStore(key_length(f, global, key), length);
  f.leave();
  f.b.CreateRet(key);
}

void next_scalar(ControllerFunction& f, const syntax::Global& global, llvm::BasicBlock* none, llvm::BasicBlock* unavailable) {
  llvm::Argument *cursor = f.function->getArg(1), *length = f.function->getArg(2), *value = f.function->getArg(3);
  llvm::BasicBlock* first = f.block("first");
  f.b.CreateCondBr(f.b.CreateICmpEQ(f.b.CreateLoad(f.b.getInt32Ty(), cursor), f.b.getInt32(0)), first, none);
  f.b.SetInsertPoint(first);
  LockedRead read(f, global, cursor, unavailable);
  if (is_shared(f, global)) copy_out(f, global, nullptr, f.handle(global), value);
  else f.b.CreateStore(f.handle(global), value);
  read.end();
  f.b.CreateStore(f.b.getInt32(1), cursor);
  f.b.CreateStore(f.b.getInt32(0), length);
  f.leave();
  f.b.CreateRet(f.unit.module.text(""));
}

void lower_global_next(Unit& unit) {
  ControllerFunction f(unit, "global_next", unit.module.ptr(),
                       {unit.module.i32(), unit.module.ptr(), unit.module.ptr(), unit.module.ptr()});
  llvm::BasicBlock *none = f.block("none"), *unavailable = f.block("unavailable");
  llvm::Argument* cursor = f.function->getArg(1);
  for_each_global(f, f.function->getArg(0), none, [&](const syntax::Global& global) {
    if (global.is_array) next_element(f, global, none, unavailable);
    else next_scalar(f, global, none, unavailable);
  });
  f.b.SetInsertPoint(unavailable);
  f.b.CreateStore(f.b.getInt32(kNoLock), cursor);
  f.b.CreateBr(none);
  f.b.SetInsertPoint(none);
  f.leave();
  f.b.CreateRet(llvm::ConstantPointerNull::get(unit.module.ptr()));
}

void lower_walk_stack(Unit& unit) {
  ControllerFunction f(unit, "walk_stack", unit.module.i32(), {unit.module.ptr(), unit.module.i32()});
  llvm::Value* count =
      f.call("spile_rt_walk_stack", unit.module.i32(), {f.context, f.function->getArg(0), f.function->getArg(1)});
  f.leave();
  f.b.CreateRet(count);
}

}  // namespace

void lower_controller(Unit& unit) {
  // confine_accesses() calls it, after optimization.
  llvm::Function* confine = unit.module.module().getFunction("spile_rt_confine");
  CHECK(confine != nullptr);
  unit.module.export_function(confine);
  lower_init(unit);
  lower_merge(unit);
  bool reached_from_outside = sema::is_recorded(unit.program);  // globals: by the kernel's side, or $value of procfs probes
  for (const sema::Probe& probe : unit.program.probes) {
    if (probe.domain == sema::Domain::kController) lower_controller_probe(unit, probe);
    if (probe.switched) lower_controller_condition(unit, probe);
    reached_from_outside |= probe.domain == sema::Domain::kKernel || sema::info(probe.kind).source == sema::Source::kFile;
  }
  if (unit.layout.arena.processes_offset != 0) lower_walk_stack(unit);
  if (!reached_from_outside) return;
  lower_global_clear(unit);
  lower_global_store(unit, "global_put", store_value);
  lower_global_store(unit, "global_add", add_value);
  lower_global_next(unit);
}

}  // namespace spile::codegen
