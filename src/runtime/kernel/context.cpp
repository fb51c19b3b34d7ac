// Who runs, where and when, in the kernel.

#include "runtime/native/native.h"

namespace spile::rt {

extern "C" {
// Set by the loader before programs are loaded.
[[gnu::section(".rodata.constants"), gnu::used]] extern const volatile abi::KernelConstants spile_kernel_constants = {};
}

namespace {

SPILE_INLINE inline uint64_t current_pid_tgid() {
  return helper<uint64_t (*)()>(BPF_FUNC_get_current_pid_tgid)();
}
SPILE_INLINE inline uint64_t current_uid_gid() {
  return helper<uint64_t (*)()>(BPF_FUNC_get_current_uid_gid)();
}
// Returns process ID << 32 | thread ID, as spile's PID namespace numbers them; 0 for threads that it does not see, or that live in one
// below it.
SPILE_INLINE inline uint64_t visible_pid_tgid() {
  if (spile_kernel_constants.pid_namespace_inode == 0) return current_pid_tgid();
  bpf_pidns_info seen = {};
  helper<long (*)(uint64_t, uint64_t, bpf_pidns_info*, uint32_t)>(BPF_FUNC_get_ns_current_pid_tgid)(
      spile_kernel_constants.pid_namespace_device, spile_kernel_constants.pid_namespace_inode, &seen, sizeof seen);
  return (uint64_t{seen.tgid} << 32) | seen.pid;
}

}  // namespace

int64_t system_clock_ns(long) {
  return static_cast<int64_t>(monotonic_ns());
}

extern "C" {

SPILE_INLINE int64_t spile_rt_clock_ns(Context*) {
  return static_cast<int64_t>(monotonic_ns()) + spile_kernel_constants.clock_offset_ns;
}
// eBPF can't read the counter of cycles: nanoseconds stand for them.
SPILE_INLINE int64_t spile_rt_cycles(Context*) {
  return static_cast<int64_t>(monotonic_ns());
}
SPILE_INLINE int64_t spile_rt_pid(Context*) {
  return static_cast<int64_t>(visible_pid_tgid() >> 32);
}
SPILE_INLINE int64_t spile_rt_tid(Context*) {
  return static_cast<int64_t>(visible_pid_tgid() & 0xffffffff);
}
SPILE_INLINE int64_t spile_rt_cpu(Context*) {
  return current_cpu();
}
SPILE_INLINE int64_t spile_rt_uid(Context*) {
  return static_cast<int64_t>(current_uid_gid() & 0xffffffff);
}
SPILE_INLINE int64_t spile_rt_target(Context*) {
  return spile_kernel_constants.target_pid;
}
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

SPILE_INLINE int64_t spile_fn_gid(Context*) {
  return static_cast<int64_t>(current_uid_gid() >> 32);
}
// The helpers know of one namespace only.
SPILE_INLINE int64_t spile_fn___ns_pid(Context* context) {
  return spile_rt_pid(context);
}
SPILE_INLINE int64_t spile_fn___ns_tid(Context* context) {
  return spile_rt_tid(context);
}
SPILE_INLINE int64_t spile_fn___ns_uid(Context* context) {
  return spile_rt_uid(context);
}
SPILE_INLINE int64_t spile_fn___ns_gid(Context* context) {
  return spile_fn_gid(context);
}

}  // extern "C"

}  // namespace spile::rt
