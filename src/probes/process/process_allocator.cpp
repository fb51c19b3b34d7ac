// process.allocator("NAME"), .return: the functions by which programs take and free memory (probes/terms/allocators.h), in every
// file that a traced process maps, now or later, and in every program that it executes. NAME is a role: "malloc" is each function
// that is called as malloc is. The library's heap.allocate and heap.free (tapset/heap.stp) are made of these.
//
// Such a point has no file: its site is a role, and the session looks for its places in what processes have mapped
// (session/places/allocator_sites.h).

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/diagnostics.h"
#include "base/text/glob.h"
#include "probes/terms/allocators.h"
#include "probes/terms/family.h"
#include "probes/world/traced_world.h"

namespace spile::probes {

namespace {

using sema::ResolvedPoint;

std::vector<std::string> components(const syntax::ProbePoint&, size_t index) {
  if (index == 1) return {"allocator"};
  return index == 2 ? std::vector<std::string>{"return"} : std::vector<std::string>();
}

bool takes(const syntax::ProbePoint& point) {
  return point.components[0].name == "process" && point.components.size() > 1 && point.components[1].name == "allocator";
}

Result<Points> resolve(TracedWorld& world, const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  if (!parts[1].text) return Error{"allocator needs a name", "process.allocator(\"malloc\")"};
  if (parts[0].text || parts[0].number)
    return Error{fmt::format("'{}': the allocators of all traced processes are probed together", text_of(point)),
                 fmt::format("process.allocator(\"{}\") is the point", *parts[1].text)};
  bool is_return = parts.size() > 2 && parts[2].name == "return" && !parts[2].text && !parts[2].number;
  if (parts.size() > (is_return ? 3u : 2u)) {
    const size_t wrong = is_return ? 3 : 2;
    return unexpected_component(point, wrong, components(point, wrong));
  }
  if (!world.options().only_lists) {
    if (!world.has_target()) return Error{"process.allocator needs processes to look at", "use -c COMMAND or -x PID"};
    if (world.process_domain() != sema::Domain::kTarget)
      return Error{"process.allocator has handlers in the processes, and none in the kernel",
                   "leave out --runtime=bpf and probes on the kernel"};
  }
  Points points;
  std::vector<std::string> names;
  for (size_t role = 0; role < kAllocatorRoles; ++role) {
    const std::string name = allocator_role_names()[role];
    names.push_back(name);
    if (!glob_matches(*parts[1].text, name)) continue;
    ResolvedPoint made;
    made.kind = is_return ? sema::ProbeKind::kFunctionReturn : sema::ProbeKind::kFunctionEntry;
    made.domain = sema::Domain::kTarget;
    made.site.address = FileAddress(role + 1);  // apart from other roles, and from sites without an address
    made.site.function = name;
    made.text = fmt::format("process.allocator(\"{}\"){}", name, is_return ? ".return" : "");
    points.push_back(std::move(made));
  }
  if (!points.empty()) return points;
  const std::string near = nearest_name(*parts[1].text, names);
  return Error{fmt::format("no function of allocators is known as '{}'", *parts[1].text),
               near.empty() ? fmt::format("known are: {}", fmt::join(names, ", ")) : fmt::format("did you mean '{}'?", near)};
}

}  // namespace

extern const Family process_allocator_family = {
    "process", takes, resolve, components, {"process.allocator(string)", "process.allocator(string).return"}};

}  // namespace spile::probes
