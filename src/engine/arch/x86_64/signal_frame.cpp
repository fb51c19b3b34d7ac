// arch/x86/kernel/signal_64.c and arch/x86/include/uapi/asm/sigcontext.h of Linux: from the stack pointer upwards,
//
//   pretcode    address of the restorer, which makes rt_sigreturn
//   ucontext    flags, link, alternate stack, sigcontext (registers, pointer to the vector state), signal mask
//   siginfo     not looked at
//   ...         at a multiple of 64: the vector state as XSAVE lays it out, which says in its reserved bytes how long
//   it is,
//               and a second magic number behind it

#include "engine/arch/x86_64/signal_frame.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

namespace spile::engine::x86_64 {
namespace {

constexpr uint64_t kRedZone = 128;
constexpr uint64_t kVectorAlignment = 64;
constexpr size_t kSoftwareBytes = 464;  // in the legacy area of XSAVE, left to software
constexpr uint32_t kMagic1 = 0x46505853, kMagic2 = 0x46505845;
constexpr size_t kMostVectorState = 32768;
constexpr uint64_t kHasVectorState = 1, kRestoresSegments = 2 | 4;  // uc_flags
constexpr int kInvalidStackFlags = 0x7fff;                          // the kernel leaves the alternate stack as it is

struct SignalContext {
  uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, flags;
  uint16_t cs, gs, fs, ss;
  uint64_t error, trap, old_mask, cr2, vector_state, reserved[8];
};
static_assert(sizeof(SignalContext) == 256);

struct SignalFrame {
  uint64_t restorer;
  uint64_t flags, link;
  uint64_t stack_pointer;
  int32_t stack_flags, pad;
  uint64_t stack_size;
  SignalContext context;
  uint64_t mask;
  uint8_t info[128];
};
static_assert(sizeof(SignalFrame) == 8 + 40 + 256 + 8 + 128);

struct SoftwareBytes {
  uint32_t magic1, extended_size;
  uint64_t features;
  uint32_t state_size, pad[7];
};
static_assert(sizeof(SoftwareBytes) == 48);

Result<std::vector<uint8_t>> read_vector_state(pid_t tid) {
  std::vector<uint8_t> state(kMostVectorState);
  iovec io{state.data(), state.size()};
  if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &io) != 0) return Error::from_errno("read vector registers", errno);
  state.resize(io.iov_len);
  if (state.size() < 512 + 64) return Error{"no XSAVE state", ""};
  // ptrace has the mask of features where a signal frame has the magic number.
  uint64_t features;
  memcpy(&features, &state[kSoftwareBytes], 8);
  SoftwareBytes bytes{kMagic1, static_cast<uint32_t>(state.size() + 4), features, static_cast<uint32_t>(state.size()), {}};
  memcpy(&state[kSoftwareBytes], &bytes, sizeof bytes);
  const auto* magic2 = reinterpret_cast<const uint8_t*>(&kMagic2);
  state.insert(state.end(), magic2, magic2 + 4);
  return state;
}

SignalContext context_of(const user_regs_struct& r) {
  SignalContext context{};
  context.r8 = r.r8;
  context.r9 = r.r9;
  context.r10 = r.r10;
  context.r11 = r.r11;
  context.r12 = r.r12;
  context.r13 = r.r13;
  context.r14 = r.r14;
  context.r15 = r.r15;
  context.rdi = r.rdi;
  context.rsi = r.rsi;
  context.rbp = r.rbp;
  context.rbx = r.rbx;
  context.rdx = r.rdx;
  context.rax = r.rax;
  context.rcx = r.rcx;
  context.rsp = r.rsp;
  context.rip = r.rip;
  context.flags = r.eflags;
  context.cs = static_cast<uint16_t>(r.cs);
  context.gs = static_cast<uint16_t>(r.gs);
  context.fs = static_cast<uint16_t>(r.fs);
  context.ss = static_cast<uint16_t>(r.ss);
  return context;
}

}  // namespace

Result<RecoveryFrame> build_signal_frame(pid_t tid, const user_regs_struct& registers, uint64_t signal_mask, Address restore) {
  TRY(std::vector<uint8_t> vector_state, read_vector_state(tid));
  uint64_t vectors = (registers.rsp - kRedZone - vector_state.size()) / kVectorAlignment * kVectorAlignment;
  uint64_t at = (vectors - sizeof(SignalFrame)) / 16 * 16;
  SignalFrame frame{};
  frame.restorer = restore.value;
  frame.flags = kHasVectorState | kRestoresSegments;
  frame.stack_flags = kInvalidStackFlags;
  frame.context = context_of(registers);
  frame.context.vector_state = vectors;
  frame.mask = signal_mask;
  RecoveryFrame result;
  result.at = Address(at);
  result.bytes.resize(vectors - at + vector_state.size());
  memcpy(result.bytes.data(), &frame, sizeof frame);
  memcpy(&result.bytes[vectors - at], vector_state.data(), vector_state.size());
  return result;
}

void find_system_call(std::span<const uint8_t> text, Address at, SystemCallText& found) {
  static constexpr uint8_t kCall[] = {0x0f, 0x05}, kCallAndReturn[] = {0x0f, 0x05, 0xc3};
  static constexpr uint8_t kRestore[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};  // mov $15, %rax; syscall
  static constexpr uint8_t kShortRestore[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};         // mov $15, %eax; syscall
  auto find = [&](std::span<const uint8_t> pattern) -> Address {
    const void* place = memmem(text.data(), text.size(), pattern.data(), pattern.size());
    return place ? at + (static_cast<const uint8_t*>(place) - text.data()) : Address();
  };
  if (!found.returns) {
    Address place = find(kCallAndReturn);
    found.returns = place != Address();
    if (!found.returns && found.call == Address()) place = find(kCall);
    if (place != Address()) found.call = place;
  }
  if (found.restore == Address()) found.restore = find(kRestore);
  if (found.restore == Address()) found.restore = find(kShortRestore);
}

}  // namespace spile::engine::x86_64
