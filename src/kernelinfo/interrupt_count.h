#pragma once
// Where the kernel counts which interrupts a processor is in: what abi::KernelInterrupts has.

#include <cstdint>
#include <optional>

#include "kernelinfo/kernel_info.h"

namespace spile::kernelinfo {

struct InterruptCount {
  uint64_t per_cpu_offsets = 0, count = 0;
};
// nullopt: the kernel hides addresses, or keeps the count elsewhere.
std::optional<InterruptCount> find_interrupt_count(KernelInfo& kernel);

}  // namespace spile::kernelinfo
