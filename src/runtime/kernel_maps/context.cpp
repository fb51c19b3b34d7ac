// Who runs, where and when.

#include "runtime/kernel_identity_functions.h"
#include "runtime/kernel_maps/kernel_maps.h"

namespace spile::rt {

// 0 where it can't be read.
SPILE_INLINE inline uint64_t pointer_at(uint64_t address) {
  uint64_t pointer = 0;
  read_kernel(&pointer, sizeof pointer, reinterpret_cast<const void*>(address));
  return pointer;
}
SPILE_INLINE inline uint64_t current_task() { return helper<uint64_t (*)()>(BPF_FUNC_get_current_task)(); }

// As KernelLife::program. A kernel thread, and a thread that has given up its memory as it ends, execute no program.
SPILE_INLINE inline uint32_t executed_program() {
  const volatile abi::KernelPrograms& known = spile_kernel_programs;
  uint64_t memory = pointer_at(current_task() + known.task_mm);
  uint64_t file = memory ? pointer_at(memory + known.mm_file) : 0;
  uint64_t inode = file ? pointer_at(file + known.file_inode) : 0;
  if (!inode) return 0;
#pragma clang loop unroll(disable)
  for (uint32_t i = 0; i < abi::kMostKernelPrograms && i < known.count; ++i) {
    if (known.inodes[i] == inode) return i + 1;
  }
  return 0;
}

SPILE_INLINE inline uint64_t life_key() {
  uint64_t visible = visible_pid_tgid() >> 32;
  return visible ? visible : uint64_t{1} << 63 | current_pid_tgid() >> 32;
}

extern "C" {

SPILE_INLINE void spile_rt_execname(Context*, char* out) {
  helper<long (*)(void*, uint32_t)>(BPF_FUNC_get_current_comm)(out, 16);
}

// The process's KernelLife, `before` in the upper half; 0: it executes none of the programs.
SPILE_INLINE uint64_t spile_rt_kernel_life(Context*, void* map) {
  uint64_t key = life_key();
  auto* life = static_cast<abi::KernelLife*>(lookup(map, &key));
  return life ? uint64_t{life->before} << 32 | life->program : 0;
}
// Notes which program the process executes, when it is born (executes: 0) or has executed it. Others are noted too before
// handlers run, as spile may just now be about to note what they executed before.
SPILE_INLINE void spile_rt_kernel_note_life(Context*, void* map, uint32_t executes) {
  uint64_t key = life_key();
  auto* known = static_cast<abi::KernelLife*>(lookup(map, &key));
  abi::KernelLife life = {executed_program(), known && executes ? known->program : 0};
  if (known || life.program || !spile_kernel_control.enabled) update(map, &key, &life, BPF_ANY);
}
// Forgets the process as its only thread ends. Of a process with several threads, others may end after the first one: what is
// noted stays until another process has the number.
SPILE_INLINE void spile_rt_kernel_forget_life(Context*, void* map) {
  uint64_t signal = pointer_at(current_task() + spile_kernel_programs.task_signal);
  uint32_t threads = 0;
  read_kernel(&threads, sizeof threads, reinterpret_cast<const void*>(signal + spile_kernel_programs.signal_threads));
  uint64_t key = life_key();
  if (threads == 1) remove(map, &key);
}

// Of a handler at fentry or fexit: the function's argument, from 0, and its result. Through helpers, which the kernel turns into
// loads: read directly, a pointer would be one that the verifier follows, with rules of its own.
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
