#pragma once
// Constants of C by their names, for @const: those of the kernel's interface to programs (AF_INET, O_CREAT, EAGAIN, SIGKILL,
// __NR_read ...) and the most used ones of the kernel's own headers (TASK_INTERRUPTIBLE, PAGE_SIZE ...). Where the C library's
// value differs from the kernel's, the kernel's. Safe to call from all threads.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spile::probes {

// Returns the value of a constant; nullopt: not in the table.
std::optional<int64_t> c_constant(std::string_view name);

// Returns all names, for did-you-mean.
std::vector<std::string> c_constant_names();

}  // namespace spile::probes
