#include "codegen/native_places.h"

#include "abi/trampoline.h"
#include "codegen/lowering.h"

namespace spile::codegen {

namespace {
constexpr int64_t kRsp = 7;
constexpr int64_t kRegisters = 17;  // of abi::Registers, in DWARF's numbering
constexpr int64_t kArgumentNumbers[] = {5, 4, 1, 2, 8, 9};  // rdi, rsi, rdx, rcx, r8, r9
}  // namespace

llvm::Value* NativePlace::machine_register(Lowering& lowering, int64_t number) {
  SiteValues& site = lowering.site;
  if (number < 0 || number >= kRegisters) return nullptr;
  if (site.registers) {
    return lowering.b.CreateLoad(lowering.b.getInt64Ty(), lowering.at_offset(site.registers, 8 * number));
  }
  if (!site.returned.empty()) {
    if (number < 2) return site.returned[static_cast<size_t>(number)];
    return number == kRsp ? site.cfa : nullptr;
  }
  if (number == kRsp && site.cfa) return lowering.b.CreateSub(site.cfa, lowering.number(8));
  for (size_t i = 0; i < site.arguments.size(); ++i) {
    if (kArgumentNumbers[i] == number) return site.arguments[i];
  }
  return nullptr;
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
  constexpr int64_t kWords = sizeof(abi::Subject::registers) / 8;
  if (number < 0 || number >= kWords) return nullptr;
  llvm::Value* arena = lowering.b.CreateLoad(lowering.unit.module.ptr(), lowering.context_field(offsetof(abi::Context, arena)));
  int64_t offset = static_cast<int64_t>(offsetof(abi::ArenaHeader, subject) + offsetof(abi::Subject, registers)) + 8 * number;
  return lowering.b.CreateLoad(lowering.b.getInt64Ty(), lowering.at_offset(arena, offset));
}

llvm::Value* ControllerPlace::global(Lowering& lowering, const syntax::Global& global) {
  return lowering.call("spile_rt_shared", lowering.unit.module.ptr(),
                       {lowering.context, lowering.number(static_cast<int64_t>(lowering.unit.layout_of(global).storage))});
}

}  // namespace spile::codegen
