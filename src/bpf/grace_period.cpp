#include "bpf/grace_period.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "bpf/library.h"

namespace spile::bpf {

namespace {

// The kernel waits for programs that may use the old element of a map of maps before the call that replaces it returns
// (maybe_wait_bpf_programs of kernel/bpf/syscall.c).
Result<void> wait_by_map() {
  UniqueFd inner(bpf_map_create(BPF_MAP_TYPE_ARRAY, "spile_wait", 4, 8, 1, nullptr));
  if (!inner) return Error::from_errno("wait for handlers in the kernel: create a map", errno);
  bpf_map_create_opts options{};
  options.sz = sizeof options;
  options.inner_map_fd = static_cast<uint32_t>(inner.get());
  UniqueFd outer(bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "spile_wait", 4, 4, 1, &options));
  if (!outer) return Error::from_errno("wait for handlers in the kernel: create a map of maps", errno);
  uint32_t zero = 0;
  int value = inner.get();
  if (int error = bpf_map_update_elem(outer.get(), &zero, &value, BPF_ANY); error != 0)
    return Error::from_errno("wait for handlers in the kernel: update a map of maps", -error);
  return {};
}

}  // namespace

// membarrier's global command is a grace period; a kernel that runs with nohz_full= refuses it.
Result<void> wait_for_handlers() {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) == 0) return {};
  return wait_by_map();
}

}  // namespace spile::bpf
