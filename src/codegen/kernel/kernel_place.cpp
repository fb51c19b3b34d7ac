#include "codegen/kernel/kernel_place.h"

#include "codegen/bodies/body.h"

namespace spile::codegen {

llvm::GlobalVariable* map_symbol(ScriptModule& module, const std::string& name) {
  if (llvm::GlobalVariable* known = module.module().getNamedGlobal(name)) return known;
  return new llvm::GlobalVariable(module.module(), module.i8(), false, llvm::GlobalValue::ExternalLinkage, nullptr, name);
}

std::string global_symbol(const syntax::Global& global) {
  return "spile_map_" + std::to_string(global.index) + "_" + global.name;
}

llvm::Value* KernelPlace::global(Body& body, const syntax::Global& global) {
  globals_.insert(global.index);
  llvm::GlobalVariable* map = map_symbol(body.unit.module, global_symbol(global));
  if (global.is_array) return map;
  bool sharded = body.unit.sharing_of(global) == sema::Sharing::kSharded;
  return body.call(sharded ? "spile_rt_kernel_shard" : "spile_rt_kernel_shared", body.unit.module.ptr(), {body.context, map});
}

llvm::Value* KernelPlace::visits(Body& body, const syntax::Global& global, SourceRange range) {
  auto [known, is_new] = visits_.try_emplace({range.file, range.begin, global.index});
  if (is_new) known->second = {"spile_map_visits_" + std::to_string(visits_.size()), &global};
  return map_symbol(body.unit.module, known->second.symbol);
}

llvm::Value* KernelPlace::program_context(Body& body) {
  return body.b.CreateLoad(body.unit.module.ptr(), body.context_field(offsetof(abi::Context, kernel_context)));
}

llvm::Value* KernelPlace::runtime_argument(Body& body) { return body.context; }

// Script functions know registers, too: they are inlined, and only handlers of probed functions call those that need registers.
bool KernelPlace::has_registers(const Body& body) const { return !body.probe || sema::info(body.probe->kind).in_function; }

}  // namespace spile::codegen
