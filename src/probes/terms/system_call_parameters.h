#pragma once
// The names that the kernel's sources have for the parameters of system calls (SYSCALL_DEFINE): scripts read them as $fd, $count
// where they probe a call by its name. The kernel shows them in events/syscalls/sys_enter_NAME/format of its tracefs, which only
// root can read.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spile::probes {

struct SystemCallParameter {
  std::string_view name;
  uint8_t bytes = 8;  // 2, 4 or 8: how much of the register counts
  bool is_signed = false;
};

// Returns the parameters of the call in their order, at most six; no value if its parameters are not known.
std::optional<std::vector<SystemCallParameter>> system_call_parameters(std::string_view call);

}  // namespace spile::probes
