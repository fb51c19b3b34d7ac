// Associative arrays: keys, elements, `in`, delete. Loops over arrays are in lower_foreach.cpp.
//
// A missing element reads as 0 or "", and reading does not make it. Arrays with a single number as key have functions
// of their own in the runtime; other keys are packed into a buffer of the frame.

#include "codegen/lowering.h"
#include "syntax/visitor.h"

namespace spile::codegen {

Lowering::Key Lowering::lower_key(const syntax::Global& global, llvm::ArrayRef<const syntax::Expression*> indexes) {
  return pack_key(global, lower_operands(indexes));
}

Lowering::Key Lowering::pack_key(const syntax::Global& global, llvm::ArrayRef<llvm::Value*> values) {
  Key key;
  if (values.size() == 1 && global.key_types[0] == ValueType::kLong) {
    key.single = values[0];
    return key;
  }
  key.buffer = frame_.temporary_bytes(unit.layout_of(global).map.key_size);
  key.length = b.getInt32(0);
  for (size_t i = 0; i < values.size(); ++i) {
    bool is_string = global.key_types[i] == ValueType::kString;
    key.length = call(is_string ? "spile_rt_key_put_string" : "spile_rt_key_put_long", b.getInt32Ty(),
                      {key.buffer, key.length, values[i]});
  }
  return key;
}

Lowering::Key Lowering::packed(const Key& key) {
  if (!key.single) return key;
  Key made;
  made.buffer = entry_alloca(b.getInt64Ty(), "key");
  made.length = call("spile_rt_key_put_long", b.getInt32Ty(), {made.buffer, b.getInt32(0), key.single});
  return made;
}

llvm::Value* Lowering::find_element(const syntax::Global& global, const Key& key) {
  llvm::Value* handle = unit.place.global(body, global);
  llvm::Value* shape = unit.map_shape(global);
  if (key.single) return call("spile_rt_map_find_long", unit.module.ptr(), {context, handle, shape, key.single});
  return call("spile_rt_map_find", unit.module.ptr(), {context, handle, shape, key.buffer, key.length});
}

llvm::Value* Lowering::insert_element(const syntax::Global& global, const Key& key, SourceRange range) {
  llvm::Value* handle = unit.place.global(body, global);
  llvm::Value* shape = unit.map_shape(global);
  llvm::Value* element =
      key.single ? call("spile_rt_map_insert_long", unit.module.ptr(), {context, handle, shape, key.single})
                 : call("spile_rt_map_insert", unit.module.ptr(), {context, handle, shape, key.buffer, key.length});
  errors_.raise_if(b.CreateIsNull(element), range,
           overflow_text(global) + " near identifier '" + global.name + "'");
  return element;
}

// The value at an element that may be null, as an expression of type long or string.
llvm::Value* Lowering::load_or_default(llvm::Value* element, ValueType type) {
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

llvm::Value* Lowering::lower_element(const syntax::Index& element) {
  const syntax::Global& global = *element.array->global;
  std::vector<const syntax::Expression*> indexes;
  for (const auto& index : element.indexes) indexes.push_back(index.get());
  return load_or_default(find_element(global, lower_key(global, indexes)), global.type);
}

// i1
llvm::Value* Lowering::lower_in(const syntax::In& in) {
  const syntax::Global& global = *in.array->global;
  std::vector<const syntax::Expression*> indexes;
  bool is_slice = false;
  for (const auto& index : in.indexes) {
    indexes.push_back(index.get());
    is_slice |= !index;
  }
  if (!is_slice) return b.CreateIsNotNull(find_element(global, lower_key(global, indexes)));
  llvm::Value* found = entry_alloca(b.getInt1Ty(), "found");
  b.CreateStore(b.getInt1(false), found);
  iterate(global, indexes, {}, in.range, [&](llvm::Value*, const Loop& blocks) {
    b.CreateStore(b.getInt1(true), found);
    b.CreateBr(blocks.on_break);
    start_dead_block();
  });
  return b.CreateLoad(b.getInt1Ty(), found);
}

void Lowering::lower_delete(const syntax::Delete& statement) {
  if (const auto* element = syntax::as<syntax::Index>(statement.target)) {
    const syntax::Global& global = *element->array->global;
    std::vector<const syntax::Expression*> indexes;
    bool is_slice = false;
    for (const auto& index : element->indexes) {
      indexes.push_back(index.get());
      is_slice |= !index;
    }
    if (is_slice) return delete_slice(global, indexes);
    Key key = packed(lower_key(global, indexes));
    call("spile_rt_map_remove", unit.module.none(),
         {context, unit.place.global(body, global), unit.map_shape(global), key.buffer, key.length});
    return;
  }
  const auto* variable = syntax::as<syntax::Variable>(statement.target);
  if (!variable) return unit.refuse(statement.range, "only variables and elements of arrays can be deleted");
  if (variable->global && variable->global->is_array) {
    call("spile_rt_map_clear", unit.module.none(),
         {context, unit.place.global(body, *variable->global), unit.map_shape(*variable->global)});
    return;
  }
  if (variable->global && variable->global->type == ValueType::kStats) {
    llvm::Value* aggregate = aggregate_storage(*variable->global, statement.range);
    call("spile_rt_aggregate_clear", unit.module.none(), {aggregate, unit.aggregate_shape(*variable->global)});
    return;
  }
  ValueType type = variable->local ? variable->local->type : variable->global->type;
  store_variable(*variable, type == ValueType::kString ? static_cast<llvm::Value*>(unit.module.text("")) : number(0));
}

// The elements are a snapshot, so removing those already visited does no harm; the key is copied, as it goes too.
void Lowering::delete_slice(const syntax::Global& global, llvm::ArrayRef<const syntax::Expression*> slice) {
  uint32_t key_size = unit.layout_of(global).map.key_size;
  llvm::Value* key = frame_.temporary_bytes(key_size);
  iterate(global, slice, {}, slice.empty() || !slice[0] ? global.range : slice[0]->range,
          [&](llvm::Value* element, const Loop&) {
            llvm::Value* length = nullptr;
            std::vector<llvm::Value*> keys = element_keys(global, element, &length);
            llvm::Value* at = b.getInt32(0);
            for (size_t i = 0; i < keys.size(); ++i) {
              bool is_string = global.key_types[i] == ValueType::kString;
              at = call(is_string ? "spile_rt_key_put_string" : "spile_rt_key_put_long", b.getInt32Ty(), {key, at, keys[i]});
            }
            call("spile_rt_map_remove", unit.module.none(),
                 {context, unit.place.global(body, global), unit.map_shape(global), key, at});
          });
}

}  // namespace spile::codegen
