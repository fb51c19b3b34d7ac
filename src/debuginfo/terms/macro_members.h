#pragma once
// Members of the kernel's structures that its headers define as macros over others (include/net/sock.h, include/net/inet_sock.h),
// and members that have got another name: C code and scripts name them as if they were there, types describe what is behind.

#include <string_view>

namespace spile::debuginfo {

struct MacroMember {
  std::string_view structure, name;  // "struct sock", "sk_family"
  std::string_view path;             // "__sk_common.skc_family"
};

inline constexpr MacroMember kMacroMembers[] = {
    {"struct sock", "sk_node", "__sk_common.skc_node"},
    {"struct sock", "sk_nulls_node", "__sk_common.skc_nulls_node"},
    {"struct sock", "sk_refcnt", "__sk_common.skc_refcnt"},
    {"struct sock", "sk_hash", "__sk_common.skc_hash"},
    {"struct sock", "sk_portpair", "__sk_common.skc_portpair"},
    {"struct sock", "sk_num", "__sk_common.skc_num"},
    {"struct sock", "sk_dport", "__sk_common.skc_dport"},
    {"struct sock", "sk_addrpair", "__sk_common.skc_addrpair"},
    {"struct sock", "sk_daddr", "__sk_common.skc_daddr"},
    {"struct sock", "sk_rcv_saddr", "__sk_common.skc_rcv_saddr"},
    {"struct sock", "sk_family", "__sk_common.skc_family"},
    {"struct sock", "sk_state", "__sk_common.skc_state"},
    {"struct sock", "sk_reuse", "__sk_common.skc_reuse"},
    {"struct sock", "sk_reuseport", "__sk_common.skc_reuseport"},
    {"struct sock", "sk_ipv6only", "__sk_common.skc_ipv6only"},
    {"struct sock", "sk_net_refcnt", "__sk_common.skc_net_refcnt"},
    {"struct sock", "sk_bound_dev_if", "__sk_common.skc_bound_dev_if"},
    {"struct sock", "sk_bind_node", "__sk_common.skc_bind_node"},
    {"struct sock", "sk_prot", "__sk_common.skc_prot"},
    {"struct sock", "sk_net", "__sk_common.skc_net"},
    {"struct sock", "sk_v6_daddr", "__sk_common.skc_v6_daddr"},
    {"struct sock", "sk_v6_rcv_saddr", "__sk_common.skc_v6_rcv_saddr"},
    {"struct sock", "sk_cookie", "__sk_common.skc_cookie"},
    {"struct sock", "sk_incoming_cpu", "__sk_common.skc_incoming_cpu"},
    {"struct sock", "sk_flags", "__sk_common.skc_flags"},
    {"struct inet_sock", "inet_daddr", "sk.__sk_common.skc_daddr"},
    {"struct inet_sock", "inet_rcv_saddr", "sk.__sk_common.skc_rcv_saddr"},
    {"struct inet_sock", "inet_dport", "sk.__sk_common.skc_dport"},
    {"struct inet_sock", "inet_num", "sk.__sk_common.skc_num"},
    {"struct inet_sock", "daddr", "sk.__sk_common.skc_daddr"},  // without inet_ until Linux 2.6.33
    {"struct inet_sock", "rcv_saddr", "sk.__sk_common.skc_rcv_saddr"},
    {"struct inet_sock", "saddr", "inet_saddr"},
    {"struct inet_sock", "dport", "sk.__sk_common.skc_dport"},
    {"struct inet_sock", "sport", "inet_sport"},
    {"struct inet_sock", "num", "sk.__sk_common.skc_num"},
    {"struct inet_request_sock", "ir_loc_addr", "req.__req_common.skc_rcv_saddr"},
    {"struct inet_request_sock", "ir_rmt_addr", "req.__req_common.skc_daddr"},
    {"struct inet_request_sock", "ir_num", "req.__req_common.skc_num"},
    {"struct inet_request_sock", "ir_rmt_port", "req.__req_common.skc_dport"},
    {"struct inet_timewait_sock", "tw_family", "__tw_common.skc_family"},
    {"struct inet_timewait_sock", "tw_state", "__tw_common.skc_state"},
    {"struct inet_timewait_sock", "tw_daddr", "__tw_common.skc_daddr"},
    {"struct inet_timewait_sock", "tw_rcv_saddr", "__tw_common.skc_rcv_saddr"},
    {"struct inet_timewait_sock", "tw_dport", "__tw_common.skc_dport"},
    {"struct inet_timewait_sock", "tw_num", "__tw_common.skc_num"},
    {"struct bio", "bi_idx", "bi_iter.bi_idx"},        // since Linux 3.14
    {"struct bio", "bi_rw", "bi_opf"},                 // since Linux 4.8
    {"struct bio", "bi_sector", "bi_iter.bi_sector"},  // since Linux 3.14
    {"struct bio", "bi_size", "bi_iter.bi_size"},
    {"struct request", "rq_disk", "q.disk"},  // since Linux 5.17
    {"struct file", "f_dentry", "f_path.dentry"},
    {"struct file", "f_vfsmnt", "f_path.mnt"},
    {"struct task_struct", "state", "__state"},  // since Linux 5.14
};

// Returns the path of members that a structure ("const struct sock") has for a name that it lacks; empty: the name is not known.
constexpr std::string_view macro_member(std::string_view structure, std::string_view name) {
  if (const size_t at = structure.rfind("struct "); at != std::string_view::npos) structure.remove_prefix(at);
  for (const MacroMember& each : kMacroMembers) {
    if (each.name == name && each.structure == structure) return each.path;
  }
  return {};
}

}  // namespace spile::debuginfo
