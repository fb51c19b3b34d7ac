#pragma once
// Where the kernel counts which interrupts a processor is in (include/linux/preempt.h), for execution_flow() of handlers in the
// kernel. Freestanding.

#include <stdint.h>

namespace spile::abi {

// Data of the object, read-only, set at load; there only where a handler asks.
inline constexpr char kKernelInterruptsSymbol[] = "spile_kernel_interrupts";
struct KernelInterrupts {
  uint64_t per_cpu_offsets;  // the address of an array of 8 bytes for each CPU
  uint64_t count;            // what is added to the CPU's element to find its count, of 4 bytes. 0: not known
};
// Bits of the count.
inline constexpr uint32_t kInSoftInterrupt = 1u << 8, kInInterrupt = 0xfu << 16, kInNmi = 0xfu << 20;

}  // namespace spile::abi
