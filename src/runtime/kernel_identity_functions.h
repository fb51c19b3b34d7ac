#pragma once
// The functions of the runtime interface, and of the library, that kernel_identity.h answers alone. Included once for each of kernel/ and kernel_maps/.

#include "runtime/kernel_identity.h"

namespace spile::rt {

extern "C" {
const volatile abi::KernelInterrupts spile_kernel_interrupts = {};

[[gnu::always_inline]] int64_t spile_rt_clock_ns(Context*) {
  return static_cast<int64_t>(monotonic_ns()) + spile_kernel_constants.clock_offset_ns;
}
// eBPF can't read the counter of cycles: nanoseconds stand for them.
[[gnu::always_inline]] int64_t spile_rt_cycles(Context*) {
  return static_cast<int64_t>(monotonic_ns());
}
[[gnu::always_inline]] int64_t spile_rt_pid(Context*) {
  return static_cast<int64_t>(visible_pid_tgid() >> 32);
}
[[gnu::always_inline]] int64_t spile_rt_tid(Context*) {
  return static_cast<int64_t>(visible_pid_tgid() & 0xffffffff);
}
[[gnu::always_inline]] int64_t spile_rt_cpu(Context*) {
  return current_cpu();
}
[[gnu::always_inline]] int64_t spile_rt_uid(Context*) {
  return static_cast<int64_t>(current_uid_gid() & 0xffffffff);
}
[[gnu::always_inline]] int64_t spile_rt_target(Context*) {
  return spile_kernel_constants.target_pid;
}

// Whether a map has the process: abi::kKernelTargetsMap.
[[gnu::always_inline]] bool spile_rt_kernel_is_traced(void* map) {
  uint64_t pid = visible_pid_tgid() >> 32;
  return helper<void* (*)(void*, const void*)>(BPF_FUNC_map_lookup_elem)(map, &pid) != nullptr;
}

// A number in what the kernel gives the program.
[[gnu::always_inline]] uint64_t spile_rt_kernel_context_word(const void* place) {
  uint64_t word = 0;
  helper<long (*)(void*, uint32_t, const void*)>(BPF_FUNC_probe_read_kernel)(&word, sizeof word, place);
  return word;
}

[[gnu::always_inline]] int64_t spile_fn_gid(Context*) {
  return static_cast<int64_t>(current_uid_gid() >> 32);
}
// The helpers know of one namespace only.
[[gnu::always_inline]] int64_t spile_fn___ns_pid(Context* context) {
  return spile_rt_pid(context);
}
[[gnu::always_inline]] int64_t spile_fn___ns_tid(Context* context) {
  return spile_rt_tid(context);
}
[[gnu::always_inline]] int64_t spile_fn___ns_uid(Context* context) {
  return spile_rt_uid(context);
}
[[gnu::always_inline]] int64_t spile_fn___ns_gid(Context* context) {
  return spile_fn_gid(context);
}

// Whether the thread is its process's first one.
[[gnu::always_inline]] bool spile_rt_kernel_leads(Context*) {
  uint64_t pid_tgid = current_pid_tgid();
  return (pid_tgid >> 32) == (pid_tgid & 0xffffffff);
}

// Copies what the kernel keeps of a thread's registers; false: it can't be read.
[[gnu::always_inline]] bool spile_rt_kernel_registers(Context*, uint64_t from, uint32_t size, void* out) {
  return helper<long (*)(void*, uint32_t, uint64_t)>(BPF_FUNC_probe_read_kernel)(out, size, from) == 0;
}

}  // extern "C"

}  // namespace spile::rt
