#pragma once
// Waits for handlers that run in the kernel.

#include "base/result.h"

namespace spile::bpf {

// Returns when every handler that ran at the call, on any CPU, has ended: handlers run inside RCU read sections, and a grace
// period waits for these. Takes some milliseconds. Errors: the kernel offers no way to wait.
Result<void> wait_for_handlers();

}  // namespace spile::bpf
