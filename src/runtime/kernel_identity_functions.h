#pragma once
// The functions of the runtime interface, and of the library, that kernel_identity.h answers alone. Included once for each of
// kernel/ and kernel_maps/.

#include "abi/machine.h"
#include "abi/system_calls.h"
#include "runtime/kernel_identity.h"

namespace spile::rt {

// Kinds of numbers of a process: the order of the kernel's enum pid_type.
inline constexpr uint32_t kProcessNumber = 1, kGroupNumber = 2, kSessionNumber = 3;
inline constexpr int kMostSpaces = 8;  // PID namespaces within each other that are looked through

[[gnu::always_inline]] inline uint64_t running_task() { return helper<uint64_t (*)()>(BPF_FUNC_get_current_task)(); }
[[gnu::always_inline]] inline uint64_t parent_task() { return kernel_word(running_task() + spile_kernel_members.task_parent); }
// Whether the running thread makes a system call of 32-bit code.
[[gnu::always_inline]] inline bool makes_foreign_call() {
  return spile_kernel_members.known &&
         (kernel_half_word(running_task() + spile_kernel_members.task_call_state) & abi::kKernelLayout.foreign_call) != 0;
}
// The address of the struct pid of a task's process, group or session.
[[gnu::always_inline]] inline uint64_t pid_of(uint64_t task, uint32_t kind) {
  return kernel_word(kernel_word(task + spile_kernel_members.task_signal) + spile_kernel_members.signal_pids + 8 * kind);
}
// Whether the number at `upid` is one of spile's own PID namespace.
[[gnu::always_inline]] inline bool is_seen(uint64_t upid) {
  return kernel_half_word(kernel_word(upid + spile_kernel_members.number_space) + spile_kernel_members.space_inode) ==
         spile_kernel_constants.pid_namespace_inode;
}
// The address of the number of a struct pid that spile sees it by; 0: it sees none.
[[gnu::always_inline]] inline uint64_t seen_upid(uint64_t pid) {
  if (!pid) return 0;
  uint64_t upid = pid + spile_kernel_members.pid_numbers;
  if (spile_kernel_constants.pid_namespace_inode == 0) return upid;
  const uint32_t level = kernel_half_word(pid + spile_kernel_members.pid_level);
#pragma clang loop unroll(disable)
  for (uint32_t i = 0; i < kMostSpaces && i <= level; ++i) {
    if (is_seen(upid)) return upid;
    upid += spile_kernel_members.number_size;
  }
  return 0;
}
[[gnu::always_inline]] inline int64_t seen_number(uint64_t pid) {
  const uint64_t upid = seen_upid(pid);
  return upid ? int64_t{kernel_half_word(upid + spile_kernel_members.number_value)} : 0;
}
// The number that the running process knows a struct pid by; 0: it sees none.
[[gnu::always_inline]] inline int64_t own_number(uint64_t pid) {
  const uint64_t own = kernel_word(running_task() + spile_kernel_members.task_thread_pid);
  if (!own || !pid) return 0;
  const uint64_t level = kernel_half_word(own + spile_kernel_members.pid_level);
  if (kernel_half_word(pid + spile_kernel_members.pid_level) < level) return 0;
  const uint64_t number = spile_kernel_members.pid_numbers + level * spile_kernel_members.number_size;
  if (kernel_word(pid + number + spile_kernel_members.number_space) !=
      kernel_word(own + number + spile_kernel_members.number_space))
    return 0;
  return kernel_half_word(pid + number + spile_kernel_members.number_value);
}
// The address of the task_struct of a thread by its number, or 0: looked up in the tree that the kernel keeps for spile's
// namespace (an XArray: nodes of 64 slots; an entry whose low bits are 2 is a node). The tree may change meanwhile: each read is
// one that may fail.
[[gnu::always_inline]] inline uint64_t task_of_number(uint64_t number) {
  const uint64_t upid = seen_upid(kernel_word(running_task() + spile_kernel_members.task_thread_pid));
  if (!upid) return 0;
  uint64_t entry = kernel_word(kernel_word(upid + spile_kernel_members.number_space) + spile_kernel_members.space_ids);
  constexpr int kMostNodes = 6;
  uint64_t room = ~uint64_t{0};
#pragma clang loop unroll(disable)
  for (int i = 0; i < kMostNodes && (entry & 3) == 2; ++i) {
    const uint64_t node = entry - 2;
    const uint32_t shift = kernel_half_word(node + spile_kernel_members.node_shift) & 0x3f;
    const uint64_t slot = number >> shift;
    if (i == 0 && slot > 63) return 0;
    room = slot & 63;
    entry = kernel_word(node + spile_kernel_members.node_slots + 8 * room);
  }
  if (!entry || (entry & 3) != 0 || room == ~uint64_t{0}) return 0;
  const uint64_t link = kernel_word(entry + spile_kernel_members.pid_tasks);
  return link ? link - spile_kernel_members.task_links : 0;
}

extern "C" {
const volatile abi::KernelInterrupts spile_kernel_interrupts = {};

[[gnu::always_inline]] int64_t spile_rt_clock_ns(Context*) {
  return static_cast<int64_t>(monotonic_ns()) + spile_kernel_constants.clock_offset_ns;
}
// eBPF can't read the counter of cycles: nanoseconds stand for them.
[[gnu::always_inline]] int64_t spile_rt_cycles(Context*) { return static_cast<int64_t>(monotonic_ns()); }
[[gnu::always_inline]] int64_t spile_rt_pid(Context*) { return static_cast<int64_t>(visible_pid_tgid() >> 32); }
[[gnu::always_inline]] int64_t spile_rt_tid(Context*) { return static_cast<int64_t>(visible_pid_tgid() & 0xffffffff); }
[[gnu::always_inline]] void spile_rt_record_owner(Context*, abi::RecordOwner* owner) {
  const uint64_t both = visible_pid_tgid();
  owner->process = static_cast<uint32_t>(both >> 32);
  owner->thread = static_cast<uint32_t>(both);
}
[[gnu::always_inline]] int64_t spile_rt_cpu(Context*) { return current_cpu(); }
[[gnu::always_inline]] int64_t spile_rt_uid(Context*) { return static_cast<int64_t>(current_uid_gid() & 0xffffffff); }
[[gnu::always_inline]] int64_t spile_rt_target(Context*) { return spile_kernel_constants.target_pid; }

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

[[gnu::always_inline]] int64_t spile_fn_gid(Context*) { return static_cast<int64_t>(current_uid_gid() >> 32); }

// Of the current process's parent, group and session; 0: spile does not see them. -1: the kernel does not describe its types.
[[gnu::always_inline]] int64_t spile_fn_ppid(Context*) {
  return spile_kernel_members.known ? seen_number(pid_of(parent_task(), kProcessNumber)) : -1;
}
[[gnu::always_inline]] int64_t spile_fn___pgrp(Context*) {
  return spile_kernel_members.known ? seen_number(pid_of(running_task(), kGroupNumber)) : -1;
}
[[gnu::always_inline]] int64_t spile_fn___sid(Context*) {
  return spile_kernel_members.known ? seen_number(pid_of(running_task(), kSessionNumber)) : -1;
}
[[gnu::always_inline]] int64_t spile_fn_euid(Context*) {
  return spile_kernel_members.known ? int64_t{kernel_half_word(kernel_word(running_task() + spile_kernel_members.task_cred) +
                                                               spile_kernel_members.cred_euid)}
                                    : -1;
}
[[gnu::always_inline]] int64_t spile_fn_egid(Context*) {
  return spile_kernel_members.known ? int64_t{kernel_half_word(kernel_word(running_task() + spile_kernel_members.task_cred) +
                                                               spile_kernel_members.cred_egid)}
                                    : -1;
}
[[gnu::always_inline]] int64_t spile_fn___ns_pid(Context*) {
  return spile_kernel_members.known ? own_number(pid_of(running_task(), kProcessNumber)) : -1;
}
[[gnu::always_inline]] int64_t spile_fn___ns_tid(Context*) {
  return spile_kernel_members.known ? own_number(kernel_word(running_task() + spile_kernel_members.task_thread_pid)) : -1;
}
[[gnu::always_inline]] int64_t spile_fn___ns_ppid(Context*) {
  return spile_kernel_members.known ? own_number(pid_of(parent_task(), kProcessNumber)) : -1;
}
[[gnu::always_inline]] int64_t spile_fn___ns_pgrp(Context*) {
  return spile_kernel_members.known ? own_number(pid_of(running_task(), kGroupNumber)) : -1;
}
[[gnu::always_inline]] int64_t spile_fn___ns_sid(Context*) {
  return spile_kernel_members.known ? own_number(pid_of(running_task(), kSessionNumber)) : -1;
}
// User namespaces map ranges of numbers, which are not looked up.
[[gnu::always_inline]] int64_t spile_fn___ns_euid(Context* context) { return spile_fn_euid(context); }
[[gnu::always_inline]] int64_t spile_fn___ns_egid(Context* context) { return spile_fn_egid(context); }
// The library reads these from the kernel's structures (task_time, memory).
[[gnu::always_inline]] int64_t spile_fn___process_number(Context*, int64_t, int64_t, int64_t) { return -1; }
// The address of a thread's task_struct, by its number as spile sees it; 0: no such thread.
[[gnu::always_inline]] int64_t spile_fn___in_kernel(Context*) { return 1; }
// Bytes of a word that arguments of the running thread's system call point to.
[[gnu::always_inline]] int64_t spile_fn___call_word(Context*) { return makes_foreign_call() ? 4 : 8; }
// What the running thread's system call is known by; number: as the kernel has it.
[[gnu::always_inline]] int64_t spile_fn___known_call(Context*, int64_t number) {
  const auto given = static_cast<uint64_t>(number);
  return static_cast<int64_t>(makes_foreign_call() ? abi::machine::number_of_i386_call(given)
                                                   : abi::machine::number_of_native_call(given));
}
[[gnu::always_inline]] int64_t spile_fn___running_task(Context*) { return static_cast<int64_t>(running_task()); }
[[gnu::always_inline]] int64_t spile_fn___task_of(Context*, int64_t tid) {
  return spile_kernel_members.known ? static_cast<int64_t>(task_of_number(static_cast<uint64_t>(tid))) : 0;
}
[[gnu::always_inline]] int64_t spile_fn___parent_of(Context*, int64_t pid) {
  const uint64_t task = spile_kernel_members.known ? task_of_number(static_cast<uint64_t>(pid)) : 0;
  return task ? seen_number(pid_of(kernel_word(task + spile_kernel_members.task_parent), kProcessNumber)) : -1;
}
// To the current thread. fault: the kernel does not send it, as in a thread of its own, one that ends, or for a number that is
// not a signal's.
[[gnu::always_inline]] void spile_fn_raise(Context*, int64_t signal, bool* fault) {
  *fault =
      signal <= 0 || signal > 64 || helper<long (*)(uint32_t)>(BPF_FUNC_send_signal_thread)(static_cast<uint32_t>(signal)) != 0;
}
[[gnu::always_inline]] void spile_fn_pid2execname(Context*, int64_t pid, char* out) {
  uint64_t name[2] = {};
  const uint64_t task = spile_kernel_members.known ? task_of_number(static_cast<uint64_t>(pid)) : 0;
  if (task)
    helper<long (*)(void*, uint32_t, uint64_t)>(BPF_FUNC_probe_read_kernel)(name, sizeof name,
                                                                            task + spile_kernel_members.task_name);
  auto* words = reinterpret_cast<uint64_t*>(out);
  words[0] = name[0];
  words[1] = name[1] & ~uint64_t{0} >> 8;  // its last byte ends the text
}
// Where the current process has its command line (0 begin, 1 end) and its environment (2, 3); 0: a thread of the kernel's.
[[gnu::always_inline]] int64_t spile_fn___memory_bound(Context*, int64_t which) {
  const uint64_t memory = spile_kernel_members.known ? kernel_word(running_task() + spile_kernel_members.task_mm) : 0;
  if (!memory) return 0;
  const uint32_t at = which == 0   ? spile_kernel_members.mm_arguments
                      : which == 1 ? spile_kernel_members.mm_arguments_end
                      : which == 2 ? spile_kernel_members.mm_environment
                                   : spile_kernel_members.mm_environment_end;
  return static_cast<int64_t>(kernel_word(memory + at));
}
// The library reads them from the process's memory where __memory_bound() knows it.
[[gnu::always_inline]] void spile_fn___cmdline_args(Context*, int64_t, int64_t, const char*, char* out, bool* fault) {
  *out = 0;
  *fault = true;
}
[[gnu::always_inline]] void spile_fn___env_var(Context*, const char*, char* out, bool* fault) {
  *out = 0;
  *fault = true;
}
[[gnu::always_inline]] int64_t spile_fn___ns_uid(Context* context) { return spile_rt_uid(context); }
[[gnu::always_inline]] int64_t spile_fn___ns_gid(Context* context) { return spile_fn_gid(context); }

// Whether the thread is its process's first one.
[[gnu::always_inline]] bool spile_rt_kernel_leads(Context*) {
  uint64_t pid_tgid = current_pid_tgid();
  return (pid_tgid >> 32) == (pid_tgid & 0xffffffff);
}

// Whether the system call that the running thread makes is one of 64-bit code (`int $0x80` is not, even in such code): by the
// thread's state, which takes the verifier's leave and a load, or else by the code segment among its saved registers.
[[gnu::always_inline]] bool spile_rt_kernel_makes_native_call(Context*, uint64_t saved_registers) {
  if (spile_kernel_members.known) {
    const uint64_t at = helper<uint64_t (*)()>(BPF_FUNC_get_current_task_btf)() + spile_kernel_members.task_call_state;
    uint32_t state = 0;
    // Not a load of C++, which would be taken for one from the arena.
    asm volatile("%0 = *(u32 *)(%1 + 0)" : "=r"(state) : "r"(at));
    return (state & abi::kKernelLayout.foreign_call) == 0;
  }
  uint64_t code = 0;
  return helper<long (*)(void*, uint32_t, uint64_t)>(BPF_FUNC_probe_read_kernel)(
             &code, sizeof code, saved_registers + abi::kKernelLayout.pt_regs_code) == 0 &&
         code == abi::kKernelLayout.native_code;
}

// What a system call that the running thread makes is known by; number: as the kernel has it.
[[gnu::always_inline]] uint64_t spile_rt_kernel_call_number(Context* context, uint64_t saved_registers, uint64_t number) {
  return spile_rt_kernel_makes_native_call(context, saved_registers) ? abi::machine::number_of_native_call(number)
                                                                     : abi::machine::number_of_i386_call(number);
}

// registers: the words of struct pt_regs from pt_regs_call_begin on. Those of a call of 32-bit code become those of the call that
// it is known by.
[[gnu::always_inline]] void spile_rt_kernel_know_call(Context* context, uint64_t saved_registers, uint64_t* registers) {
  constexpr const abi::KernelLayout& kLayout = abi::kKernelLayout;
  auto word = [&](uint32_t at) -> uint64_t& { return registers[(at - kLayout.pt_regs_call_begin) / 8]; };
  uint64_t& number = word(kLayout.pt_regs_call);
  if (spile_rt_kernel_makes_native_call(context, saved_registers)) {
    number = abi::machine::number_of_native_call(number);
    return;
  }
  // ebp and ebx, one behind the other
  uint64_t others[2] = {0, 0};
  helper<long (*)(void*, uint32_t, uint64_t)>(BPF_FUNC_probe_read_kernel)(others, sizeof others,
                                                                          saved_registers + abi::machine::kFirstForeignWord);
  auto low = [](uint64_t value) { return value & 0xffffffff; };
  auto at = [&](int64_t of) -> uint64_t& { return word(kLayout.pt_regs[static_cast<size_t>(of)]); };
  using namespace abi::machine;
  CallArguments arguments{{low(others[1]), low(at(kRcx)), low(at(kRdx)), low(at(kRsi)), low(at(kRdi)), low(others[0])}};
  join_i386_arguments(number, arguments);
  at(kRdi) = arguments.of[0];
  at(kRsi) = arguments.of[1];
  at(kRdx) = arguments.of[2];
  at(kR10) = arguments.of[3];
  at(kR8) = arguments.of[4];
  at(kR9) = arguments.of[5];
  number = number_of_i386_call(number);
}

// Copies what the kernel keeps of a thread's registers; false: it can't be read.
[[gnu::always_inline]] bool spile_rt_kernel_registers(Context*, uint64_t from, uint32_t size, void* out) {
  return helper<long (*)(void*, uint32_t, uint64_t)>(BPF_FUNC_probe_read_kernel)(out, size, from) == 0;
}

}  // extern "C"

}  // namespace spile::rt
