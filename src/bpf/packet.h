#pragma once
// Attaches a program to a hook of netfilter, where the kernel asks about each packet (AttachPoint::Kind::kPacket), in the network
// namespace of the caller. bpf(2), BPF_LINK_CREATE with BPF_NETFILTER (Linux 6.4, CONFIG_NETFILTER_BPF_LINK);
// net/netfilter/nf_bpf_link.c.

#include <string>

#include "base/result.h"
#include "bpf/attachment.h"
#include "bpf/bpf.h"

namespace spile::bpf {

// Numbers of linux/bpf.h that are newer than the headers of the machine that spile is built on.
inline constexpr uint32_t kNetfilterProgram = 32;  // BPF_PROG_TYPE_NETFILTER
inline constexpr uint32_t kNetfilterAttach = 45;   // BPF_NETFILTER

// Attaches a program; it runs for each packet from here on. Priority 0 stands for the first one from 0 on that no other program
// has. REQUIRES: it returns 1 (NF_ACCEPT), else packets are lost. Errors: no privilege; no such hook; the kernel is older than
// Linux 6.4.
Result<Attachment> attach_packet(int program, const AttachPoint& point);
// Returns the error for a kernel that does not have such programs. error: an errno.
Error no_packet_programs(const AttachPoint& point, int error);

// Returns how it is attached, for -v: "netfilter, family 2, hook 1, priority 5".
std::string packet_mechanism(const AttachPoint& point);

}  // namespace spile::bpf
