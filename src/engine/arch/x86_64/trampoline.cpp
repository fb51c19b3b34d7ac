#include "engine/arch/x86_64/trampoline.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "engine/arch/x86_64/assembler.h"
#include "engine/arch/x86_64/decoder.h"
#include "engine/arch/x86_64/goroutine_stack.h"
#include "engine/arch/x86_64/relocator.h"
#include "engine/arch/x86_64/saved_registers.h"

namespace spile::engine::x86_64 {
namespace {

constexpr uint8_t kConditionZero = 4;  // je, jz
constexpr int32_t kRedZone = 128;
constexpr uint64_t kEntryRoom = 16, kReturnRoom = 64, kInstructionRoom = 80, kRegistersRoom = 640, kGoroutineRoom = 256,
                   kDisplacedRoom = 128;
constexpr uint64_t kGateRoom = 16, kTouchRoom = 128;
constexpr uint8_t kNop5[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

// Emits code that leaves an abi::Registers on the stack, below `above` bytes that are not to be touched, and its address in rdi.
void save_registers(Assembler& out, Address site, uint32_t site_id, int32_t above = 0) {
  out.adjust_stack(-kBlock - above);
  for (const SavedRegister& saved : kSaved) out.store(saved.reg, saved.offset);
  out.bytes({0x9c});  // pushfq
  out.pop(kRax);
  out.store(kRax, offsetof(abi::Registers, flags));
  out.stack_address(kRax, kBlock + above);
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

// Emits the call of a handler in a Go program.
void emit_goroutine(Assembler& out, const Fragment& fragment, Address handler, Address site) {
  bool inside = fragment.kind == abi::SiteKind::kInstruction || fragment.kind == abi::SiteKind::kSystemCall;
  bool exit = fragment.kind == abi::SiteKind::kExit;
  GoroutineCall call{fragment.goroutine, inside ? kRedZone : 0, exit ? 8 : 0, inside};
  leave_goroutine_stack(out, call, site, fragment.site_id);
  out.call(handler);
  return_to_goroutine_stack(out, call);
}

// Handlers of returns see the stack pointer as it is behind the return instruction.
void call_at_return(Assembler& out, const Fragment& fragment, Address handler, Address site) {
  save_registers(out, site, fragment.site_id);
  out.stack_address(kRax, kBlock + 8);
  out.store(kRax, offsetof(abi::Registers, rsp));
  out.call(handler);
  restore_registers(out);
}

// Emits the call of a handler before a return instruction.
void emit_exit(Assembler& out, const Fragment& fragment, Address site) {
  if (fragment.flags & abi::kWantsRegisters) {
    call_at_return(out, fragment, fragment.enter, site);
  } else {
    out.call(fragment.enter);
  }
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

void emit_instruction(Assembler& out, const Fragment& fragment, Address handler, Address site) {
  if (fragment.flags & abi::kWantsRegisters) {
    save_registers(out, site, fragment.site_id, kRedZone);
    out.bytes({0xfc});  // cld
    out.clear_checking_flags(offsetof(abi::Registers, flags));
    out.call(handler);
    out.load(kRax, offsetof(abi::Registers, flags));
    out.push(kRax);
    out.bytes({0x9d});  // popfq
    for (const SavedRegister& saved : kSaved) out.load(saved.reg, saved.offset);
    out.adjust_stack(kBlock + kRedZone);
    return;
  }
  out.adjust_stack(-kRedZone);
  out.bytes({0x9c, 0xfc});  // pushfq; cld
  out.clear_checking_flags(0);
  if (fragment.flags & abi::kWantsSiteId) out.push_imm32(static_cast<int32_t>(fragment.site_id));
  out.call(handler);
  if (fragment.flags & abi::kWantsSiteId) out.adjust_stack(8);
  out.bytes({0x9d});  // popfq
  out.adjust_stack(kRedZone);
}

// Emits the code from `returned:` to `ret`. On the stack lies what the body's ret left behind: rsp is CFA.
void emit_return_part(Assembler& out, const Fragment& fragment, Address site) {
  if (fragment.flags & abi::kWantsRegisters) {
    out.adjust_stack(-8);  // the slot that exit fills
    call_at_return(out, fragment, fragment.exit, site);
  } else {
    out.adjust_stack(-8);  // the word stays: until exit has found the frame, it is known to be pending by it
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
    out.pop(kRax);            // the site id
    out.pop(kRax);
  }
  const bool is_near = !(fragment.flags & abi::kWantsRegisters);
  if (is_near) out.jump_near_if(kConditionZero, 0);
  else out.jump_if(kConditionZero, out.here());
  uint32_t skip = out.offset();
  out.adjust_stack(8);
  out.call(out.here());
  uint32_t body = out.offset();
  emit_return_part(out, fragment, site);
  if (is_near) out.aim_near_here(skip);
  else out.aim_here(skip);
  out.aim_here(body);
}

// Emits the calls of handlers around a system call instruction that stands at `done` in the window.
void emit_system_call(Assembler& out, const Fragment& fragment, Address site, size_t done, Trampoline& result) {
  auto call = [&](Address handler) {
    if (fragment.goroutine != 0) emit_goroutine(out, fragment, handler, site);
    else emit_instruction(out, fragment, handler, site);
  };
  call(fragment.enter);
  result.call_original = static_cast<uint16_t>(done);
  result.call = static_cast<uint16_t>(out.offset());
  out.bytes({0x0f, 0x05});  // syscall
  if (fragment.exit != Address()) call(fragment.exit);
  out.bytes({0xeb, 0x02});  // jmp over the next
  out.bytes({0x0f, 0x05});  // syscall
  result.behind_call = static_cast<uint16_t>(out.offset());
  // The way in first: a thread comes by the call's begin and behind its end, and leaves from where it waits too.
  uint8_t behind = static_cast<uint8_t>(done + 2);
  result.boundaries.push_back({behind, result.behind_call});
  result.boundaries.push_back({static_cast<uint8_t>(done), result.call});
  result.boundaries.push_back({behind, static_cast<uint16_t>(result.call + 2)});
}

// The word that holds the nop at `gate`, and the same with a jump to here in its place.
Gate make_gate(Assembler& out, const Fragment& fragment, uint32_t gate) {
  while (out.offset() < gate + 8) out.bytes({0x90});
  uint32_t word = gate - static_cast<uint32_t>((out.here().value - out.offset() + gate) % 8);
  Gate made{fragment.client, fragment.site_id, word, out.word_at(word), 0};
  uint32_t shift = (gate - word) * 8;
  uint64_t distance = static_cast<uint32_t>(out.offset() - gate - sizeof kNop5);
  uint64_t jump = 0xe9 | distance << 8;  // jmp rel32
  made.off = (made.on & ~(uint64_t{0xffffffffff} << shift)) | jump << shift;
  return made;
}

void emit_in_place(Assembler& out, const Fragment& fragment, Address site) {
  switch (fragment.kind) {
    case abi::SiteKind::kEntry: emit_entry(out, fragment, site); break;
    case abi::SiteKind::kReturn: emit_return(out, fragment, site); break;
    case abi::SiteKind::kInstruction: emit_instruction(out, fragment, fragment.enter, site); break;
    case abi::SiteKind::kExit: emit_exit(out, fragment, site); break;
    case abi::SiteKind::kRoom: break;
    case abi::SiteKind::kSystemCall: break;
  }
}

constexpr uint8_t kTest[] = {0x85, 0x84, 0x24}, kPush[] = {0xff, 0xb4, 0x24};  // and a 32-bit displacement

// Emits reads of each page, from the nearest: behind the stack's last page there may be other memory.
void touch_stack(Assembler& out, std::span<const Fragment> fragments) {
  constexpr int32_t kPage = 4096, kMost = 36'864;
  int32_t last = 0;
  bool keeps_flags = false;
  for (const Fragment& fragment : fragments) {
    if (!(fragment.flags & abi::kTouchesStack)) continue;
    last = std::max(last, std::min(static_cast<int32_t>(fragment.touches), kMost));
    keeps_flags |= fragment.offset == 0 && fragment.kind == abi::SiteKind::kInstruction;
  }
  if (last == 0) return;
  last = (last + 7) / 8 * 8;
  int32_t pushed = 0;
  if (keeps_flags) out.adjust_stack(-kRedZone);
  for (int32_t at = std::min(last, kPage);; at = std::min(at + kPage, last)) {
    if (keeps_flags) out.bytes(kPush);  // push -at(%rsp)
    else out.bytes(kTest);              // test %eax, -at(%rsp)
    out.imm32(-at);
    if (keeps_flags) pushed += 8;
    if (at == last) break;
  }
  if (keeps_flags) out.adjust_stack(kRedZone + pushed);
}

void emit_fragment(Assembler& out, const Fragment& fragment, Address site, std::vector<Gate>& gates) {
  if (fragment.kind == abi::SiteKind::kSystemCall) return;  // it is in place of the instruction
  uint32_t gate = 0;
  bool switchable = fragment.flags & abi::kSwitchable;
  if (switchable) {
    out.align(8, sizeof kNop5);
    gate = out.offset();
    out.bytes(kNop5);
  }
  bool goroutine = fragment.goroutine != 0 && (fragment.flags & abi::kWantsRegisters) != 0;
  if (goroutine && fragment.kind != abi::SiteKind::kReturn) {
    emit_goroutine(out, fragment, fragment.enter, site);
  } else {
    emit_in_place(out, fragment, site);
  }
  if (switchable) gates.push_back(make_gate(out, fragment, gate));
}
}  // namespace

Result<Trampoline> emit_trampoline(const SitePlan& plan, std::span<const uint8_t> original, std::span<const Fragment> fragments,
                                   Address at) {
  Assembler out(at);
  Trampoline result;
  auto emit_fragments = [&](size_t offset) {
    for (const Fragment& fragment : fragments) {
      if (fragment.offset != offset) continue;
      emit_fragment(out, fragment, plan.begin + static_cast<int64_t>(offset), result.gates);
    }
  };
  touch_stack(out, fragments);
  emit_fragments(0);
  if (plan.continues != Address()) {
    out.jump(plan.continues);
    if (out.out_of_reach()) return Error{"the trampolines of several controllers are out of each other's reach", ""};
    result.code = out.take();
    return result;
  }
  result.displaced_begin = out.offset();
  for (size_t done = 0; done < plan.displaced;) {
    auto instruction = decode(original.subspan(done));
    CHECK(instruction.has_value());  // plan_entry has decoded the same bytes
    result.boundaries.push_back({static_cast<uint8_t>(done), static_cast<uint16_t>(out.offset())});
    if (done != 0) emit_fragments(done);
    Address from = plan.begin + static_cast<int64_t>(done);
    auto call = std::find_if(fragments.begin(), fragments.end(), [&](const Fragment& fragment) {
      return fragment.kind == abi::SiteKind::kSystemCall && fragment.offset == done;
    });
    if (call != fragments.end()) {
      emit_system_call(out, *call, from, done, result);
    } else {
      TRY_DO(relocate(*instruction, original.subspan(done, instruction->length), from, out));
    }
    done += instruction->length;
  }
  if (plan.falls_through) {
    result.boundaries.push_back({plan.window, static_cast<uint16_t>(out.offset())});
    out.jump(plan.begin + plan.window);
  } else if (result.call != 0) {
    out.bytes({0xcc});  // int3, as behind a call that does not return
  }
  if (out.out_of_reach()) return Error{"the trampoline is out of reach", ""};
  result.code = out.take();
  return result;
}

uint64_t trampoline_room(std::span<const Fragment> fragments) {
  uint64_t room = kDisplacedRoom;
  for (const Fragment& fragment : fragments) {
    bool returns = fragment.kind == abi::SiteKind::kReturn;
    bool instruction = fragment.kind == abi::SiteKind::kInstruction;
    room += returns ? kReturnRoom : instruction ? kInstructionRoom : kEntryRoom;
    if (fragment.flags & abi::kSwitchable) room += kGateRoom;
    if (fragment.flags & abi::kTouchesStack) room += kTouchRoom;
    if (fragment.kind == abi::SiteKind::kSystemCall) returns = true;  // two handlers, as there
    if (fragment.goroutine != 0) room += returns ? 2 * kGoroutineRoom : kGoroutineRoom;
    if (fragment.flags & abi::kWantsRegisters) room += returns ? 2 * kRegistersRoom : kRegistersRoom;
  }
  return room;
}

bool is_stack_touch(std::span<const uint8_t> code) {
  return code.size() >= 3 && (memcmp(code.data(), kTest, 3) == 0 || memcmp(code.data(), kPush, 3) == 0);
}

std::vector<uint8_t> emit_jump(const SitePlan& plan, Address trampoline) {
  Assembler out(plan.begin);
  if (plan.mechanism == Mechanism::kShortJump) {
    int64_t distance = plan.relay - (plan.begin + 2);
    CHECK(distance == static_cast<int8_t>(distance));
    out.bytes({0xeb});  // jmp rel8; if only one byte of it fits, what stands behind it says the same
    if (plan.overwritten > 1) out.bytes({static_cast<uint8_t>(distance)});
  } else if (plan.mechanism == Mechanism::kInt3) {
    out.bytes({0xcc});
  } else if (plan.mechanism == Mechanism::kPunned) {
    for (int i = 0; i < plan.prefixes; i++) out.bytes({0x2e});  // cs: without effect on a near jump
    out.jump(plan.relay);
  } else {
    if (plan.lead != 0) out.bytes({plan.lead});
    out.jump(plan.relay != Address() ? plan.relay : trampoline);
  }
  return out.take();
}

std::vector<uint8_t> emit_stub(Address at, Address target) {
  Assembler near(at);
  near.jump(target);
  if (!near.out_of_reach()) return near.take();
  Assembler far(at);
  far.bytes({0xff, 0x25, 0x00, 0x00, 0x00, 0x00});  // jmp *0(%rip)
  far.imm32(static_cast<int64_t>(target.value));
  far.imm32(static_cast<int64_t>(target.value >> 32));
  return far.take();
}

std::vector<uint8_t> emit_trap_unless(Address at, Address word, uint32_t mask, std::span<const uint32_t> only_for,
                                      uint32_t* trap_offset) {
  constexpr size_t kTrap = 21, kComparison = 8, kSkip = 2;  // bytes
  Assembler out(at);
  for (size_t i = 0; i < only_for.size(); i++) {
    out.bytes({0x81, 0xff});  // cmp $value, %edi
    out.imm32(only_for[i]);
    out.bytes({0x74, static_cast<uint8_t>((only_for.size() - i - 1) * kComparison + kSkip)});  // je to the trap
  }
  if (!only_for.empty()) out.bytes({0xeb, static_cast<uint8_t>(kTrap)});  // jmp behind it
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

std::vector<uint8_t> emit_count(Address at, Address word) {
  Assembler out(at);
  out.push(kRax);
  out.bytes({0x48, 0xb8});  // movabs $word, %rax
  out.imm32(static_cast<int64_t>(word.value));
  out.imm32(static_cast<int64_t>(word.value >> 32));
  out.bytes({0xf0, 0x48, 0xff, 0x00});  // lock incq (%rax)
  out.pop(kRax);
  return out.take();
}

}  // namespace spile::engine::x86_64
