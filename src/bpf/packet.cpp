#include "bpf/packet.h"

#include <errno.h>
#include <fmt/format.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/privilege.h"

namespace spile::bpf {

namespace {

// The part of union bpf_attr that BPF_LINK_CREATE reads (include/uapi/linux/bpf.h).
struct LinkAttributes {
  uint32_t program = 0;
  uint32_t target = 0;
  uint32_t attach_type = kNetfilterAttach;
  uint32_t flags = 0;
  uint32_t family = 0;
  uint32_t hook = 0;
  int32_t priority = 0;
  uint32_t hook_flags = 0;
};
static_assert(sizeof(LinkAttributes) == 32);

}  // namespace

Error no_packet_programs(const AttachPoint& point, int error) {
  return Error::from_errno("attach " + point.text + ": this kernel does not run programs at hooks of netfilter", error,
                           "that takes Linux 6.4 or later, built with CONFIG_NETFILTER_BPF_LINK; kernel.function(\"ip_rcv\") and "
                           "its kin see packets on older ones");
}

Result<Attachment> attach_packet(int program, const AttachPoint& point) {
  LinkAttributes attributes;
  attributes.program = static_cast<uint32_t>(program);
  attributes.family = point.packet_family;
  attributes.hook = point.packet_hook;
  attributes.priority = point.packet_priority;
  long link = syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof attributes);
  // The kernel runs one such program at a priority of a hook. Where the script does not care which, several of its probes and
  // other programs are there.
  constexpr int32_t kMostTries = 64;
  for (int32_t next = 1; link < 0 && (errno == EBUSY || errno == EEXIST) && point.packet_priority == 0 && next < kMostTries;
       ++next) {
    attributes.priority = next;
    link = syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof attributes);
  }
  if (link < 0) {
    const std::string what = "attach " + point.text;
    if (is_privilege_error(errno)) return privilege_error(what, errno);
    if (errno == EBUSY || errno == EEXIST)
      return Error::from_errno(what, errno, "another program has this priority there: choose another one with .priority(N)");
    if (errno == EOPNOTSUPP || errno == EAFNOSUPPORT) return no_packet_programs(point, errno);
    return Error::from_errno(what, errno, "the kernel does not have this hook, or refuses the priority");
  }
  Attachment attachment;
  attachment.link.reset(static_cast<int>(link));
  return attachment;
}

std::string packet_mechanism(const AttachPoint& point) {
  return fmt::format("netfilter, family {}, hook {}, priority {}{}", point.packet_family, point.packet_hook,
                     point.packet_priority, point.packet_priority == 0 ? " or the next one that is free" : "");
}

}  // namespace spile::bpf
