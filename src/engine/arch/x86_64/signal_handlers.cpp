// Registers: rdi, rsi and rdx keep the handler's arguments throughout; whatever a call may change is free, as the kernel brings
// back all registers from the frame. struct siginfo: si_signo, si_errno, si_code, 32 bits each. The frame's program counter
// (REG_RIP) is at 168(%rdx), its flags at 176(%rdx).

#include "engine/arch/x86_64/signal_handlers.h"

#include <cstddef>

#include "abi/arena.h"
#include "engine/arch/x86_64/assembler.h"

namespace spile::engine::x86_64 {
namespace {

constexpr uint8_t kBelow = 2, kNotBelow = 3, kEqual = 4, kNotEqual = 5;  // condition codes of jcc
constexpr uint8_t kNotGreater = 14;

// A place that is jumped to before it is known.
class Label {
 public:
  void jump_if(Assembler& out, uint8_t condition) {
    out.jump_if(condition, out.here());
    fields_.push_back(out.offset());
  }
  void place(Assembler& out) {
    for (uint32_t field : fields_) out.aim_here(field);
  }

 private:
  std::vector<uint32_t> fields_;
};

void return_if_moved_on(Assembler& out, Label& done) {
  out.bytes({0x81, 0x7e, 0x04});  // cmpl $kMovedOn, 4(%rsi)
  out.imm32(kMovedOn);
  done.jump_if(out, kEqual);
}

// The signal does what it does by default, with all that came with it, when the handler has returned. If that can't be had
// (a seccomp filter), it is sent anew; a fault repeats itself anyway.
void act_by_default(Assembler& out) {
  out.bytes({0x41, 0x89, 0xf9});              // mov  %edi, %r9d
  out.bytes({0x49, 0x89, 0xf0});              // mov  %rsi, %r8
  out.bytes({0xb8, 0x0d, 0x00, 0x00, 0x00});  // mov  $13, %eax: rt_sigaction(signal, zeros, 0, 8)
  out.bytes({0x48, 0x8d, 0x35});              // lea  zeros(%rip), %rsi
  out.imm32(0);
  uint32_t zeros_field = out.offset();
  out.bytes({0x31, 0xd2});                          // xor  %edx, %edx
  out.bytes({0x41, 0xba, 0x08, 0x00, 0x00, 0x00});  // mov  $8, %r10d
  out.bytes({0x0f, 0x05});                          // syscall
  out.bytes({0xb8, 0x27, 0x00, 0x00, 0x00});        // mov  $39, %eax: getpid()
  out.bytes({0x0f, 0x05});                          // syscall
  out.bytes({0x89, 0xc7});                          // mov  %eax, %edi
  out.bytes({0xb8, 0xba, 0x00, 0x00, 0x00});        // mov  $186, %eax: gettid()
  out.bytes({0x0f, 0x05});                          // syscall
  out.bytes({0x89, 0xc6});                          // mov  %eax, %esi
  out.bytes({0x44, 0x89, 0xca});                    // mov  %r9d, %edx
  out.bytes({0x4d, 0x89, 0xc2});                    // mov  %r8, %r10
  out.bytes({0xb8, 0x29, 0x01, 0x00, 0x00});        // mov  $297, %eax: rt_tgsigqueueinfo(pid, tid, signal, info)
  out.bytes({0x0f, 0x05});                          // syscall
  out.bytes({0x85, 0xc0});                          // test %eax, %eax
  out.bytes({0x74, 0x07});                          // jz   1f
  out.bytes({0xb8, 0xea, 0x00, 0x00, 0x00});        // mov  $234, %eax: tgkill(pid, tid, signal)
  out.bytes({0x0f, 0x05});                          // syscall
  out.bytes({0xc3});                                // 1: ret
  out.align(8, 8);
  out.aim_here(zeros_field);
  for (int i = 0; i < 8; i++) out.imm32(0);
}

// What the handler returns to: mov $15, %eax; syscall: rt_sigreturn.
uint32_t emit_restorer(Assembler& out) {
  uint32_t at = out.offset();
  out.bytes({0xb8, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05});
  return at;
}

}  // namespace

SignalHandler emit_trap_handler(Address at, uint64_t entries) {
  Assembler out(at);
  Label done, table_walk, ours, none;
  return_if_moved_on(out, done);
  out.bytes({0x48, 0x8b, 0x82, 0xa8, 0x00, 0x00, 0x00});  // mov   168(%rdx), %rax
  // A step that the tracer began before it was killed; the kernel has taken the flag back. Behind a system call it says
  // TRAP_BRKPT, elsewhere TRAP_TRACE; breakpoints are SI_KERNEL.
  out.bytes({0xf6, 0x82, 0xb1, 0x00, 0x00, 0x00, 0x01});  // testb $1, 177(%rdx): the trap flag
  table_walk.jump_if(out, kNotEqual);
  out.bytes({0x83, 0x7e, 0x08, 0x02});  // cmpl  $2, 8(%rsi)
  done.jump_if(out, kEqual);
  out.bytes({0x83, 0x7e, 0x08, 0x01});  // cmpl  $1, 8(%rsi)
  table_walk.jump_if(out, kNotEqual);
  out.bytes({0x66, 0x81, 0x78, 0xfe, 0x0f, 0x05});  // cmpw  $0x050f, -2(%rax)
  done.jump_if(out, kEqual);
  table_walk.place(out);
  out.bytes({0x48, 0x8d, 0x0d});  // lea   table(%rip), %rcx
  out.imm32(0);
  uint32_t table_field = out.offset();
  Address next = out.here();
  out.bytes({0x4c, 0x8b, 0x01});  // mov   (%rcx), %r8
  out.bytes({0x4d, 0x85, 0xc0});  // test  %r8, %r8
  none.jump_if(out, kEqual);
  out.bytes({0x49, 0x39, 0xc0});  // cmp   %rax, %r8
  ours.jump_if(out, kEqual);
  out.bytes({0x48, 0x83, 0xc1, 0x10});  // add   $16, %rcx
  out.jump(next);
  ours.place(out);
  out.bytes({0x48, 0x8b, 0x41, 0x08});                    // mov   8(%rcx), %rax
  out.bytes({0x48, 0x89, 0x82, 0xa8, 0x00, 0x00, 0x00});  // mov   %rax, 168(%rdx)
  done.place(out);
  out.bytes({0xc3});  // ret
  none.place(out);
  act_by_default(out);
  uint32_t restorer = emit_restorer(out);
  out.align(8, 8);
  out.aim_here(table_field);
  uint32_t table = out.offset();
  SignalHandler handler{out.take(), table, restorer};
  handler.bytes.resize(table + (entries + 1) * 16);
  return handler;
}

SignalHandler emit_fault_handler(Address at, Address regions) {
  using Header = abi::RegionHeader;
  static_assert(offsetof(Header, fixups_offset) < 256 && offsetof(Header, fixup_count) < 256 && offsetof(Header, magic) == 0);
  auto field = [](size_t offset) { return static_cast<int64_t>(offset); };
  Assembler out(at);
  Label done, none;
  return_if_moved_on(out, done);
  out.bytes({0x83, 0x7e, 0x08, 0x00});  // cmpl  $0, 8(%rsi): sent by somebody?
  none.jump_if(out, kNotGreater);
  out.bytes({0x48, 0x8b, 0x82, 0xa8, 0x00, 0x00, 0x00});  // mov   168(%rdx), %rax
  out.code_address(kRcx, regions);
  out.bytes({0x4c, 0x8b, 0x01});  // mov   (%rcx), %r8: how many
  Address next = out.here();
  out.bytes({0x49, 0x83, 0xe8, 0x01});  // sub   $1, %r8
  none.jump_if(out, kBelow);
  out.bytes({0x48, 0x83, 0xc1, 0x10});  // add   $16, %rcx: the first range is behind two words
  out.bytes({0x4c, 0x8b, 0x09});        // mov   (%rcx), %r9
  out.bytes({0x49, 0x83, 0xe1, 0xfe});  // and   $~kForeignRegion, %r9
  out.bytes({0x4c, 0x39, 0xc8});        // cmp   %r9, %rax
  out.jump_if(kBelow, next);
  out.bytes({0x48, 0x3b, 0x41, 0x08});  // cmp   8(%rcx), %rax
  out.jump_if(kNotBelow, next);
  // What other processes have there may be listed too: the header says whether it is a region.
  out.bytes({0x49, 0xbb});  // mov   $kRegionMagic, %r11
  out.imm32(static_cast<int64_t>(abi::kRegionMagic & 0xffffffff));
  out.imm32(static_cast<int64_t>(abi::kRegionMagic >> 32));
  out.bytes({0x4d, 0x39, 0x19});  // cmp   %r11, (%r9)
  out.jump_if(kNotEqual, next);
  out.bytes({0x4d, 0x8b, 0x91});  // mov   image_offset(%r9), %r10
  out.imm32(field(offsetof(Header, image_offset)));
  out.bytes({0x4d, 0x01, 0xca});  // add   %r9, %r10: the image
  out.bytes({0x4c, 0x29, 0xd0});  // sub   %r10, %rax
  out.bytes({0x49, 0x8b, 0x89});  // mov   fixups_offset(%r9), %rcx
  out.imm32(field(offsetof(Header, fixups_offset)));
  out.bytes({0x4c, 0x01, 0xc9});  // add   %r9, %rcx: FaultFixup[]
  out.bytes({0x4d, 0x8b, 0x81});  // mov   fixup_count(%r9), %r8
  out.imm32(field(offsetof(Header, fixup_count)));
  Address next_fixup = out.here();
  out.bytes({0x49, 0x83, 0xe8, 0x01});  // sub   $1, %r8
  none.jump_if(out, kBelow);
  out.bytes({0x44, 0x8b, 0x19});        // mov   (%rcx), %r11d
  out.bytes({0x48, 0x83, 0xc1, 0x08});  // add   $8, %rcx
  out.bytes({0x49, 0x39, 0xc3});        // cmp   %rax, %r11
  out.jump_if(kNotEqual, next_fixup);
  out.bytes({0x8b, 0x41, 0xfc});                          // mov   -4(%rcx), %eax
  out.bytes({0x4c, 0x01, 0xd0});                          // add   %r10, %rax
  out.bytes({0x48, 0x89, 0x82, 0xa8, 0x00, 0x00, 0x00});  // mov   %rax, 168(%rdx)
  done.place(out);
  out.bytes({0xc3});  // ret
  none.place(out);
  act_by_default(out);
  uint32_t restorer = emit_restorer(out);
  return {out.take(), 0, restorer};
}

}  // namespace spile::engine::x86_64
