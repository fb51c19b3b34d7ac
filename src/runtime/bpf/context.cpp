// Who runs, where and when.

#include "runtime/bpf/bpf.h"
#include "runtime/kernel_identity_functions.h"

namespace spile::rt {

extern "C" {

SPILE_INLINE void spile_rt_execname(Context*, char* out) {
  helper<long (*)(void*, uint32_t)>(BPF_FUNC_get_current_comm)(out, 16);
}

// Entry values of a pending return, by thread and frame: recursion and interrupting signals have frames of their own.
struct ReturnKey {
  uint64_t thread, cfa;
};
SPILE_INLINE void spile_rt_kernel_return_enter(Context*, void* map, uint64_t cfa, const void* values) {
  ReturnKey key = {current_pid_tgid(), cfa};
  update(map, &key, values, BPF_ANY);
}
SPILE_INLINE void* spile_rt_kernel_return_find(Context*, void* map, uint64_t cfa) {
  ReturnKey key = {current_pid_tgid(), cfa};
  return lookup(map, &key);
}
SPILE_INLINE void spile_rt_kernel_return_exit(Context*, void* map, uint64_t cfa) {
  ReturnKey key = {current_pid_tgid(), cfa};
  remove(map, &key);
}

// Of a handler at fentry or fexit: the function's argument, from 0, and its result. Through helpers, which the kernel turns into loads: read
// directly, a pointer would be one that the verifier follows, with rules of its own.
SPILE_INLINE uint64_t spile_rt_kernel_argument(Context* context, uint32_t number) {
  uint64_t value = 0;
  helper<long (*)(void*, uint32_t, uint64_t*)>(BPF_FUNC_get_func_arg)(context->kernel_context, number, &value);
  return value;
}
SPILE_INLINE uint64_t spile_rt_kernel_result(Context* context) {
  uint64_t value = 0;
  helper<long (*)(void*, uint64_t*)>(BPF_FUNC_get_func_ret)(context->kernel_context, &value);
  return value;
}

// Which of the probe's points: the loader gives it to each attachment.
SPILE_INLINE uint64_t spile_rt_kernel_cookie(Context* context) {
  return helper<uint64_t (*)(void*)>(BPF_FUNC_get_attach_cookie)(context->kernel_context);
}

}  // extern "C"

}  // namespace spile::rt
