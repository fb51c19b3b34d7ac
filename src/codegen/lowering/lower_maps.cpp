// Expressions and statements about arrays: elements, `in`, delete. Loops over arrays are in lower_foreach.cpp.

#include "codegen/bodies/lowering.h"
#include "sema/sharing/name_keys.h"
#include "sema/terms/intrinsics.h"
#include "syntax/visitor.h"

namespace spile::codegen {

// pp(), probefunc() and the like.
static bool is_site_text(const syntax::Expression& x) {
  const auto* call = syntax::as<syntax::Call>(x);
  if (!call || call->intrinsic < 0) return false;
  const sema::Intrinsic& intrinsic = sema::intrinsics()[static_cast<size_t>(call->intrinsic)];
  return (intrinsic.needs & sema::kNeedsSite) && intrinsic.result == ValueType::kString;
}

MapLowering::Key Lowering::lower_key(const syntax::Global& global, llvm::ArrayRef<const syntax::Expression*> indexes) {
  if (maps_.has_cells(global)) return {};  // the key is tid(), or a variable that has it
  if (unit.layout_of(global).name_size) return maps_.pack_name_bytes(global);
  constexpr uint32_t kNameSize = 16;
  if (unit.place.has_name_keys() && unit.layout.string_size >= kNameSize && indexes.size() == 1 &&
      sema::calls_execname(*indexes[0]))
    return maps_.pack_name();
  if (unit.place.has_text_keys() && indexes.size() == 1 && is_site_text(*indexes[0])) return maps_.pack_text(lower(*indexes[0]));
  return maps_.pack(global, lower_operands(indexes));
}

llvm::Value* Lowering::lower_element(const syntax::Index& element) {
  const syntax::Global& global = *element.array->global;
  std::vector<const syntax::Expression*> indexes;
  for (const auto& index : element.indexes) indexes.push_back(index.get());
  return maps_.load_or_default(maps_.find(global, lower_key(global, indexes)), global.type);
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
  if (!is_slice) return b.CreateIsNotNull(maps_.find(global, lower_key(global, indexes)));
  llvm::Value* found = frame_.loop_variable(b.getInt1Ty(), "found");
  b.CreateStore(b.getInt1(false), found);
  maps_.iterate(global, lower_slice(indexes), {}, in.range, [&](llvm::Value*, const MapLowering::Blocks& blocks) {
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
    if (maps_.has_cells(global)) return maps_.remove(global, {});
    if (unit.layout_of(global).name_size) return maps_.remove(global, maps_.pack_name_bytes(global));
    return maps_.remove(global, maps_.pack(global, lower_operands(indexes)));
  }
  const auto* variable = syntax::as<syntax::Variable>(statement.target);
  if (!variable) return unit.refuse(statement.range, "only variables and elements of arrays can be deleted");
  if (variable->global && variable->global->is_array) {
    return maps_.clear(*variable->global);
  }
  if (variable->global && variable->global->type == ValueType::kStats) {
    return aggregates_.clear(*variable->global, statement.range);
  }
  ValueType type = variable->local ? variable->local->type : variable->global->type;
  store_variable(*variable, type == ValueType::kString ? static_cast<llvm::Value*>(unit.module.text("")) : number(0));
}

void Lowering::delete_slice(const syntax::Global& global, llvm::ArrayRef<const syntax::Expression*> slice) {
  llvm::Value* key = frame_.temporary_bytes(unit.layout_of(global).map.key_size);
  SourceRange range = slice.empty() || !slice[0] ? global.range : slice[0]->range;
  maps_.iterate(global, lower_slice(slice), {}, range,
                [&](llvm::Value* element, const MapLowering::Blocks&) { maps_.remove_visited(global, element, key); });
}

}  // namespace spile::codegen
