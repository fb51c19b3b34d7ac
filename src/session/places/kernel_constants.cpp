#include "session/places/kernel_constants.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cstring>

#include "abi/kernel.h"
#include "abi/kernel_interrupts.h"
#include "base/clock.h"
#include "kernelinfo/interrupt_count.h"

namespace spile::session {

std::vector<uint8_t> kernel_constants(pid_t target) {
  abi::KernelConstants values{};
  values.clock_offset_ns = realtime_offset_ns();
  values.target_pid = target;
  constexpr ino_t kFirstNamespace = 0xEFFFFFFC;  // PROC_PID_INIT_INO of linux/proc_ns.h
  struct stat name_space;
  if (stat("/proc/self/ns/pid", &name_space) == 0 && name_space.st_ino != kFirstNamespace) {
    // The kernel's own form of a device number, which is not that of stat().
    values.pid_namespace_device = uint64_t{major(name_space.st_dev)} << 20 | minor(name_space.st_dev);
    values.pid_namespace_inode = name_space.st_ino;
  }
  std::vector<uint8_t> bytes(sizeof values);
  std::memcpy(bytes.data(), &values, sizeof values);
  return bytes;
}

std::vector<uint8_t> interrupt_constants() {
  abi::KernelInterrupts values{};
  kernelinfo::KernelInfo kernel;
  if (auto place = kernelinfo::find_interrupt_count(kernel)) values = {place->per_cpu_offsets, place->count};
  std::vector<uint8_t> bytes(sizeof values);
  std::memcpy(bytes.data(), &values, sizeof values);
  return bytes;
}

std::vector<uint8_t> kernel_members(const kernelinfo::MemberLayout& layout) {
  abi::KernelMembers values{};
  values.known = 1;
  values.task_parent = layout.task_parent;
  values.task_signal = layout.task_signal;
  values.task_thread_pid = layout.task_thread_pid;
  values.task_cred = layout.task_cred;
  values.task_mm = layout.task_mm;
  values.task_name = layout.task_name;
  values.task_links = layout.task_links;
  values.task_call_state = layout.task_call_state;
  values.signal_pids = layout.signal_pids;
  values.pid_level = layout.pid_level;
  values.pid_tasks = layout.pid_tasks;
  values.pid_numbers = layout.pid_numbers;
  values.number_size = layout.number_size;
  values.number_value = layout.number_value;
  values.number_space = layout.number_space;
  values.space_inode = layout.space_inode;
  values.space_ids = layout.space_ids;
  values.node_shift = layout.node_shift;
  values.node_slots = layout.node_slots;
  values.cred_euid = layout.cred_euid;
  values.cred_egid = layout.cred_egid;
  values.mm_arguments = layout.mm_arguments;
  values.mm_arguments_end = layout.mm_arguments_end;
  values.mm_environment = layout.mm_environment;
  values.mm_environment_end = layout.mm_environment_end;
  std::vector<uint8_t> bytes(sizeof values);
  std::memcpy(bytes.data(), &values, sizeof values);
  return bytes;
}

}  // namespace spile::session
