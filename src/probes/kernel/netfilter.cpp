// netfilter.hook("NAME").pf("FAMILY") in either order, with .priority(N) or .priority("N"): each packet that passes a hook of the
// kernel's netfilter, in the network namespace of spile. Handlers only look: the packet goes on in any case. Names and numbers
// are those of linux/netfilter.h, with or without NF_INET_ and NFPROTO_, in any case.

#include "probes/kernel/netfilter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <optional>

#include "base/diagnostics.h"
#include "probes/terms/family.h"
#include "probes/world/kernel_types.h"
#include "probes/world/traced_world.h"

namespace spile::probes {

namespace {

struct Named {
  const char* name;
  uint32_t number;
};
constexpr Named kHooks[] = {{"pre_routing", 0}, {"local_in", 1}, {"forward", 2}, {"local_out", 3}, {"post_routing", 4}};
constexpr Named kFamilies[] = {{"ipv4", 2}, {"ipv6", 10}};

bool takes(const syntax::ProbePoint& point) { return point.components[0].name == "netfilter"; }

std::vector<std::string> components(const syntax::ProbePoint& point, size_t index) {
  if (index == 1) return {"hook", "pf"};
  if (index == 2) return {point.components[1].name == "pf" ? "hook" : "pf"};
  return {"priority"};
}

// The number of .priority(-5) or .priority("-5"); nullopt: it has none.
std::optional<int64_t> priority_of(const syntax::PointComponent& part) {
  if (part.number || !part.text) return part.number;
  int64_t number = 0;
  const char* end = part.text->data() + part.text->size();
  const auto [rest, error] = std::from_chars(part.text->data(), end, number);
  return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

std::string plain_name(std::string name, std::string_view prefix) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name.starts_with(prefix) ? name.substr(prefix.size()) : name;
}

template <size_t kCount>
Result<Named> find(const Named (&known)[kCount], const std::string& given, std::string_view prefix, const char* what) {
  const std::string name = plain_name(given, prefix);
  std::vector<std::string> names;
  for (const Named& each : known) {
    if (name == each.name) return each;
    names.emplace_back(each.name);
  }
  std::string near = nearest_name(name, names);
  return Error{fmt::format("unknown {} '{}' of netfilter", what, given),
               near.empty() ? fmt::format("choose one of: {}", fmt::join(names, ", ")) : fmt::format("did you mean '{}'?", near)};
}

Result<Points> resolve(TracedWorld& world, const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  if (parts[0].text || parts[0].number) return unexpected_component(point, 0, {"netfilter"});
  if (parts.size() > 1 && (parts[1].name == "arp" || parts[1].name == "bridge")) {
    return Error{fmt::format("'{}': the kernel calls eBPF programs for packets of IPv4 and IPv6 only", text_of(point)),
                 "netfilter.ipv4.local_in and its kin; netdev.receive and netdev.transmit see packets of all protocols"};
  }
  for (size_t at : {size_t{1}, size_t{2}}) {
    if (at >= parts.size())
      return Error{fmt::format("the probe point '{}' is incomplete", text_of(point)),
                   "netfilter.hook(\"local_in\").pf(\"ipv4\")"};
    const std::vector<std::string> known = components(point, at);
    if (std::ranges::find(known, parts[at].name) == known.end() || !parts[at].text) return unexpected_component(point, at, known);
  }
  if (parts.size() > 4) return unexpected_component(point, 4, {});
  const std::optional<int64_t> priority = parts.size() > 3 ? priority_of(parts[3]) : std::nullopt;
  if (parts.size() > 3 && parts[3].name == "priority" && parts[3].text && !priority)
    return Error{fmt::format("the priority '{}' is not a number", *parts[3].text), ""};
  if (parts.size() > 3 && (parts[3].name != "priority" || !priority)) return unexpected_component(point, 3, components(point, 3));
  sema::PacketHook packet;
  const size_t hook_part = parts[1].name == "hook" ? 1 : 2;
  TRY(Named hook, find(kHooks, *parts[hook_part].text, "nf_inet_", "hook"));
  TRY(Named family, find(kFamilies, *parts[3 - hook_part].text, "nfproto_", "family of protocols"));
  packet.hook = hook.number;
  packet.family = family.number;
  if (priority) {
    // The kernel keeps the first and the last number for itself.
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max() - 1;
    if (*priority > kMost || *priority < -kMost) {
      return Error{fmt::format("the priority of '{}' is out of range", text_of(point)),
                   fmt::format("it can be {} to {}", -kMost, kMost)};
    }
    packet.priority = static_cast<int32_t>(*priority);
  }
  TRY_DO(world.require_kernel("netfilter"));
  sema::ResolvedPoint made;
  made.kind = sema::ProbeKind::kPacket;
  made.domain = sema::Domain::kKernel;
  made.text = text_of(point);
  made.packet = std::make_shared<const sema::PacketHook>(packet);
  return Points{std::move(made)};
}

// struct bpf_nf_ctx has pointers to struct nf_hook_state and to the packet.
constexpr int64_t kState = 0, kPacket = 8;

struct Variable {
  const char* name;
  const char* type;    // what it points to; "": it is a number
  const char* member;  // of struct nf_hook_state; "": it is the packet
};
constexpr Variable kVariables[] = {
    {"$skb", "struct sk_buff", ""}, {"$in", "struct net_device", "in"}, {"$out", "struct net_device", "out"},
    {"$sk", "struct sock", "sk"},   {"$hooknum", "", "hook"},           {"$pf", "", "pf"}};

}  // namespace

Result<StartPlace> start_in_packet(TracedWorld& world, const std::string& name) {
  const auto* known = std::ranges::find(kVariables, name, [](const Variable& variable) { return std::string(variable.name); });
  if (known == std::end(kVariables)) {
    std::string near = nearest_name(name, packet_variables(false));
    return Error{fmt::format("a netfilter probe has no variable '{}'", name),
                 near.empty() ? fmt::format("it has {}", fmt::join(packet_variables(false), ", "))
                              : fmt::format("did you mean '{}'?", near)};
  }
  StartPlace start{name, "kernel", {}, *known->type != 0};
  start.place.kind = debuginfo::Place::Kind::kMemory;
  if (!*known->member) {
    start.place.operations = {location::RecordField{kPacket, 8, false}};
    TRY(start.place.type, kernel_type(world, "kernel", known->type));
    return start;
  }
  // A member of the state, wherever this kernel has it.
  StartPlace state{name, "kernel", {}, false};
  state.place.kind = debuginfo::Place::Kind::kMemory;
  state.place.operations = {location::RecordField{kState, 8, false}};
  TRY(state.place.type, kernel_type(world, "kernel", "struct nf_hook_state"));
  std::vector<syntax::PathStep> path(1);
  path[0].kind = syntax::PathStep::Kind::kMember;
  path[0].name = known->member;
  TRY(start.place, walk_path(state, path));
  if (!start.is_pointee) return start;
  TRY(location::Operations pointer, debuginfo::load(start.place));
  start.place.type = start.place.type.target();
  start.place.operations = std::move(pointer);
  return start;
}

std::vector<std::string> packet_variables(bool typed) {
  std::vector<std::string> names;
  for (const Variable& variable : kVariables) {
    std::string type = !typed ? "" : *variable.type ? fmt::format(":{}*", variable.type) : ":long";
    names.push_back(variable.name + type);
  }
  return names;
}

extern const Family netfilter_family = {
    "netfilter",
    takes,
    resolve,
    components,
    {"netfilter.hook(string).pf(string)", "netfilter.hook(string).pf(string).priority(number)",
     "netfilter.hook(string).pf(string).priority(string)", "netfilter.pf(string).hook(string)",
     "netfilter.pf(string).hook(string).priority(number)", "netfilter.pf(string).hook(string).priority(string)"}};

}  // namespace spile::probes
