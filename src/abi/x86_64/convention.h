#pragma once
// x86-64 Linux: System V Application Binary Interface, AMD64 Architecture Processor Supplement (psABI), version 1.0.

#include "abi/convention.h"

namespace spile::abi::x86_64 {

// psABI figure 3.36, "DWARF Register Number Mapping". 16 is the return address column, which is the program counter of
// the frame; 17 to 32 are xmm0 to xmm15. The flags have number 49 there: kFlags is where abi::Registers has them.
enum RegisterNumber : uint8_t {
  kRax,
  kRdx,
  kRcx,
  kRbx,
  kRsi,
  kRdi,
  kRbp,
  kRsp,
  kR8,
  kR9,
  kR10,
  kR11,
  kR12,
  kR13,
  kR14,
  kR15,
  kRip,
  kFlags,
  kXmm0 = 17,
};

inline constexpr Convention kConvention = {
    .word_size = 8,
    .general_registers = 16,
    .stack_pointer = kRsp,
    .frame_pointer = kRbp,
    .program_counter = kRip,
    .flags = kFlags,
    .first_vector = kXmm0,
    .vectors = 16,

    // psABI 3.2.3, "Parameter Passing", and figure 3.4, "Register Usage".
    .argument_registers = {kRdi, kRsi, kRdx, kRcx, kR8, kR9},
    .result_registers = {kRax, kRdx},
    .vector_arguments = 8,
    // psABI 3.2.2, "The Stack Frame": `call` pushes the return address, and a function that keeps a frame pointer pushes
    // rbp below it.
    .entry_cfa = 8,
    .return_slot = -8,
    .saved_frame = -16,

    // "Go internal ABI specification" (cmd/compile/abi-internal.md in Go's sources), amd64: RAX RBX RCX RDI RSI R8 R9 R10
    // R11 and X0 to X14.
    .go_results = {kRax, kRbx, kRcx, kRdi, kRsi, kR8, kR9, kR10, kR11},
    .go_vector_results = 15,

    // psABI A.2.1, "Calling Conventions" of the Linux kernel.
    .system_call_arguments = {kRdi, kRsi, kRdx, kR10, kR8, kR9},
    .system_call_number = kRax,
    .system_call_result = kRax,
};

// The first name of a number is the one that listings use. "ax" has 16 bits as in assembly, "ip" all of rip.
inline constexpr RegisterName kRegisterNames[] = {
    {"rax", kRax, 64, 0},  {"eax", kRax, 32, 0},      {"ax", kRax, 16, 0},       {"al", kRax, 8, 0},       {"ah", kRax, 8, 8},
    {"rdx", kRdx, 64, 0},  {"edx", kRdx, 32, 0},      {"dx", kRdx, 16, 0},       {"dl", kRdx, 8, 0},       {"dh", kRdx, 8, 8},
    {"rcx", kRcx, 64, 0},  {"ecx", kRcx, 32, 0},      {"cx", kRcx, 16, 0},       {"cl", kRcx, 8, 0},       {"ch", kRcx, 8, 8},
    {"rbx", kRbx, 64, 0},  {"ebx", kRbx, 32, 0},      {"bx", kRbx, 16, 0},       {"bl", kRbx, 8, 0},       {"bh", kRbx, 8, 8},
    {"rsi", kRsi, 64, 0},  {"esi", kRsi, 32, 0},      {"si", kRsi, 16, 0},       {"sil", kRsi, 8, 0},      {"rdi", kRdi, 64, 0},
    {"edi", kRdi, 32, 0},  {"di", kRdi, 16, 0},       {"dil", kRdi, 8, 0},       {"rbp", kRbp, 64, 0},     {"ebp", kRbp, 32, 0},
    {"bp", kRbp, 16, 0},   {"bpl", kRbp, 8, 0},       {"rsp", kRsp, 64, 0},      {"esp", kRsp, 32, 0},     {"sp", kRsp, 16, 0},
    {"spl", kRsp, 8, 0},   {"r8", kR8, 64, 0},        {"r8d", kR8, 32, 0},       {"r8w", kR8, 16, 0},      {"r8b", kR8, 8, 0},
    {"r9", kR9, 64, 0},    {"r9d", kR9, 32, 0},       {"r9w", kR9, 16, 0},       {"r9b", kR9, 8, 0},       {"r10", kR10, 64, 0},
    {"r10d", kR10, 32, 0}, {"r10w", kR10, 16, 0},     {"r10b", kR10, 8, 0},      {"r11", kR11, 64, 0},     {"r11d", kR11, 32, 0},
    {"r11w", kR11, 16, 0}, {"r11b", kR11, 8, 0},      {"r12", kR12, 64, 0},      {"r12d", kR12, 32, 0},    {"r12w", kR12, 16, 0},
    {"r12b", kR12, 8, 0},  {"r13", kR13, 64, 0},      {"r13d", kR13, 32, 0},     {"r13w", kR13, 16, 0},    {"r13b", kR13, 8, 0},
    {"r14", kR14, 64, 0},  {"r14d", kR14, 32, 0},     {"r14w", kR14, 16, 0},     {"r14b", kR14, 8, 0},     {"r15", kR15, 64, 0},
    {"r15d", kR15, 32, 0}, {"r15w", kR15, 16, 0},     {"r15b", kR15, 8, 0},      {"rip", kRip, 64, 0},     {"eip", kRip, 32, 0},
    {"ip", kRip, 64, 0},   {"rflags", kFlags, 64, 0}, {"eflags", kFlags, 32, 0}, {"flags", kFlags, 32, 0},
};
inline constexpr char kVectorName[] = "xmm";  // and the register's number among them

inline constexpr KernelLayout kKernelLayout = {
    // arch/x86/include/uapi/asm/ptrace.h
    .pt_regs = {80, 96, 88, 40, 104, 112, 32, 152, 72, 64, 56, 48, 24, 16, 8, 0, 128},
    // arch/x86/include/uapi/asm/perf_regs.h: ax bx cx dx si di bp sp ip flags, then (not taken) cs ss ds es fs gs, then r8 to r15
    .sampled_bits = 0xff03ff,
    .sampled = {kRax, kRbx, kRcx, kRdx, kRsi, kRdi, kRbp, kRsp, kRip, kFlags, kR8, kR9, kR10, kR11, kR12, kR13, kR14, kR15},
    // ucontext_t: uc_mcontext begins at 40 (arch/x86/include/uapi/asm/sigcontext.h, struct sigcontext)
    .signal_frame_pointer = 120,
    .signal_stack_pointer = 160,
    .signal_program_counter = 168,
    // mov $15, %rax; syscall (rt_sigreturn)
    .sigreturn_size = 9,
    .sigreturn_first = 0x0f0000000fc0c748,
    .sigreturn_last = 0x050f0000000fc0c7,
    // the debug registers dr0 to dr3 (Intel SDM vol. 3, 18.2)
    .watchpoints = 4,
    // orig_ax and cs of struct pt_regs; __USER_CS of arch/x86/include/asm/segment.h
    .pt_regs_call = 120,
    .pt_regs_code = 136,
    .pt_regs_flags = 144,
    .pt_regs_call_begin = 56,
    .pt_regs_call_end = 144,
    .native_code = 0x33,
    // TS_COMPAT of arch/x86/include/asm/thread_info.h
    .foreign_call = 2,
};

}  // namespace spile::abi::x86_64
