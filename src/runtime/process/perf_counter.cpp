// @perf: what the kernel counts for the calling thread.

#include "abi/script_codes.h"
#include "runtime/core/core.h"

namespace spile::rt {

extern "C" {

[[gnu::noinline]] int64_t spile_rt_perf_counter(Context*, uint32_t event) { return ask_number(abi::Question::kUsage, event); }

}  // extern "C"

}  // namespace spile::rt
