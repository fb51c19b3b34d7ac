#include "codegen/kernel_place.h"

#include <bit>

#include "abi/machine.h"
#include "codegen/lowering.h"

namespace spile::codegen {

using abi::kConvention;

llvm::GlobalVariable* map_symbol(ScriptModule& module, const std::string& name) {
  if (llvm::GlobalVariable* known = module.module().getNamedGlobal(name)) return known;
  return new llvm::GlobalVariable(module.module(), module.i8(), false, llvm::GlobalValue::ExternalLinkage, nullptr,
                                  name);
}

std::string global_symbol(const syntax::Global& global) {
  return "spile_map_" + std::to_string(global.index) + "_" + global.name;
}

llvm::Value* KernelPlace::global(Lowering& lowering, const syntax::Global& global) {
  globals_.insert(global.index);
  llvm::GlobalVariable* map = map_symbol(lowering.unit.module, global_symbol(global));
  if (global.is_array) return map;
  bool sharded = lowering.unit.sharing_of(global) == sema::Sharing::kSharded;
  return lowering.call(sharded ? "spile_rt_kernel_shard" : "spile_rt_kernel_shared", lowering.unit.module.ptr(),
                       {lowering.context, map});
}

llvm::Value* KernelPlace::kernel_context(Lowering& lowering) {
  return lowering.b.CreateLoad(lowering.unit.module.ptr(),
                               lowering.context_field(offsetof(abi::Context, kernel_context)));
}

llvm::Value* KernelPlace::register_at(Lowering& lowering, int64_t offset) {
  return lowering.b.CreateLoad(lowering.b.getInt64Ty(), lowering.at_offset(kernel_context(lowering), offset));
}

// In script functions too: they are inlined, and only what a probed function's handler calls asks for registers.
llvm::Value* KernelPlace::machine_register(Lowering& lowering, int64_t number) {
  if (lowering.probe && !sema::info(lowering.probe->kind).in_function) return nullptr;
  if (number < 0 || number > kConvention.program_counter) return nullptr;
  if (at_return_ && !kConvention.result_registers.has(number) && number != kConvention.stack_pointer) return nullptr;
  return register_at(lowering, abi::kKernelLayout.pt_regs[number]);
}

// At the entry the return address is on top of the stack; at the return it is gone already.
llvm::Value* KernelPlace::cfa(Lowering& lowering) {
  llvm::Value* stack_pointer = machine_register(lowering, kConvention.stack_pointer);
  if (!stack_pointer || at_return_) return stack_pointer;
  return lowering.b.CreateAdd(stack_pointer, lowering.number(kConvention.entry_cfa));
}

llvm::Value* KernelPlace::load_bias(Lowering& lowering) {
  if (!lowering.probe || at_return_) return nullptr;
  llvm::Value* pc = machine_register(lowering, kConvention.program_counter);
  if (!pc) return nullptr;
  llvm::Value* address = nullptr;
  if (lowering.probe->points.size() == 1) {
    address = lowering.number(static_cast<int64_t>(kernel_cookie(*lowering.probe, 0) & kCookieAddressMask));
  } else {
    llvm::Value* cookie = lowering.call("spile_rt_kernel_cookie", lowering.b.getInt64Ty(), {lowering.context});
    address = lowering.b.CreateAnd(cookie, lowering.number(static_cast<int64_t>(kCookieAddressMask)));
  }
  return lowering.b.CreateSub(pc, address);
}

llvm::Value* KernelPlace::context_address(Lowering& lowering, int64_t offset) {
  if (!lowering.probe || lowering.probe->kind != sema::ProbeKind::kTracepoint) return nullptr;
  return lowering.at_offset(kernel_context(lowering), offset);
}

// Of a probe with many points: a table of texts, all of one length, by the number that the attachment's cookie carries.
// Both are powers of two, so that the verifier sees that the text is inside.
llvm::Value* KernelPlace::site_text(Lowering& lowering, const std::string& what) {
  const sema::Probe* probe = lowering.probe;
  if (!probe || probe->points.size() < 2) return nullptr;
  size_t longest = 0;
  std::vector<std::string> texts;
  for (const sema::ResolvedPoint& point : probe->points) {
    bool whole = what == "pp" || what == "pn";
    texts.push_back((whole ? point.text : point.site.function).substr(0, lowering.unit.layout.string_size - 1));
    longest = std::max(longest, texts.back().size());
  }
  uint64_t stride = std::bit_ceil(longest + 1), count = std::bit_ceil(texts.size());
  std::string table(stride * count, '\0');
  for (size_t i = 0; i < texts.size(); ++i) table.replace(i * stride, texts[i].size(), texts[i]);
  llvm::Constant* blob = lowering.unit.module.text(table);
  llvm::Value* cookie = lowering.call("spile_rt_kernel_cookie", lowering.b.getInt64Ty(), {lowering.context});
  llvm::Value* index = lowering.b.CreateAnd(lowering.b.CreateLShr(cookie, lowering.number(kCookieIndexShift)),
                                            lowering.number(static_cast<int64_t>(count - 1)));
  return lowering.b.CreateGEP(lowering.b.getInt8Ty(), blob,
                              lowering.b.CreateMul(index, lowering.number(static_cast<int64_t>(stride))));
}

}  // namespace spile::codegen
