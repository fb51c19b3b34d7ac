// Who runs, where and when, in the kernel.

#include "runtime/core/core.h"
#include "runtime/kernel_identity_functions.h"

namespace spile::rt {

extern "C" {
[[gnu::used]] const volatile abi::KernelConstants spile_kernel_constants = {};
[[gnu::used]] const volatile abi::KernelMembers spile_kernel_members = {};
}

int64_t system_clock_ns(long) { return static_cast<int64_t>(monotonic_ns()); }

// Zeroes the bytes behind the word's first NUL: another thread may just be writing a shorter name over a longer one.
SPILE_INLINE inline uint64_t text_of_word(uint64_t word) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  const uint64_t nul = (word - kOnes) & ~word & kOnes << 7;  // its lowest bit is the one of the first NUL
  return nul ? word & ((nul & -nul) - 1) : word;
}

extern "C" {

// The thread's name is read where it lies, by loads that the verifier lets handlers make from the running thread's structure: the
// helper copies it byte by byte. Where the structure is not known, the helper it is.
SPILE_INLINE void spile_rt_execname(Context*, char* out) {
  uint64_t name[2] = {};
  if (likely(spile_kernel_members.known)) {
    const uint64_t at = helper<uint64_t (*)()>(BPF_FUNC_get_current_task_btf)() + spile_kernel_members.task_name;
    // Not loads of C++, which would be taken for ones from the arena.
    asm volatile("%0 = *(u64 *)(%1 + 0)" : "=r"(name[0]) : "r"(at));
    asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(name[1]) : "r"(at));
    name[0] = text_of_word(name[0]);
    name[1] = name[0] >> 56 ? text_of_word(name[1]) : 0;
  } else {
    helper<long (*)(void*, uint32_t)>(BPF_FUNC_get_current_comm)(name, sizeof name);
  }
  auto* words = reinterpret_cast<uint64_t*>(out);
  words[0] = name[0];
  words[1] = name[1] & ~uint64_t{0} >> 8;
}

// Which of the probe's points: the loader gives it to each attachment. program_context: the argument of the eBPF program.
SPILE_INLINE uint64_t spile_rt_kernel_cookie(void* program_context) {
  return helper<uint64_t (*)(void*)>(BPF_FUNC_get_attach_cookie)(program_context);
}

// Of a handler at fentry or fexit: the function's argument, from 0, and its result. Through helpers, which the kernel turns into
// loads: read directly, a pointer would be one that the verifier follows, with rules of its own.
SPILE_INLINE uint64_t spile_rt_kernel_argument(void* program_context, uint32_t number) {
  uint64_t value = 0;
  helper<long (*)(void*, uint32_t, uint64_t*)>(BPF_FUNC_get_func_arg)(program_context, number, &value);
  return value;
}
SPILE_INLINE uint64_t spile_rt_kernel_result(void* program_context) {
  uint64_t value = 0;
  helper<long (*)(void*, uint64_t*)>(BPF_FUNC_get_func_ret)(program_context, &value);
  return value;
}

}  // extern "C"

}  // namespace spile::rt
