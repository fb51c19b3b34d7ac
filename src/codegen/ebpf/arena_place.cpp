#include "codegen/ebpf/arena_place.h"

#include "abi/machine.h"
#include "abi/trampoline.h"
#include "codegen/body.h"
#include "codegen/kernel_place.h"
#include "codegen/native_places.h"

namespace spile::codegen {

using abi::kConvention;

namespace {

llvm::Value* word_at(Body& body, int64_t offset) {
  return body.b.CreateLoad(body.b.getInt64Ty(), body.at_offset(body.site.program_context, offset));
}

bool has_registers(const Body& body) {
  return body.site.program_context && body.probe && sema::info(body.probe->kind).in_function;
}

}  // namespace

llvm::Value* ArenaKernelPlace::cookie_of(Body& body) {
  if (point_ >= 0) return body.number(static_cast<int64_t>(kernel_cookie(*body.probe, static_cast<size_t>(point_))));
  reads_context_ = true;
  return body.call("spile_rt_kernel_cookie", body.b.getInt64Ty(), {body.site.program_context});
}

llvm::Value* ArenaKernelPlace::global(Body& body, const syntax::Global& global) { return global_of_slot(body, global); }

llvm::Value* ArenaKernelPlace::machine_register(Body& body, int64_t number) {
  if (!has_registers(body) || number < 0 || number > kConvention.program_counter) return nullptr;
  if (at_return_ && !kConvention.result_registers.has(number) && number != kConvention.stack_pointer) return nullptr;
  return word_at(body, abi::kKernelLayout.pt_regs[number]);
}

llvm::Value* ArenaKernelPlace::all_registers(Body& body) {
  if (!has_registers(body)) return llvm::ConstantPointerNull::get(body.unit.module.ptr());
  auto* type = llvm::ArrayType::get(body.b.getInt64Ty(), sizeof(abi::Registers) / 8);
  llvm::Value* copy = body.entry_alloca(type, "registers");
  for (int64_t number = 0; number <= kConvention.program_counter; ++number) {
    body.b.CreateStore(word_at(body, abi::kKernelLayout.pt_regs[number]), body.at_offset(copy, 8 * number));
  }
  return copy;
}

// At the entry the return address is on top of the stack; at the return it is gone already.
llvm::Value* ArenaKernelPlace::cfa(Body& body) {
  llvm::Value* stack_pointer = machine_register(body, kConvention.stack_pointer);
  if (!stack_pointer || at_return_) return stack_pointer;
  return body.b.CreateAdd(stack_pointer, body.number(kConvention.entry_cfa));
}

llvm::Value* ArenaKernelPlace::load_bias(Body& body) {
  if (at_return_) return nullptr;
  llvm::Value* pc = machine_register(body, kConvention.program_counter);
  return pc ? body.b.CreateSub(pc, address_of_cookie(body, [&] { return cookie_of(body); })) : nullptr;
}

llvm::Value* ArenaKernelPlace::context_address(Body& body, int64_t offset) {
  reads_context_ = true;
  bool has_record = body.probe && sema::info(body.probe->kind).variables == sema::Variables::kRecord;
  return has_record && body.site.program_context ? body.at_offset(body.site.program_context, offset) : nullptr;
}

llvm::Value* ArenaKernelPlace::site_text(Body& body, const std::string& what) {
  return text_of_cookie(body, what, [&] { return cookie_of(body); });
}

}  // namespace spile::codegen
