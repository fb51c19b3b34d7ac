#include "bpf/privilege.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "bpf/bpf.h"
#include "bpf/library.h"

namespace spile::bpf {

bool is_privilege_error(int error) { return std::abs(error) == EPERM || std::abs(error) == EACCES; }

std::string missing_privileges(uint64_t effective) {
  auto has = [&](int capability) { return ((effective >> capability | effective >> CAP_SYS_ADMIN) & 1) != 0; };
  if (has(CAP_BPF) && has(CAP_PERFMON)) return "";
  if (has(CAP_BPF)) return "CAP_PERFMON is missing";
  return has(CAP_PERFMON) ? "CAP_BPF is missing" : "CAP_BPF and CAP_PERFMON are missing";
}

// Of this thread; all of them if the kernel does not say.
static uint64_t effective_capabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, data) != 0) return ~uint64_t{0};
  return uint64_t{data[1].effective} << 32 | data[0].effective;
}

bool has_privileges() { return missing_privileges(effective_capabilities()).empty(); }

Error privilege_error(const std::string& what, int errnum) {
  const std::string missing = missing_privileges(effective_capabilities());
  std::string hint =
      missing.empty() ? "CAP_BPF and CAP_PERFMON are there: the kernel is locked down (/sys/kernel/security/lockdown), or a "
                        "container or user namespace allows less"
      : geteuid() == 0
          ? missing + " (a container?)"
          : missing +
                ": run as root, or with both; your own processes can be traced without these, with -x or -c and --runtime=inproc";
  return Error::from_errno(what, errnum, hint);
}

Result<void> check_privilege() {
  // r0 = 0; exit
  const bpf_insn nothing[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 0}, {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
  UniqueFd program(bpf_prog_load(BPF_PROG_TYPE_TRACEPOINT, "spile_check", "Dual MIT/GPL", nothing, 2, nullptr));
  if (program) return {};
  int error = errno;
  if (is_privilege_error(error)) return privilege_error("load eBPF programs", error);
  if (error == ENOSYS) return Error{"this kernel has no eBPF (bpf: Function not implemented)", "use --runtime=inproc"};
  return Error::from_errno("load eBPF programs", error);
}

}  // namespace spile::bpf
