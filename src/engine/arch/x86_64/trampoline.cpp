#include "engine/arch/x86_64/trampoline.h"

#include <cstddef>

#include "engine/arch/x86_64/assembler.h"
#include "engine/arch/x86_64/decoder.h"
#include "engine/arch/x86_64/relocator.h"

namespace spile::engine::x86_64 {
namespace {

constexpr uint8_t kConditionZero = 4;  // je, jz
constexpr int32_t kBlock = sizeof(abi::Registers);
constexpr uint64_t kEntryRoom = 16, kReturnRoom = 64, kRegistersRoom = 640, kDisplacedRoom = 128;

struct SavedRegister {
  Gpr reg;
  int32_t offset;
};
// All but rsp.
constexpr SavedRegister kSaved[] = {
    {kRax, offsetof(abi::Registers, rax)}, {kRdx, offsetof(abi::Registers, rdx)}, {kRcx, offsetof(abi::Registers, rcx)},
    {kRbx, offsetof(abi::Registers, rbx)}, {kRsi, offsetof(abi::Registers, rsi)}, {kRdi, offsetof(abi::Registers, rdi)},
    {kRbp, offsetof(abi::Registers, rbp)}, {kR8, offsetof(abi::Registers, r8)},   {kR9, offsetof(abi::Registers, r9)},
    {kR10, offsetof(abi::Registers, r10)}, {kR11, offsetof(abi::Registers, r11)}, {kR12, offsetof(abi::Registers, r12)},
    {kR13, offsetof(abi::Registers, r13)}, {kR14, offsetof(abi::Registers, r14)}, {kR15, offsetof(abi::Registers, r15)},
};

// Leaves an abi::Registers on the stack and its address in rdi.
void save_registers(Assembler& out, Address site, uint32_t site_id) {
  out.adjust_stack(-kBlock);
  for (const SavedRegister& saved : kSaved) out.store(saved.reg, saved.offset);
  out.bytes({0x9c});  // pushfq
  out.pop(kRax);
  out.store(kRax, offsetof(abi::Registers, flags));
  out.stack_address(kRax, kBlock);
  out.store(kRax, offsetof(abi::Registers, rsp));
  out.code_address(kRax, site);
  out.store(kRax, offsetof(abi::Registers, rip));
  out.store_imm32(static_cast<int32_t>(site_id), offsetof(abi::Registers, site_id));
  out.move(kRsp, kRdi);
}

// Keeps the flags as they are: they carry a verdict, or are dead.
void restore_registers(Assembler& out) {
  for (const SavedRegister& saved : kSaved) out.load(saved.reg, saved.offset);
  out.adjust_stack(kBlock);
}

void emit_entry(Assembler& out, const Fragment& fragment, Address site) {
  if (fragment.flags & abi::kWantsRegisters) {
    save_registers(out, site, fragment.site_id);
    out.call(fragment.enter);
    restore_registers(out);
  } else if (fragment.flags & abi::kWantsSiteId) {
    out.push_imm32(static_cast<int32_t>(fragment.site_id));
    out.call(fragment.enter);
    out.adjust_stack(8);
  } else {
    out.call(fragment.enter);
  }
}

// From `returned:` to `ret`. On the stack lies what the body's ret left behind: rsp is CFA.
void emit_return_part(Assembler& out, const Fragment& fragment, Address site) {
  if (fragment.flags & abi::kWantsRegisters) {
    out.adjust_stack(-8);  // the slot that exit fills
    save_registers(out, site, fragment.site_id);
    out.stack_address(kRax, kBlock + 8);
    out.store(kRax, offsetof(abi::Registers, rsp));
    out.call(fragment.exit);
    restore_registers(out);
  } else {
    out.push(kRax);
    out.push(kRdi);
    out.push(kRsi);
    out.move(kRax, kRdi);
    out.move(kRdx, kRsi);
    out.call(fragment.exit);
    out.pop(kRsi);
    out.pop(kRdi);
  }
  out.bytes({0xc3});  // ret
}

void emit_return(Assembler& out, const Fragment& fragment, Address site) {
  if (fragment.flags & abi::kWantsRegisters) {
    save_registers(out, site, fragment.site_id);
    out.call(fragment.enter);
    out.bytes({0x85, 0xc0});  // test %eax, %eax
    restore_registers(out);
  } else {
    out.push(kRax);
    out.push_imm32(static_cast<int32_t>(fragment.site_id));
    out.call(fragment.enter);
    out.bytes({0x85, 0xc0});  // test %eax, %eax
    out.adjust_stack(8);
    out.pop(kRax);
  }
  out.jump_if(kConditionZero, out.here());
  uint32_t skip = out.offset();
  out.adjust_stack(8);
  out.call(out.here());
  uint32_t body = out.offset();
  emit_return_part(out, fragment, site);
  out.aim_here(skip);
  out.aim_here(body);
}

}  // namespace

Result<Trampoline> emit_trampoline(const SitePlan& plan, std::span<const uint8_t> original,
                                   std::span<const Fragment> fragments, Address at) {
  Assembler out(at);
  for (const Fragment& fragment : fragments) {
    if (fragment.kind == abi::SiteKind::kEntry) {
      emit_entry(out, fragment, plan.begin);
    } else {
      emit_return(out, fragment, plan.begin);
    }
  }
  Trampoline result;
  result.displaced_begin = out.offset();
  for (size_t done = 0; done < plan.displaced;) {
    auto instruction = decode(original.subspan(done));
    CHECK(instruction.has_value());  // plan_entry has decoded the same bytes
    result.boundaries.push_back({static_cast<uint8_t>(done), static_cast<uint16_t>(out.offset())});
    TRY_DO(relocate(*instruction, original.subspan(done, instruction->length), plan.begin + static_cast<int64_t>(done),
                    out));
    done += instruction->length;
  }
  if (plan.falls_through) {
    result.boundaries.push_back({plan.window, static_cast<uint16_t>(out.offset())});
    out.jump(plan.begin + plan.window);
  }
  if (out.out_of_reach()) return Error{"the trampoline is out of reach", ""};
  result.code = out.take();
  return result;
}

uint64_t trampoline_room(std::span<const Fragment> fragments) {
  uint64_t room = kDisplacedRoom;
  for (const Fragment& fragment : fragments) {
    bool returns = fragment.kind == abi::SiteKind::kReturn;
    room += returns ? kReturnRoom : kEntryRoom;
    if (fragment.flags & abi::kWantsRegisters) room += returns ? 2 * kRegistersRoom : kRegistersRoom;
  }
  return room;
}

std::vector<uint8_t> emit_jump(const SitePlan& plan, Address trampoline) {
  Assembler out(plan.begin);
  if (plan.mechanism == Mechanism::kShortJump) {
    int64_t distance = plan.landing - (plan.begin + 2);
    CHECK(distance == static_cast<int8_t>(distance));
    out.bytes({0xeb, static_cast<uint8_t>(distance)});  // jmp rel8
  } else {
    out.jump(trampoline);
  }
  return out.take();
}

std::vector<uint8_t> emit_trap_unless(Address at, Address word, uint32_t mask, uint32_t* trap_offset) {
  Assembler out(at);
  out.push(kRax);
  out.bytes({0x48, 0xb8});  // movabs $word, %rax
  out.imm32(static_cast<int64_t>(word.value));
  out.imm32(static_cast<int64_t>(word.value >> 32));
  out.bytes({0xf7, 0x00});  // testl $mask, (%rax)
  out.imm32(mask);
  out.pop(kRax);
  out.bytes({0x75, 0x01});  // jnz over the int3
  *trap_offset = out.offset();
  out.bytes({0xcc});  // int3
  return out.take();
}

}  // namespace spile::engine::x86_64
