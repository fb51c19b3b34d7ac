#include "codegen/ebpf/arena_place.h"

#include "abi/machine.h"
#include "abi/trampoline.h"
#include "codegen/body.h"
#include "codegen/native_places.h"

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
  return copy;
}

}  // namespace spile::codegen
