#pragma once
// $variables of probes at hooks of netfilter: $skb, the packet; $in and $out, the devices; $sk, the socket; $hooknum and $pf,
// numbers of the hook and of the family of protocols (struct nf_hook_state of include/linux/netfilter.h).

#include <string>
#include <vector>

#include "probes/kernel/start_place.h"
#include "probes/world/traced_world.h"
#include "sema/terms/target_info.h"

namespace spile::probes {

// Returns where a variable starts: of one that is a pointer, what it points to (StartPlace::is_pointee). Errors: no such
// variable, with a did-you-mean; as kernel_type().
Result<StartPlace> start_in_packet(TracedWorld& world, const std::string& name);
// Returns their names, with their types ("$skb:struct sk_buff*") if typed.
std::vector<std::string> packet_variables(bool typed);

}  // namespace spile::probes
