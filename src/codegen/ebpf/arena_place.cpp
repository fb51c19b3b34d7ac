#include "codegen/ebpf/arena_place.h"

#include "abi/machine.h"
#include "abi/trampoline.h"
#include "codegen/bodies/body.h"
#include "codegen/bodies/native_places.h"
#include "codegen/ebpf/loadable.h"

namespace spile::codegen {

using abi::kConvention;

llvm::Value* ArenaKernelPlace::program_context(Body& body) { return body.site.program_context; }

llvm::Value* ArenaKernelPlace::runtime_argument(Body& body) { return body.site.program_context; }

bool ArenaKernelPlace::has_registers(const Body& body) const {
  return body.site.program_context && body.probe && sema::info(body.probe->kind).in_function;
}

llvm::Value* ArenaKernelPlace::global(Body& body, const syntax::Global& global) { return global_of_slot(body, global); }

// Handlers that ask for them are not called with arguments alone (sema::Probe::needs_registers).
llvm::Value* ArenaKernelPlace::all_registers(Body& body) {
  if (!has_registers(body) || handler_context().arguments >= 0) return llvm::ConstantPointerNull::get(body.unit.module.ptr());
  auto* type = llvm::ArrayType::get(body.b.getInt64Ty(), sizeof(abi::Registers) / 8);
  llvm::Value* copy = body.entry_alloca(type, "registers");
  for (int64_t number = 0; number <= kConvention.program_counter; ++number) {
    body.b.CreateStore(register_word(body, number), body.at_offset(copy, 8 * number));
  }
  body.b.CreateStore(machine_flags(body), body.at_offset(copy, 8 * kConvention.flags));
  return copy;
}

// A function of its own: what it has from the kernel's helpers must stay in registers, while large handlers keep values in
// memory.
llvm::Value* ArenaKernelPlace::keep_kernel_stack(Body& body) {
  if (!body.site.program_context) return nullptr;
  // With fentry and fexit a stack begins with the trampoline's frames, which have no names.
  if (handler_context().arguments >= 0) too_much(body);
  ScriptModule& module = body.unit.module;
  if (!keep_stack_) {
    keep_stack_ = module.add_function("body.stack", llvm::FunctionType::get(module.i1(), {module.ptr(), module.ptr()}, false));
    keep_stack_->addFnAttr(kBodyAttribute);
    keep_stack_->addFnAttr(llvm::Attribute::NoInline);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.context(), "entry", keep_stack_));
    b.CreateRet(module.call_runtime(b, "spile_rt_kernel_stack", module.i1(), {keep_stack_->getArg(0), keep_stack_->getArg(1)}));
  }
  return body.b.CreateCall(keep_stack_, {body.context, body.site.program_context});
}

}  // namespace spile::codegen
