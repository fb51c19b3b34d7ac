// The x86-64 Architecture: System V psABI, Linux system call convention (rax, rdi, rsi, rdx, r10, r8, r9; the
// instruction destroys rcx and r11).

#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include "abi/system_calls.h"
#include "engine/arch/architecture.h"
#include "engine/arch/x86_64/assembler.h"
#include "engine/arch/x86_64/branch_scan.h"
#include "engine/arch/x86_64/checker.h"
#include "engine/arch/x86_64/decoder.h"
#include "engine/arch/x86_64/function_exits.h"
#include "engine/arch/x86_64/function_flow.h"
#include "engine/arch/x86_64/return_safety.h"
#include "engine/arch/x86_64/signal_frame.h"
#include "engine/arch/x86_64/signal_handlers.h"
#include "engine/arch/x86_64/site_planner.h"
#include "engine/arch/x86_64/system_call_scan.h"
#include "engine/arch/x86_64/trampoline.h"

namespace spile::engine {
namespace {

static_assert(sizeof(user_regs_struct) <= sizeof(ThreadRegisters::bytes));

user_regs_struct& raw(ThreadRegisters& registers) { return *reinterpret_cast<user_regs_struct*>(registers.bytes.data()); }
const user_regs_struct& raw(const ThreadRegisters& registers) {
  return *reinterpret_cast<const user_regs_struct*>(registers.bytes.data());
}

// Results by which the kernel marks an interrupted system call that it is going to restart (include/linux/errno.h).
constexpr int64_t kRestartSys = 512, kRestartNoIntr = 513, kRestartNoHand = 514, kRestartBlock = 516;

class ShortJumps final : public VariableLengthPatching {
 public:
  bool relay_nearby(SitePlan& plan, Address relay) const override { return x86_64::relay_nearby(plan, relay); }
  void relay_by_next_byte(SitePlan& plan, uint8_t second) const override { x86_64::relay_by_next_byte(plan, second); }
  SitePlan plan_displacement(std::span<const uint8_t> text, Address at, uint64_t left, uint8_t room) const override {
    return x86_64::plan_displacement(text, at, left, room);
  }
  std::span<const uint8_t> leads() const override { return x86_64::leads(); }
  std::span<const uint8_t> invalid_bytes() const override { return x86_64::invalid_bytes(); }
  uint8_t first_byte(uint8_t lead) const override { return lead == 0 ? 0xe9 : lead; }
  std::vector<TextBranch> find_short_branches(std::span<const uint8_t> text) const override {
    return x86_64::find_short_branches(text);
  }
};

class X86_64 final : public Architecture {
 public:
  const VariableLengthPatching* variable_length() const override { return &short_jumps_; }
  uint64_t lookahead() const override { return 64; }
  SitePlan plan_entry(std::span<const uint8_t> text, Address entry, uint64_t size) const override {
    return x86_64::plan_entry(text, entry, size);
  }
  SitePlan plan_instruction(std::span<const uint8_t> text, Address at, uint64_t left, const FunctionFlow* flow) const override {
    return x86_64::plan_instruction(text, at, left, flow);
  }
  FunctionFlow analyze_function(std::span<const uint8_t> text, Address entry, uint64_t size,
                                const MemoryReader& read) const override {
    return x86_64::analyze_function(text, entry, size, read);
  }
  bool is_goroutine_exit(std::span<const uint8_t> function) const override {
    return function.size() >= 7 && function[0] == 0x90 && function[1] == 0xe8 && function[6] == 0x90;
  }
  std::vector<FunctionExit> find_exits(std::span<const uint8_t> function) const override { return x86_64::find_exits(function); }
  FunctionReturns find_returns(std::span<const uint8_t> function, const FunctionFlow& flow) const override {
    return x86_64::find_returns(function, flow);
  }
  uint64_t behind_stack_check(std::span<const uint8_t> function) const override { return x86_64::behind_stack_check(function); }
  int32_t find_goroutine_offset(std::span<const uint8_t> text) const override { return x86_64::find_goroutine_offset(text); }
  bool is_breakpoint(std::span<const uint8_t> patch) const override { return patch[0] == 0xcc; }
  void find_called(std::span<const uint8_t> text, Address at, std::vector<Address>& called) const override {
    x86_64::find_called(text, at, called);
  }
  std::optional<Address> first_branch_out(std::span<const uint8_t> code, Address at) const override {
    return x86_64::first_branch_out(code, at);
  }
  bool is_stub(std::span<const uint8_t> text) const override { return x86_64::is_stub(text); }
  uint64_t instruction_length(std::span<const uint8_t> text) const override {
    auto instruction = x86_64::decode(text);
    return instruction ? instruction->length : 0;
  }
  SitePlan plan_single(std::span<const uint8_t> text, Address at, uint64_t most) const override {
    return x86_64::plan_single(text, at, most);
  }
  uint64_t entry_mark(std::span<const uint8_t> function) const override { return x86_64::entry_mark(function); }
  std::vector<uint8_t> emit_stub(Address at, Address target) const override { return x86_64::emit_stub(at, target); }
  bool is_boundary(const SitePlan& plan, std::span<const uint8_t> original, uint64_t offset) const override {
    return offset < plan.displaced && x86_64::is_instruction(original, offset);
  }
  std::string return_obstacle(Address entry, const TextSource& text, const MemoryReader& read,
                              const ReturnReaders& readers) const override {
    return x86_64::return_obstacle(entry, text, read, readers);
  }
  std::vector<TextBranch> find_branches_into(std::span<const uint8_t> text, const std::vector<bool>& covered) const override {
    return x86_64::find_branches_into(text, covered);
  }
  bool is_instruction(std::span<const uint8_t> text, uint64_t offset) const override {
    return x86_64::is_instruction(text, offset);
  }
  bool jumps_to(std::span<const uint8_t> code, Address at, Address target) const override {
    return x86_64::jumps_to(code, at, target);
  }
  Result<Trampoline> emit_trampoline(const SitePlan& plan, std::span<const uint8_t> original, std::span<const Fragment> fragments,
                                     Address at) const override {
    return x86_64::emit_trampoline(plan, original, fragments, at);
  }
  uint64_t trampoline_room(std::span<const Fragment> fragments) const override { return x86_64::trampoline_room(fragments); }
  std::vector<uint8_t> emit_jump(const SitePlan& plan, Address trampoline) const override {
    return x86_64::emit_jump(plan, trampoline);
  }
  std::vector<uint8_t> emit_trap_unless(Address at, Address word, uint32_t mask, std::span<const uint32_t> only_for,
                                        uint32_t* trap_offset) const override {
    return x86_64::emit_trap_unless(at, word, mask, only_for, trap_offset);
  }
  std::vector<uint8_t> emit_count(Address at, Address word) const override { return x86_64::emit_count(at, word); }
  Address signal_frame_pc(const ThreadRegisters& registers) const override { return Address(raw(registers).rsp + 168); }
  Address signal_frame_sp(const ThreadRegisters& registers) const override { return Address(raw(registers).rsp + 160); }
  bool is_stack_touch(std::span<const uint8_t> code) const override { return x86_64::is_stack_touch(code); }
  Result<uint64_t> check_handlers(const abi::CodeImage& image, std::span<const HandlerEntry> entries) const override {
    return x86_64::check_handlers(image, entries);
  }
  bool leave_handler(const abi::CodeImage& image, std::span<const HandlerEntry> entries, Address at, ThreadRegisters& registers,
                     const WordReader& read) const override {
    auto& r = raw(registers);
    auto places = std::to_array<unsigned long long*>({&r.rax, &r.rcx, &r.rdx, &r.rbx, &r.rsp, &r.rbp, &r.rsi, &r.rdi,
                                                      // ORDER Gpr
                                                      &r.r8, &r.r9, &r.r10, &r.r11, &r.r12, &r.r13, &r.r14, &r.r15});
    std::array<uint64_t, 16> words;
    for (size_t i = 0; i < words.size(); i++) words[i] = *places[i];
    uint64_t pc = r.rip;
    if (!x86_64::leave_handler(image, entries, at.value, pc, words, read)) return false;
    for (size_t i = 0; i < words.size(); i++) *places[i] = words[i];
    r.rip = pc;
    return true;
  }
  SignalHandler emit_trap_handler(Address at, uint64_t entries) const override { return x86_64::emit_trap_handler(at, entries); }
  SignalHandler emit_fault_handler(Address at, Address regions) const override { return x86_64::emit_fault_handler(at, regions); }
  std::vector<FoundSystemCall> find_system_calls(std::span<const uint8_t> text, Address at,
                                                 const FunctionBefore& function_before) const override {
    return x86_64::find_system_calls(text, at, function_before);
  }
  uint64_t reach() const override { return (uint64_t{1} << 31) - (uint64_t{1} << 20); }

  Result<void> read_registers(pid_t tid, ThreadRegisters& registers) const override {
    // PTRACE_GETREGSET has another layout for threads that run 32-bit code.
    if (ptrace(PTRACE_GETREGS, tid, 0, registers.bytes.data()) != 0) return Error::from_errno("read registers", errno);
    return {};
  }
  Result<void> write_registers(pid_t tid, const ThreadRegisters& registers) const override {
    if (ptrace(PTRACE_SETREGS, tid, 0, registers.bytes.data()) != 0) return Error::from_errno("write registers", errno);
    return {};
  }
  abi::Registers script_registers(const ThreadRegisters& registers) const override {
    const user_regs_struct& r = raw(registers);
    return {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp,    r.r8,      r.r9,
            r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip, r.eflags, r.orig_rax};
  }
  abi::Registers call_registers(pid_t tid, const ThreadRegisters& registers) const override {
    abi::Registers call = script_registers(registers);
    __ptrace_syscall_info info{};
    ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof info, &info);
    if (info.arch == AUDIT_ARCH_I386) abi::x86_64::make_native_call(call);
    else call.site_id = abi::x86_64::number_of_native_call(call.site_id);
    return call;
  }
  bool enters_system_call(pid_t tid) const override {
    __ptrace_syscall_info info{};
    ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof info, &info);
    return info.op == PTRACE_SYSCALL_INFO_ENTRY;
  }
  Address pc(const ThreadRegisters& registers) const override { return Address(raw(registers).rip); }
  void set_pc(ThreadRegisters& registers, Address pc) const override { raw(registers).rip = pc.value; }
  void set_sp(ThreadRegisters& registers, Address sp) const override { raw(registers).rsp = sp.value; }
  Address sp(const ThreadRegisters& registers) const override { return Address(raw(registers).rsp); }
  uint64_t thread_pointer(const ThreadRegisters& registers) const override { return raw(registers).fs_base; }

  bool restarts_system_call(const ThreadRegisters& registers) const override {
    int64_t result = -static_cast<int64_t>(raw(registers).rax);
    bool in_call = static_cast<int64_t>(raw(registers).orig_rax) >= 0;
    return in_call && (result == kRestartSys || result == kRestartNoIntr || result == kRestartNoHand || result == kRestartBlock);
  }

  std::optional<uint64_t> pushed_flags(const ThreadRegisters& registers, std::span<const uint8_t> instruction) const override {
    constexpr uint8_t kPushf = 0x9c, kRexW = 0x48;
    constexpr uint64_t kNotPushed = 0x30000;  // RF and VM
    size_t at = !instruction.empty() && instruction[0] == kRexW ? 1 : 0;
    if (instruction.size() <= at || instruction[at] != kPushf) return std::nullopt;
    return raw(registers).eflags & ~kNotPushed;  // ptrace(2) hides the trap flag of a step
  }

  bool clear_trap_flag(ThreadRegisters& registers) const override {
    bool was_set = raw(registers).eflags & x86_64::kTrapFlag;
    raw(registers).eflags &= ~uint64_t{x86_64::kTrapFlag};
    return was_set;
  }
  uint64_t clear_checking_flags(ThreadRegisters& registers) const override {
    uint64_t set = raw(registers).eflags & x86_64::kCheckingFlags;
    raw(registers).eflags &= ~set;
    return set;
  }
  std::vector<uint8_t> emit_flagged_return(Address at, Address to, uint64_t flags) const override {
    x86_64::Assembler out(at);
    out.bytes({0x9c, 0x81, 0x0c, 0x24});  // pushfq; orl $flags, (%rsp)
    out.imm32(static_cast<int64_t>(flags));
    out.bytes({0x9d});  // popfq
    out.jump(to);
    return out.take();
  }

  void repeat_system_call(ThreadRegisters& registers) const override { set_system_call_result(registers, -kRestartNoHand); }
  void set_system_call_result(ThreadRegisters& registers, int64_t result) const override {
    raw(registers).rax = static_cast<unsigned long long>(result);
  }

  void set_system_call(ThreadRegisters& registers, Address instruction, Address stack, uint64_t number,
                       std::span<const uint64_t> arguments) const override {
    user_regs_struct& r = raw(registers);
    r.rip = instruction.value;
    if (stack != Address()) r.rsp = stack.value;
    r.rax = number;
    // The thread must not count as being in a system call: the kernel would "restart" one by moving rip.
    r.orig_rax = static_cast<unsigned long long>(-1);
    unsigned long long* const order[] = {&r.rdi, &r.rsi, &r.rdx, &r.r10, &r.r8, &r.r9};
    CHECK(arguments.size() <= 6);
    for (size_t i = 0; i < arguments.size(); i++) *order[i] = arguments[i];
  }
  int64_t system_call_result(const ThreadRegisters& registers) const override { return static_cast<int64_t>(raw(registers).rax); }
  Result<RecoveryFrame> build_recovery_frame(pid_t tid, const ThreadRegisters& registers, uint64_t signal_mask,
                                             Address restore) const override {
    user_regs_struct resumed = raw(registers);
    if (restarts_system_call(registers)) {
      // The kernel would do the same on the way back to user space.
      bool block = static_cast<int64_t>(resumed.rax) == -kRestartBlock;
      resumed.rax = block ? SYS_restart_syscall : resumed.orig_rax;
      resumed.rip -= 2;
    }
    return x86_64::build_signal_frame(tid, resumed, signal_mask, restore);
  }
  void find_system_call(std::span<const uint8_t> text, Address at, SystemCallText& found) const override {
    x86_64::find_system_call(text, at, found);
  }
  bool is_intact(const SystemCallText& found, const TextSource& text) const override {
    SystemCallText call, restore;
    find_system_call(text(found.call, 3), found.call, call);
    if (found.restore != Address()) find_system_call(text(found.restore, 16), found.restore, restore);
    return call.call == found.call && call.returns == found.returns && restore.restore == found.restore;
  }

  std::vector<uint64_t> find_signal_frames(std::span<const uint8_t> stack) const override {
    // struct sigcontext: ... rip, eflags, then cs, gs, fs, ss in 16 bits each; cs is 0x33 and ss 0x2b in any 64-bit
    // process, gs and fs are 0.
    constexpr uint64_t kSegments = 0x002b000000000033;
    std::vector<uint64_t> found;
    for (size_t at = 16; at + 8 <= stack.size(); at += 8) {
      uint64_t word;
      memcpy(&word, &stack[at], 8);
      if (word == kSegments) found.push_back(at - 16);
    }
    return found;
  }

 private:
  ShortJumps short_jumps_;
};

}  // namespace

const Architecture& native_architecture() {
  static const X86_64 instance;
  return instance;
}

}  // namespace spile::engine
