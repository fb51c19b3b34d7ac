// kernel.data("SYMBOL"), kernel.data(0xADDRESS): .write, .rw, with .length(n) before: the processor's watchpoints on the kernel's
// memory, on every CPU. Handlers run in the kernel, right after the access (perf_event_open(2), PERF_TYPE_BREAKPOINT).

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.h"
#include "probes/terms/family.h"
#include "probes/world/kernel_types.h"
#include "probes/world/traced_world.h"
#include "probes/world/watchpoint.h"

namespace spile::probes {

namespace {

using kernelinfo::Symbol;

std::vector<std::string> components(const syntax::ProbePoint&, size_t index) {
  return index == 1 ? std::vector<std::string>{"data"} : watch_components();
}

bool takes(const syntax::ProbePoint& point) {
  return point.components[0].name == "kernel" && point.components.size() > 1 && point.components[1].name == "data";
}

// Of vmlinux: variables, constants, and what the linker sets apart. Per-CPU variables have offsets for addresses.
bool is_variable(const Symbol& symbol) {
  constexpr std::string_view kTypes = "bBdDrRvV";
  return symbol.module.empty() && kTypes.find(symbol.type) != std::string_view::npos;
}

// Bytes to the next symbol, which the variable can't exceed; 0: not known.
uint64_t room_of(const Symbol& symbol, const std::vector<Symbol>& all) {
  uint64_t room = 0;
  for (const Symbol& other : all) {
    if (other.address <= symbol.address) continue;
    const uint64_t distance = other.address - symbol.address;
    if (room == 0 || distance < room) room = distance;
  }
  return room;
}

// Finds the variable of a name; sets the site's address. Returns the most bytes that may be watched without .length, 0: not
// known.
Result<uint64_t> find_variable(TracedWorld& world, const std::string& name, sema::Site& site) {
  TRY(const kernelinfo::Symbols* symbols, world.kernel().symbols());
  const Symbol* found = nullptr;
  for (const Symbol& symbol : symbols->all()) {
    if (symbol.name != name || !is_variable(symbol)) continue;
    if (found)
      return Error{fmt::format("several variables of the kernel have the name '{}'", name),
                   "kernel.data(0xADDRESS), with an address of /proc/kallsyms"};
    found = &symbol;
  }
  if (!found) return no_kernel_variable(*symbols, "", name);
  if (symbols->addresses_hidden())
    return Error{fmt::format("the address of '{}' is not known: the kernel hides addresses", name),
                 "run spile as root, and see the sysctl kernel.kptr_restrict"};
  constexpr uint64_t kFirstOfKernel = uint64_t{1} << 63;
  if (found->address < kFirstOfKernel)
    return Error{fmt::format("'{}' is a variable of each CPU, so one address does not do", name),
                 "kernel.data(0xADDRESS) watches the variable of one CPU"};
  site.address = FileAddress(found->address);
  site.function = name;
  const uint64_t room = room_of(*found, symbols->all());
  for (uint64_t size : {8, 4, 2, 1}) {
    if (room >= size && found->address % size == 0) return size;
  }
  return uint64_t{0};
}

Result<Points> resolve(TracedWorld& world, const syntax::ProbePoint& point) {
  const syntax::PointComponent& data = point.components[1];
  if (!data.number && !data.text)
    return Error{"data needs an address or the name of a variable", "kernel.data(\"jiffies\").write"};
  TRY(WatchRequest request, parse_watch(point));
  TRY_DO(world.require_kernel("kernel.data"));
  sema::ResolvedPoint made;
  made.kind = sema::ProbeKind::kDataAccess;
  made.domain = sema::Domain::kKernel;
  made.text = text_of(point);
  made.sequence = request.is_rw;
  uint64_t size = 0;
  if (data.number) {
    made.site.address = FileAddress(static_cast<uint64_t>(*data.number));
    if (*data.number >= 0)
      return Error{fmt::format("'{}': {:#x} is not an address of the kernel", text_of(point), *data.number),
                   "process.data watches memory of a process"};
  } else {
    TRY(size, find_variable(world, *data.text, made.site));
  }
  TRY(made.site.size, watch_length(point, made.site.address.value, request.length, size));
  return Points{made};
}

}  // namespace

extern const Family kernel_data_family = {
    "kernel",
    takes,
    resolve,
    components,
    {"kernel.data(number).write", "kernel.data(number).rw", "kernel.data(number).length(number).write",
     "kernel.data(number).length(number).rw", "kernel.data(string).write", "kernel.data(string).rw",
     "kernel.data(string).length(number).write", "kernel.data(string).length(number).rw"}};

}  // namespace spile::probes
