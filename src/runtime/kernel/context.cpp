// Who runs, where and when, in the kernel.

#include "runtime/kernel_identity_functions.h"
#include "runtime/native/native.h"

namespace spile::rt {

extern "C" {
[[gnu::used]] const volatile abi::KernelConstants spile_kernel_constants = {};
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

}  // extern "C"

}  // namespace spile::rt
