#include "engine/arch/x86_64/goroutine_stack.h"

#include "engine/arch/x86_64/saved_registers.h"

namespace spile::engine::x86_64 {
namespace {

constexpr uint8_t kEqual = 4, kNotEqual = 5, kBelow = 2, kAbove = 7;
constexpr int32_t kPushed = 24;        // on the goroutine's stack: flags, rcx, rax
constexpr int32_t kOldStack = kBlock;  // where its pointer is kept, above the block
constexpr uint8_t kFlagsAt = 0, kRcxAt = 8, kRaxAt = 16;

uint32_t jump_if(Assembler& out, uint8_t condition) {
  out.jump_if(condition, out.here());
  return out.offset();
}

}  // namespace

void leave_goroutine_stack(Assembler& out, const GoroutineCall& call, Address site, uint32_t site_id) {
  if (call.red_zone != 0) out.adjust_stack(-call.red_zone);
  out.push(kRax);
  out.push(kRcx);
  out.bytes({0x9c});                          // pushfq
  out.bytes({0xf3, 0x48, 0x0f, 0xae, 0xc0});  // rdfsbase %rax
  out.bytes({0x48, 0x85, 0xc0});              // test %rax, %rax: 0 before the runtime has set it up
  uint32_t stay[7];
  stay[0] = jump_if(out, kEqual);
  out.bytes({0x48, 0x8b, 0x80});  // mov goroutine(%rax), %rax
  out.imm32(call.goroutine);
  out.bytes({0x48, 0x85, 0xc0});  // test %rax, %rax
  stay[1] = jump_if(out, kEqual);
  out.bytes({0x48, 0x3b, 0x20});  // cmp (%rax), %rsp
  stay[2] = jump_if(out, kBelow);
  out.bytes({0x48, 0x3b, 0x60, 0x08});  // cmp 8(%rax), %rsp
  stay[3] = jump_if(out, kAbove);
  out.bytes({0x48, 0x39, 0x40, 0x48});  // cmp %rax, 72(%rax)
  stay[4] = jump_if(out, kNotEqual);
  out.bytes({0x48, 0x8b, 0x48, 0x30});  // mov 48(%rax), %rcx
  out.bytes({0x48, 0x8b, 0x09});        // mov (%rcx), %rcx
  out.bytes({0x48, 0x39, 0xc1});        // cmp %rax, %rcx
  stay[5] = jump_if(out, kEqual);
  out.bytes({0x48, 0x8b, 0x41, 0x38});  // mov 56(%rcx), %rax
  out.bytes({0x48, 0x85, 0xc0});        // test %rax, %rax
  stay[6] = jump_if(out, kEqual);
  out.move(kRsp, kRcx);
  out.move(kRax, kRsp);
  out.jump(out.here());
  uint32_t left = out.offset();
  for (uint32_t branch : stay) out.aim_here(branch);
  out.move(kRsp, kRcx);
  out.aim_here(left);

  out.bytes({0x48, 0x83, 0xe4, 0xf0});  // and $-16, %rsp
  out.adjust_stack(-kBlock - 16);
  out.store(kRcx, kOldStack);
  for (const SavedRegister& saved : kSaved) {
    if (saved.reg != kRax && saved.reg != kRcx) out.store(saved.reg, saved.offset);
  }
  auto copy = [&](uint8_t from, int32_t to) {
    out.bytes({0x48, 0x8b, 0x41, from});  // mov from(%rcx), %rax
    out.store(kRax, to);
  };
  copy(kFlagsAt, offsetof(abi::Registers, flags));
  copy(kRcxAt, offsetof(abi::Registers, rcx));
  copy(kRaxAt, offsetof(abi::Registers, rax));
  out.bytes({0x48, 0x8d, 0x81});  // lea above(%rcx), %rax
  out.imm32(kPushed + call.red_zone + call.popped);
  out.store(kRax, offsetof(abi::Registers, rsp));
  out.code_address(kRax, site);
  out.store(kRax, offsetof(abi::Registers, rip));
  out.store_imm32(static_cast<int32_t>(site_id), offsetof(abi::Registers, site_id));
  out.move(kRsp, kRdi);
  out.bytes({0xfc});  // cld
  out.clear_checking_flags(offsetof(abi::Registers, flags));
}

void return_to_goroutine_stack(Assembler& out, const GoroutineCall& call) {
  for (const SavedRegister& saved : kSaved) {
    if (saved.reg != kRax && saved.reg != kRcx) out.load(saved.reg, saved.offset);
  }
  out.load(kRcx, kOldStack);
  auto copy = [&](int32_t from, uint8_t to) {
    out.load(kRax, from);
    out.bytes({0x48, 0x89, 0x41, to});  // mov %rax, to(%rcx)
  };
  if (call.restores_flags) copy(offsetof(abi::Registers, flags), kFlagsAt);
  copy(offsetof(abi::Registers, rcx), kRcxAt);
  copy(offsetof(abi::Registers, rax), kRaxAt);
  out.move(kRcx, kRsp);
  out.bytes({0x9d});  // popfq
  out.pop(kRcx);
  out.pop(kRax);
  if (call.red_zone != 0) out.adjust_stack(call.red_zone);
}

}  // namespace spile::engine::x86_64
