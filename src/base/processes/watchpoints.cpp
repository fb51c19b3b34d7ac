#include "base/processes/watchpoints.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "base/unique_fd.h"

namespace spile {
namespace {

bool try_watchpoint() {
  alignas(8) volatile uint64_t watched = 0;
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_BREAKPOINT;
  attributes.bp_type = HW_BREAKPOINT_W;
  attributes.bp_addr = reinterpret_cast<uint64_t>(&watched);
  attributes.bp_len = sizeof watched;
  attributes.exclude_kernel = attributes.exclude_hv = 1;
  const UniqueFd event(static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!event) return true;
  watched = 1;
  uint64_t count = 0;
  return read(event.get(), &count, sizeof count) != sizeof count || count != 0;
}

}  // namespace

const char* const kNoWatchpoints = "watchpoints do not work on this machine: a test of one was not noticed";
const char* const kNoWatchpointsHint = "the debug registers of a virtual machine may not be emulated: try it on another one";

bool watchpoints_work() {
  static const bool work = try_watchpoint();
  return work;
}

}  // namespace spile
