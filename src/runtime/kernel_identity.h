#pragma once
// Who runs, where and when, for handlers in the kernel: what kernel/ and kernel_maps/ have in common. Each includes this header
// in its context.cpp and defines spile_kernel_constants.

#include <linux/bpf.h>

#include "abi/kernel.h"
#include "abi/kernel_interrupts.h"
#include "runtime/interface.h"

namespace spile::rt {

extern "C" {
// Data of the object, which the loader sets before programs are loaded. Volatile: the loader writes it behind the optimizer's
// back.
[[gnu::section(".rodata.constants")]] extern const volatile abi::KernelConstants spile_kernel_constants;
[[gnu::section(".rodata.interrupts")]] extern const volatile abi::KernelInterrupts spile_kernel_interrupts;
[[gnu::section(".rodata.constants")]] extern const volatile abi::KernelMembers spile_kernel_members;
}

// A helper of the kernel (bpf-helpers(7)) is called by its number, as if that were its address.
template <typename Function>
[[gnu::always_inline]] inline Function helper(uint64_t number) {
  return reinterpret_cast<Function>(number);
}

// ns since boot (CLOCK_MONOTONIC).
[[gnu::always_inline]] inline uint64_t monotonic_ns() { return helper<uint64_t (*)()>(BPF_FUNC_ktime_get_ns)(); }
[[gnu::always_inline]] inline uint16_t current_cpu() {
  return static_cast<uint16_t>(helper<uint32_t (*)()>(BPF_FUNC_get_smp_processor_id)());
}
[[gnu::always_inline]] inline uint64_t current_pid_tgid() { return helper<uint64_t (*)()>(BPF_FUNC_get_current_pid_tgid)(); }
[[gnu::always_inline]] inline uint64_t current_uid_gid() { return helper<uint64_t (*)()>(BPF_FUNC_get_current_uid_gid)(); }
// Returns process ID << 32 | thread ID, as spile's PID namespace numbers them; 0 for threads that it does not see, or that live
// in one below it.
[[gnu::always_inline]] inline uint64_t visible_pid_tgid() {
  if (spile_kernel_constants.pid_namespace_inode == 0) return current_pid_tgid();
  bpf_pidns_info seen = {};
  helper<long (*)(uint64_t, uint64_t, bpf_pidns_info*, uint32_t)>(BPF_FUNC_get_ns_current_pid_tgid)(
      spile_kernel_constants.pid_namespace_device, spile_kernel_constants.pid_namespace_inode, &seen, sizeof seen);
  return (uint64_t{seen.tgid} << 32) | seen.pid;
}

// Returns below 0, by CPU and kind of interrupt, where the handler runs in an interrupt; 0: it does not, or that is not known.
[[gnu::always_inline]] inline int64_t interrupt_flow() {
  if (spile_kernel_interrupts.count == 0) return 0;
  const uint64_t cpu = current_cpu();
  const auto read = helper<long (*)(void*, uint32_t, uint64_t)>(BPF_FUNC_probe_read_kernel);
  uint64_t own = 0;
  uint32_t count = 0;
  if (read(&own, sizeof own, spile_kernel_interrupts.per_cpu_offsets + 8 * cpu) != 0) return 0;
  if (read(&count, sizeof count, own + spile_kernel_interrupts.count) != 0) return 0;
  const uint64_t kind = count & abi::kInNmi ? 3 : count & abi::kInInterrupt ? 2 : count & abi::kInSoftInterrupt ? 1 : 0;
  return kind == 0 ? 0 : -static_cast<int64_t>(4 * cpu + kind + 1);
}
// Returns the same for a processor that has nothing to do: its thread has the number 0 on every CPU.
[[gnu::always_inline]] inline int64_t idle_flow() { return -static_cast<int64_t>(4 * uint64_t{current_cpu()} + 1); }

// Numbers in the kernel's memory; 0 where they can't be read.
[[gnu::always_inline]] inline uint64_t kernel_word(uint64_t address) {
  uint64_t word = 0;
  helper<long (*)(void*, uint32_t, uint64_t)>(BPF_FUNC_probe_read_kernel)(&word, sizeof word, address);
  return word;
}
[[gnu::always_inline]] inline uint32_t kernel_half_word(uint64_t address) {
  uint32_t word = 0;
  helper<long (*)(void*, uint32_t, uint64_t)>(BPF_FUNC_probe_read_kernel)(&word, sizeof word, address);
  return word;
}

}  // namespace spile::rt
