// Who runs, where and when, in the kernel.

#include "runtime/core/core.h"
#include "runtime/kernel_identity_functions.h"

namespace spile::rt {

extern "C" {
[[gnu::used]] const volatile abi::KernelConstants spile_kernel_constants = {};
[[gnu::used]] const volatile abi::KernelMembers spile_kernel_members = {};
}

int64_t system_clock_ns(long) {
  return static_cast<int64_t>(monotonic_ns());
}

extern "C" {

SPILE_INLINE void spile_rt_execname(Context*, char* out) {
  uint64_t name[2] = {};
  helper<long (*)(void*, uint32_t)>(BPF_FUNC_get_current_comm)(name, sizeof name);
  auto* words = reinterpret_cast<uint64_t*>(out);
  words[0] = name[0];
  words[1] = name[1];
  out[15] = 0;
}

// Which of the probe's points: the loader gives it to each attachment. program_context: the argument of the eBPF program.
SPILE_INLINE uint64_t spile_rt_kernel_cookie(void* program_context) {
  return helper<uint64_t (*)(void*)>(BPF_FUNC_get_attach_cookie)(program_context);
}

// Of a handler at fentry or fexit: the function's argument, from 0, and its result. Through helpers, which the kernel turns into loads: read
// directly, a pointer would be one that the verifier follows, with rules of its own.
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
