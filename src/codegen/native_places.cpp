#include "codegen/native_places.h"

#include "abi/machine.h"
#include "abi/trampoline.h"
#include "codegen/lowering.h"
#include "codegen/native_target.h"

namespace spile::codegen {

namespace {
using abi::kConvention;

constexpr int64_t kRegisters = kConvention.program_counter + 1;  // of abi::Registers, in DWARF's numbering
constexpr int64_t kCallNumber = 18;  // at system calls; elsewhere it is a vector register

bool is_call_number(const Lowering& lowering, int64_t number) {
  if (number != kCallNumber || !lowering.probe) return false;
  return sema::is_system_call(lowering.probe->kind);
}

}  // namespace

llvm::Value* NativePlace::machine_register(Lowering& lowering, int64_t number) {
  SiteValues& site = lowering.site;
  if (is_call_number(lowering, number)) {
    return lowering.b.CreateLoad(lowering.b.getInt64Ty(), lowering.context_field(offsetof(abi::Context, call_number)));
  }
  if (abi::is_vector_register(number) && lowering.probe) return read_vector_register(lowering.b, number - kConvention.first_vector);
  if (number < 0 || number >= kRegisters) return nullptr;
  if (site.registers) {
    return lowering.b.CreateLoad(lowering.b.getInt64Ty(), lowering.at_offset(site.registers, 8 * number));
  }
  if (!site.returned.empty()) {
    size_t place = kConvention.result_registers.find(number);
    if (place < site.returned.size()) return site.returned[place];
    return number == kConvention.stack_pointer ? site.cfa : nullptr;
  }
  if (number == kConvention.stack_pointer && site.cfa) return lowering.b.CreateSub(site.cfa, lowering.number(kConvention.entry_cfa));
  size_t place = kConvention.argument_registers.find(number);
  return place < site.arguments.size() ? site.arguments[place] : nullptr;
}

llvm::Value* NativePlace::all_registers(Lowering& lowering) {
  return lowering.site.registers ? lowering.site.registers : llvm::ConstantPointerNull::get(lowering.unit.module.ptr());
}

llvm::Value* NativePlace::cfa(Lowering& lowering) {
  if (lowering.site.cfa) return lowering.site.cfa;
  if (lowering.probe) return nullptr;
  return lowering.b.CreateLoad(lowering.b.getInt64Ty(), lowering.context_field(offsetof(abi::Context, cfa)));
}

llvm::Value* NativePlace::load_bias(Lowering& lowering) {
  return lowering.b.CreateLoad(lowering.b.getInt64Ty(),
                               lowering.at_offset(lowering.unit.module.cells(), offsetof(abi::ImageCells, load_bias)));
}

llvm::Value* TargetPlace::thread_pointer(Lowering& lowering) {
  return lowering.call("spile_rt_thread_pointer", lowering.b.getInt64Ty(), {});
}

llvm::Value* TargetPlace::global(Lowering& lowering, const syntax::Global& global) {
  const GlobalLayout& layout = lowering.unit.layout_of(global);
  llvm::Type* ptr = lowering.unit.module.ptr();
  if (lowering.unit.sharing_of(global) != sema::Sharing::kSharded) {
    return lowering.call("spile_rt_shared", ptr, {lowering.context, lowering.number(static_cast<int64_t>(layout.storage))});
  }
  const char* function = layout.in_epochs ? "spile_rt_epoch_shard" : "spile_rt_shard";
  return lowering.call(function, ptr, {lowering.context, lowering.number(static_cast<int64_t>(layout.shard))});
}

llvm::Value* ControllerPlace::machine_register(Lowering& lowering, int64_t number) {
  bool known = (number >= 0 && number < kRegisters) || is_call_number(lowering, number);
  if (!known) return nullptr;
  llvm::Value* slot = lowering.b.CreateLoad(lowering.unit.module.ptr(), lowering.context_field(offsetof(abi::Context, slot)));
  int64_t offset = static_cast<int64_t>(offsetof(abi::ControllerState, subject) + offsetof(abi::Subject, registers)) + 8 * number;
  return lowering.b.CreateLoad(lowering.b.getInt64Ty(), lowering.at_offset(slot, offset - abi::kPageSize));
}

llvm::Value* ControllerPlace::all_registers(Lowering& lowering) {
  return lowering.call("spile_rt_subject_registers", lowering.unit.module.ptr(), {lowering.context});
}

llvm::Value* ControllerPlace::global(Lowering& lowering, const syntax::Global& global) {
  return lowering.call("spile_rt_shared", lowering.unit.module.ptr(),
                       {lowering.context, lowering.number(static_cast<int64_t>(lowering.unit.layout_of(global).storage))});
}

}  // namespace spile::codegen
