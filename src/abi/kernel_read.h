#pragma once
// How handlers in spile itself read the kernel's memory: bpf(2), BPF_PROG_RUN, of a program (bpf/kernel_memory.h) with this as
// its context.

#include <cstdint>

namespace spile::abi {

inline constexpr uint32_t kKernelReadSize = 64;

struct KernelRead {
  uint64_t address;
  uint32_t size;   // bytes, at most kKernelReadSize; 0: asks for the address of the running thread's task_struct
  int32_t result;  // 0, or the helper's -errno; left alone where the program did not run
  uint64_t words[kKernelReadSize / 8];
};

}  // namespace spile::abi
