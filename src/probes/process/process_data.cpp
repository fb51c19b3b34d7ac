// process.data(0xADDRESS), process.data("SYMBOL"): .write, .rw, with .length(n) before: hardware watchpoints on a program's
// memory. Every thread has the processor's four of them.

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.h"
#include "probes/terms/family.h"
#include "probes/world/traced_world.h"
#include "probes/world/watchpoint.h"

namespace spile::probes {

namespace {

using sema::ProbeKind;
using sema::ResolvedPoint;

std::vector<std::string> components(const syntax::ProbePoint&, size_t index) {
  return index == 1 ? std::vector<std::string>{"data"} : watch_components();
}

bool takes(const syntax::ProbePoint& point) {
  return point.components[0].name == "process" && point.components.size() > 1 && point.components[1].name == "data";
}

// Returns the variable that was meant: of that name in a namespace or class, or of a similar name; "": none.
std::string near_variable(debuginfo::Module& module, const std::string& wanted) {
  const std::vector<std::string> names = module.data_names();
  for (const std::string& name : names)
    if (name.ends_with("::" + wanted)) return name;
  std::string near = nearest_name(wanted, names);
  if (!near.empty()) return near;
  // As many of the last scopes as `wanted` has.
  std::vector<std::string> ends;
  for (const std::string& name : names) {
    size_t at = name.rfind("::");
    for (size_t scope = wanted.find("::"); scope != wanted.npos && at != name.npos && at > 0;
         scope = wanted.find("::", scope + 2))
      at = name.rfind("::", at - 1);
    ends.push_back(at == name.npos ? name : name.substr(at + 2));
  }
  near = nearest_name(wanted, ends);
  return near.empty() ? near : names[static_cast<size_t>(std::ranges::find(ends, near) - ends.begin())];
}

Result<Points> resolve(TracedWorld& world, const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  TRY(WatchRequest request, parse_watch(point));
  const syntax::PointComponent& data = parts[1];
  if (parts[0].number) return Error{"process(PID).data is not supported", "write process.data, and name the process with -x"};
  ResolvedPoint made;
  made.kind = ProbeKind::kDataAccess;
  made.domain = sema::Domain::kController;
  made.text = text_of(point);
  made.sequence = request.is_rw;
  uint64_t symbol_size = 0;
  if (data.number) {
    made.site.address = FileAddress(static_cast<uint64_t>(*data.number));  // of the running process
  } else if (data.text) {
    made.site.module = world.program();
    if (parts[0].text) {
      TRY(made.site.module, world.find_executable(*parts[0].text));
    }
    if (made.site.module.empty()) {
      return Error{fmt::format("'{}' names no program to take the variable from", text_of(point)),
                   "use -c COMMAND, -x PID or process(\"PATH\")"};
    }
    TRY(auto module, world.module(made.site.module));
    auto address = module->data_symbol(*data.text, &symbol_size);
    if (!address) {
      const std::string near = near_variable(*module, *data.text);
      return Error{fmt::format("no variable '{}' in the symbols of {}", *data.text, made.site.module),
                   near.empty() ? "local variables have no fixed address; a stripped program has no symbols"
                                : fmt::format("did you mean '{}'?", near)};
    }
    made.site.address = *address;
    made.site.function = *data.text;
  } else {
    return Error{"data needs an address or the name of a variable", "process.data(\"counter\").write"};
  }
  TRY(made.site.size, watch_length(point, made.site.address.value, request.length, symbol_size));
  return Points{made};
}

}  // namespace

extern const Family process_data_family = {
    "process",
    takes,
    resolve,
    components,
    {"process.data(number).write", "process.data(number).rw", "process.data(number).length(number).write",
     "process.data(number).length(number).rw", "process.data(string).write", "process.data(string).rw",
     "process.data(string).length(number).write", "process.data(string).length(number).rw", "process(string).data(number).write",
     "process(string).data(number).rw", "process(string).data(number).length(number).write",
     "process(string).data(number).length(number).rw", "process(string).data(string).write", "process(string).data(string).rw",
     "process(string).data(string).length(number).write", "process(string).data(string).length(number).rw"}};

}  // namespace spile::probes
