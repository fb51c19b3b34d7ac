#include "codegen/bodies/native_places.h"

#include "abi/machine.h"
#include "abi/trampoline.h"
#include "codegen/bodies/body.h"
#include "codegen/machine/native_target.h"

namespace spile::codegen {

namespace {
using abi::kConvention;

constexpr int64_t kRegisters = kConvention.program_counter + 1;  // of abi::Registers, in DWARF's numbering

}  // namespace

llvm::Value* NativePlace::machine_register(Body& body, int64_t number) {
  SiteValues& site = body.site;
  if (abi::is_vector_register(number)) return read_vector_register(body.b, number - kConvention.first_vector);
  if (number < 0 || number >= kRegisters) return nullptr;
  if (site.registers) {
    return body.b.CreateLoad(body.b.getInt64Ty(), body.at_offset(site.registers, 8 * number));
  }
  if (!site.returned.empty()) {
    size_t place = kConvention.result_registers.find(number);
    if (place < site.returned.size()) return site.returned[place];
    return number == kConvention.stack_pointer ? site.cfa : nullptr;
  }
  if (number == kConvention.stack_pointer && site.cfa) return body.b.CreateSub(site.cfa, body.number(kConvention.entry_cfa));
  size_t place = kConvention.argument_registers.find(number);
  return place < site.arguments.size() ? site.arguments[place] : nullptr;
}

llvm::Value* NativePlace::all_registers(Body& body) {
  return body.site.registers ? body.site.registers : llvm::ConstantPointerNull::get(body.unit.module.ptr());
}

llvm::Value* NativePlace::cfa(Body& body) {
  if (body.site.cfa) return body.site.cfa;
  if (body.probe) return nullptr;
  return body.b.CreateLoad(body.b.getInt64Ty(), body.context_field(offsetof(abi::Context, cfa)));
}

llvm::Value* NativePlace::load_bias(Body& body) {
  return body.b.CreateLoad(body.b.getInt64Ty(), body.at_offset(body.unit.module.cells(), offsetof(abi::ImageCells, load_bias)));
}

llvm::Value* NativePlace::call_number(Body& body) {
  return body.b.CreateLoad(body.b.getInt64Ty(), body.context_field(offsetof(abi::Context, call_number)));
}

llvm::Value* TargetPlace::thread_pointer(Body& body) { return body.call("spile_rt_thread_pointer", body.b.getInt64Ty(), {}); }

llvm::Value* TargetPlace::global(Body& body, const syntax::Global& global) { return global_of_slot(body, global); }

llvm::Value* global_of_slot(Body& body, const syntax::Global& global) {
  const GlobalLayout& layout = body.unit.layout_of(global);
  llvm::Type* ptr = body.unit.module.ptr();
  if (body.unit.sharing_of(global) != sema::Sharing::kSharded) {
    return body.call("spile_rt_shared", ptr, {body.context, body.number(static_cast<int64_t>(layout.storage))});
  }
  const char* function = layout.in_epochs ? "spile_rt_epoch_shard" : "spile_rt_shard";
  return body.call(function, ptr, {body.context, body.number(static_cast<int64_t>(layout.shard))});
}

// The field at `offset` of the registers that came with what the handler is about.
static llvm::Value* subject_register(Body& body, int64_t offset) {
  llvm::Value* slot = body.b.CreateLoad(body.unit.module.ptr(), body.context_field(offsetof(abi::Context, slot)));
  offset += static_cast<int64_t>(offsetof(abi::ControllerState, subject) + offsetof(abi::Subject, registers));
  return body.b.CreateLoad(body.b.getInt64Ty(), body.at_offset(slot, offset - abi::kPageSize));
}

llvm::Value* ControllerPlace::machine_register(Body& body, int64_t number) {
  return number >= 0 && number < kRegisters ? subject_register(body, 8 * number) : nullptr;
}

llvm::Value* ControllerPlace::call_number(Body& body) { return subject_register(body, offsetof(abi::Registers, site_id)); }

llvm::Value* ControllerPlace::all_registers(Body& body) {
  return body.call("spile_rt_subject_registers", body.unit.module.ptr(), {body.context});
}

llvm::Value* ControllerPlace::global(Body& body, const syntax::Global& global) {
  return body.call("spile_rt_shared", body.unit.module.ptr(),
                   {body.context, body.number(static_cast<int64_t>(body.unit.layout_of(global).storage))});
}

}  // namespace spile::codegen
