#include "bpf/privilege.h"

#include <errno.h>
#include <linux/bpf.h>
#include <unistd.h>

#include "base/unique_fd.h"
#include "bpf/bpf.h"
#include "bpf/library.h"

namespace spile::bpf {

bool is_privilege_error(int error) {
  return std::abs(error) == EPERM || std::abs(error) == EACCES;
}

Error privilege_error(const std::string& what, int errnum) {
  std::string hint = geteuid() == 0
                         ? "CAP_BPF and CAP_PERFMON are missing (a container?), or the kernel is locked down"
                         : "run as root (or with CAP_BPF and CAP_PERFMON); your own processes can be traced without these, "
                           "with -x or -c and --runtime=inproc";
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
