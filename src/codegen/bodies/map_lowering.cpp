#include "codegen/bodies/map_lowering.h"

#include <algorithm>

#include "abi/kernel.h"

namespace spile::codegen {

llvm::Value* MapLowering::handle_of(const syntax::Global& global) {
  llvm::Value* handle = unit.place.global(body, global);
  return unit.sharing_of(global) == sema::Sharing::kStriped ? b.CreateGEP(b.getInt8Ty(), handle, body.stripe_offset(global))
                                                            : handle;
}

bool MapLowering::has_cells(const syntax::Global& global) const { return unit.sharing_of(global) == sema::Sharing::kThreadCells; }

llvm::Value* MapLowering::call_cells(const char* function, llvm::Type* result, const syntax::Global& global) {
  llvm::Value* thread = body.own_thread ? body.own_thread : call("spile_rt_own_thread", b.getInt64Ty(), {context});
  return call(function, result, {context, handle_of(global), unit.map_shape(global), thread});
}

// Appends to a packed key, and moves its length.
void MapLowering::put_keys(const syntax::Global& global, llvm::ArrayRef<llvm::Value*> values, Key& key) {
  for (size_t i = 0; i < values.size(); ++i) {
    bool is_string = global.key_types[i] == ValueType::kString;
    key.length = call(is_string ? "spile_rt_key_put_string" : "spile_rt_key_put_long", b.getInt32Ty(),
                      {key.buffer, key.length, values[i]});
  }
}

MapLowering::Key MapLowering::pack(const syntax::Global& global, llvm::ArrayRef<llvm::Value*> values) {
  Key key;
  if (values.size() == 1 && global.key_types[0] == ValueType::kLong) {
    key.single = values[0];
    return key;
  }
  key.buffer = frame_.temporary_bytes(unit.layout_of(global).map.key_size);
  key.length = b.getInt32(0);
  put_keys(global, values, key);
  return key;
}

MapLowering::Key MapLowering::pack_name() {
  llvm::Value* bytes = entry_alloca(llvm::ArrayType::get(b.getInt64Ty(), 2), "name");
  call("spile_rt_execname", unit.module.none(), {context, bytes});
  Key key;
  for (unsigned i = 0; i < key.name.size(); ++i)
    key.name[i] = b.CreateLoad(b.getInt64Ty(), b.CreateConstGEP1_64(b.getInt64Ty(), bytes, i));
  return key;
}

MapLowering::Key MapLowering::pack_name_bytes(const syntax::Global& global) {
  Key key;
  key.buffer = frame_.temporary_bytes(unit.layout_of(global).map.key_size);
  key.length = b.getInt32(unit.layout_of(global).name_size);
  call("spile_rt_execname", unit.module.none(), {context, key.buffer});
  return key;
}

void MapLowering::remove(const syntax::Global& global, const Key& key) {
  if (has_cells(global)) {
    call_cells("spile_rt_cell_remove", unit.module.none(), global);
    return;
  }
  llvm::Value *buffer = key.buffer, *length = key.length;
  if (key.single) {
    buffer = entry_alloca(b.getInt64Ty(), "key");
    length = call("spile_rt_key_put_long", b.getInt32Ty(), {buffer, b.getInt32(0), key.single});
  }
  call("spile_rt_map_remove", unit.module.none(), {context, handle_of(global), unit.map_shape(global), buffer, length});
}

void MapLowering::clear(const syntax::Global& global) {
  call("spile_rt_map_clear", unit.module.none(), {context, handle_of(global), unit.map_shape(global)});
}

llvm::Value* MapLowering::find(const syntax::Global& global, const Key& key) {
  if (has_cells(global)) return call_cells("spile_rt_cell_find", unit.module.ptr(), global);
  llvm::Value* handle = handle_of(global);
  llvm::Value* shape = unit.map_shape(global);
  if (key.name[0]) return call("spile_rt_map_find_name", unit.module.ptr(), {context, handle, shape, key.name[0], key.name[1]});
  if (key.text) return call("spile_rt_map_find_text", unit.module.ptr(), {context, handle, shape, key.text});
  if (key.single) return call("spile_rt_map_find_long", unit.module.ptr(), {context, handle, shape, key.single});
  return call("spile_rt_map_find", unit.module.ptr(), {context, handle, shape, key.buffer, key.length});
}

llvm::Value* MapLowering::insert(const syntax::Global& global, const Key& key, SourceRange range) {
  if (has_cells(global)) {
    llvm::Value* cell = call_cells("spile_rt_cell_insert", unit.module.ptr(), global);
    raise_if_full(b.CreateIsNull(cell), global, range);
    return cell;
  }
  llvm::Value* handle = handle_of(global);
  llvm::Value* shape = unit.map_shape(global);
  llvm::Value* element =
      key.name[0]  ? call("spile_rt_map_insert_name", unit.module.ptr(), {context, handle, shape, key.name[0], key.name[1]})
      : key.text   ? call("spile_rt_map_insert_text", unit.module.ptr(), {context, handle, shape, key.text})
      : key.single ? call("spile_rt_map_insert_long", unit.module.ptr(), {context, handle, shape, key.single})
                   : call("spile_rt_map_insert", unit.module.ptr(), {context, handle, shape, key.buffer, key.length});
  raise_if_full(b.CreateIsNull(element), global, range);
  return element;
}

void MapLowering::raise_if_full(llvm::Value* full, const syntax::Global& global, SourceRange range) {
  errors_.raise_if(full, range, overflow_text(global) + " near identifier '" + global.name + "'");
}

void MapLowering::set(const syntax::Global& global, const Key& key, llvm::Value* value, SourceRange range) {
  // Of a thread's own element it is the value of `start[tid()] = ...`, which has been deleted since: one call of a helper instead
  // of three.
  if (key.single && !unit.place.globals_are_memory() && unit.sharing_of(global) == sema::Sharing::kByThread) {
    llvm::Value* fits =
        call("spile_rt_map_set_long", unit.module.i1(), {context, handle_of(global), unit.map_shape(global), key.single, value});
    raise_if_full(b.CreateNot(fits), global, range);
    return;
  }
  b.CreateStore(value, insert(global, key, range));
}

llvm::Value* MapLowering::load_or_default(llvm::Value* element, ValueType type) {
  if (type == ValueType::kString) {
    return b.CreateSelect(b.CreateIsNull(element), unit.module.text(""), element);
  }
  llvm::BasicBlock* from = b.GetInsertBlock();
  llvm::BasicBlock* found = block("element.found");
  llvm::BasicBlock* done = block("element.done");
  b.CreateCondBr(b.CreateIsNull(element), done, found);
  b.SetInsertPoint(found);
  llvm::Value* value = b.CreateLoad(b.getInt64Ty(), element);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* result = b.CreatePHI(b.getInt64Ty(), 2);
  result->addIncoming(number(0), from);
  result->addIncoming(value, found);
  return result;
}

std::vector<llvm::Value*> MapLowering::keys_of(const syntax::Global& global, llvm::Value* element) {
  llvm::Value* key = visited_key(global, element);
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
  return keys;
}

llvm::Value* MapLowering::visited_key(const syntax::Global& global, llvm::Value* element) {
  if (unit.place.globals_are_memory()) return call("spile_rt_element_key", unit.module.ptr(), {element, unit.map_shape(global)});
  return call("spile_rt_kernel_visited_key", unit.module.ptr(), {element});
}

llvm::Value* MapLowering::value_of(const syntax::Global& global, llvm::Value* element) {
  if (!unit.place.globals_are_memory()) {
    Key key;
    key.buffer = visited_key(global, element);
    key.length = b.getInt32(0);
    return load_or_default(find(global, key), global.type);
  }
  llvm::Value* place = call("spile_rt_element_value", unit.module.ptr(), {element, unit.map_shape(global)});
  return global.type == ValueType::kString ? place : b.CreateLoad(b.getInt64Ty(), place);
}

void MapLowering::remove_visited(const syntax::Global& global, llvm::Value* element, llvm::Value* buffer) {
  Key key{nullptr, buffer, b.getInt32(0)};
  put_keys(global, keys_of(global, element), key);
  remove(global, key);
}

void MapLowering::match(const syntax::Global& global, llvm::ArrayRef<llvm::Value*> wanted, llvm::ArrayRef<llvm::Value*> keys,
                        llvm::BasicBlock* otherwise) {
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

void MapLowering::note_loop(llvm::BasicBlock* head, llvm::BasicBlock* done, llvm::Value* exit, SourceRange range) {
  if (!exit) return;
  llvm::BasicBlock* exhausted = block("exhausted");
  llvm::IRBuilderBase::InsertPointGuard guard(b);
  b.SetInsertPoint(exhausted);
  errors_.raise_final(range, "MAXACTION exceeded");
  unit.loops.push_back({head, done, exhausted, exit});
}

// A function that the kernel calls for each element of a map, made once for each statement: it does what the runtime's function
// does with these arguments, and with what the kernel gives it, in place of those that are null: the key, the value, and the last
// one.
llvm::Function* MapLowering::callback(const std::string& name, const char* runtime, std::vector<llvm::Value*> arguments) {
  if (llvm::Function* known = unit.module.module().getFunction(name)) return known;
  auto* type = llvm::FunctionType::get(b.getInt64Ty(),
                                       {unit.module.ptr(), unit.module.ptr(), unit.module.ptr(), unit.module.ptr()}, false);
  llvm::Function* function = unit.module.add_function(name, type);
  function->setSection(abi::kKernelCallbackPrefix + name);
  function->addFnAttr(llvm::Attribute::NoInline);
  llvm::IRBuilder<> inside(llvm::BasicBlock::Create(b.getContext(), "entry", function));
  unsigned given = 4 - static_cast<unsigned>(std::ranges::count(arguments, nullptr));
  for (llvm::Value*& argument : arguments) {
    if (!argument) argument = function->getArg(given++);
  }
  inside.CreateRet(unit.module.call_runtime(inside, runtime, b.getInt64Ty(), arguments));
  return function;
}

llvm::Value* MapLowering::snapshot(const syntax::Global& global, const Order& order, llvm::Value* limit, SourceRange range) {
  llvm::Value *column = b.getInt32(order.column), *direction = b.getInt32(static_cast<uint32_t>(order.direction)),
              *statistic = b.getInt32(order.statistic);
  llvm::Value* shape = unit.map_shape(global);
  if (unit.place.globals_are_memory()) {
    llvm::Value* iteration =
        call("spile_rt_iterate", unit.module.ptr(), {context, handle_of(global), shape, column, direction, statistic, limit});
    errors_.raise_if(b.CreateIsNull(iteration), range, "no scratch memory is left to iterate over '" + global.name + "'");
    return iteration;
  }
  llvm::Value* visits = unit.place.visits(body, global, range);
  const std::string suffix = visits->getName().substr(visits->getName().rfind('_') + 1).str();
  llvm::Value* collect =
      callback("collect." + suffix, "spile_rt_kernel_collect", {visits, shape, column, statistic, nullptr, nullptr, nullptr});
  llvm::Value* pass = llvm::ConstantPointerNull::get(unit.module.ptr());
  if (order.direction != 0) {
    llvm::Function* step =
        callback("sort.step." + suffix, "spile_rt_kernel_sort_step", {visits, shape, column, direction, nullptr});
    pass = callback("sort.pass." + suffix, "spile_rt_kernel_sort_pass", {visits, step, nullptr});
  }
  llvm::Value* visit = frame_.temporary_bytes(abi::kKernelVisit);
  call("spile_rt_kernel_visit_begin", unit.module.none(), {visit, handle_of(global), collect, pass, limit});
  return visit;
}

llvm::Value* MapLowering::next_of(const syntax::Global& global, llvm::Value* iteration, const Order& order, SourceRange range) {
  if (unit.place.globals_are_memory()) return call("spile_rt_iterate_next", unit.module.ptr(), {iteration});
  return call("spile_rt_kernel_visit_next", unit.module.ptr(),
              {iteration, unit.place.visits(body, global, range), b.getInt1(order.direction != 0)});
}

void MapLowering::iterate(const syntax::Global& global, llvm::ArrayRef<llvm::Value*> wanted, const Order& order,
                          SourceRange range, const std::function<void(llvm::Value*, const Blocks&)>& visit) {
  bool filters = std::any_of(wanted.begin(), wanted.end(), [](auto* v) { return v != nullptr; });
  llvm::Value* mark = frame_.mark();
  llvm::Value* hint = order.limit && !filters ? order.limit : number(-1);
  llvm::Value* iteration = snapshot(global, order, hint, range);
  llvm::Value* left = frame_.loop_variable(b.getInt64Ty(), "left");
  llvm::Value* exit = frame_.loop_exit();
  if (order.limit) b.CreateStore(order.limit, left);

  llvm::BasicBlock *head = block("each"), *visited = block("each.visit"), *done = block("each.done");
  b.CreateBr(head);
  b.SetInsertPoint(head);
  llvm::Value* element = next_of(global, iteration, order, range);
  b.CreateCondBr(b.CreateIsNull(element), done, visited);
  b.SetInsertPoint(visited);
  if (filters) match(global, wanted, keys_of(global, element), head);
  if (order.limit) {
    llvm::Value* remaining = b.CreateLoad(b.getInt64Ty(), left);
    llvm::BasicBlock* within = block("each.within");
    b.CreateCondBr(b.CreateICmpSGT(remaining, number(0)), within, done);
    b.SetInsertPoint(within);
    b.CreateStore(b.CreateSub(remaining, number(1)), left);
  }
  visit(element, {done, head});
  branch_if_open(head);
  b.SetInsertPoint(done);
  note_loop(head, done, exit, range);
  frame_.release_to(mark);
}

}  // namespace spile::codegen
