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

std::vector<uint8_t> kernel_members(const abi::KernelMembers& members) {
  abi::KernelMembers values = members;
  values.known = 1;
  std::vector<uint8_t> bytes(sizeof values);
  std::memcpy(bytes.data(), &values, sizeof values);
  return bytes;
}

}  // namespace spile::session
