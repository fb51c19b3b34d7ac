// process("PATH").function("NAME@FILE:LINE") and what may follow: .call .exported .inline .return .maxactive(n)
// .callee("NAME") .callees .label("NAME").
//
// A function stands for all its machine code: itself, and every call of it that was inlined. `.call` leaves those out,
// `.inline` leaves the rest out. `.callee` and `.callees` are in callees.cpp.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "base/diagnostics.h"
#include "base/text/glob.h"
#include "probes/process/callees.h"
#include "probes/process/code_points.h"
#include "probes/terms/stack_owners.h"
#include "probes/world/ifunc.h"
#include "syntax/printer.h"

namespace spile::probes {

namespace {

using sema::ProbeKind;
using sema::ResolvedPoint;

const std::vector<std::string> after_function = {"call",   "exported", "inline", "return",
                                                 "callee", "callees",  "label",  "maxactive"};

std::vector<std::string> components(const syntax::ProbePoint& point, size_t index) {
  if (point.components[0].name == "process" && (index == 1 || (index == 2 && point.components[1].name == "library")))
    return after_process();
  if (index >= 3 && point.components[index - 1].name == "return") return {"maxactive"};
  if (index >= 3 && point.components[index - 1].name.starts_with("callee")) return {"call", "return"};
  return after_function;
}

bool takes(const syntax::ProbePoint& point) { return follows_process(point, "function"); }

// The parts of a point, once its shape is known to be right.
struct Request {
  ProcessPart part;
  SourceSpec spec;
  std::optional<FileAddress> address;  // instead of a name
  bool is_return = false;
  bool only_calls = false;
  bool only_exported = false;
  bool only_inlined = false;
  bool callees = false;
  std::string callee = "*";
  int64_t levels = 1;
  const std::string* label = nullptr;
  std::string suffix;  // ".return"
};

// One component after function(...). False: it can't stand there.
Result<bool> parse_suffix(const syntax::PointComponent& part, Request& request) {
  bool plain = !part.text && !part.number;
  bool whole = !request.only_inlined && !request.callees && !request.label && !request.is_return;
  if (part.name == "return" && plain && request.callees && !request.is_return) {
    request.is_return = true;
    return true;
  }
  if (part.name == "return" && plain && whole && (!request.only_calls || request.address)) {
    request.is_return = true;
  } else if (part.name == "maxactive" && part.number && request.is_return) {
    // Every thread has its own room for pending returns, there is nothing to size.
  } else if (part.name == "call" && plain && !request.only_inlined && !request.label) {
    request.only_calls = true;
  } else if (part.name == "exported" && plain && whole) {
    request.only_exported = true;
  } else if (part.name == "inline" && plain && whole && !request.only_calls && !request.only_exported) {
    request.only_inlined = true;
  } else if (part.name == "callee" && part.text && whole && !request.only_exported) {
    request.callees = true;
    request.callee = *part.text;
  } else if (part.name == "callees" && !part.text && whole && !request.only_exported) {
    request.levels = part.number.value_or(1);
    if (request.levels < 1 || request.levels > sema::kMostCallers)
      return Error{fmt::format("callees({}): the number of levels must be from 1 to {}", request.levels, sema::kMostCallers), ""};
    request.callees = true;
  } else if (part.name == "label" && part.text && whole && !request.only_calls && !request.only_exported) {
    request.label = &*part.text;
  } else {
    return false;
  }
  return true;
}

Result<Request> parse(const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  Request request;
  TRY(request.part, parse_process(point));
  size_t at = request.part.next;
  const syntax::PointComponent& function = parts[at++];
  if (!function.text) {
    if (!function.number) return Error{"function needs a name", "process.function(\"main\")"};
    request.address = FileAddress(static_cast<uint64_t>(*function.number));
    request.only_calls = true;
  }
  for (; at < parts.size(); ++at) {
    TRY(bool fits, parse_suffix(parts[at], request));
    if (!fits) return unexpected_component(point, at, components(point, at));
    request.suffix += "." + parts[at].name;
    if (parts[at].number) request.suffix += fmt::format("({})", *parts[at].number);
  }
  if (function.text) {
    TRY(request.spec, parse_source_spec(*function.text));
    if (request.spec.offset > 0)
      return Error{fmt::format("\"{}\" is a place inside a function", *function.text),
                   fmt::format("process.statement(\"{}\") probes the instruction there", *function.text)};
  } else if (request.callees || request.label || request.only_exported) {
    return Error{"a function given by its address can only be probed at its entry or its return", "give its name"};
  }
  return request;
}

ResolvedPoint make_point(TracedWorld& world, const Request& request, debuginfo::Module& module,
                         const debuginfo::Function& function) {
  ResolvedPoint point = point_at(world, request.part, module, function.address,
                                 request.is_return ? ProbeKind::kFunctionReturn : ProbeKind::kFunctionEntry);
  point.site.size = function.size;
  point.site.function = function.name();
  point.site.source_file = function.declared.file;
  point.site.line = function.declared.line;
  point.text = source_text(point.site, "function", request.suffix);
  return point;
}

// "f@file:12" is the function that line 12 is in: declared there, or with code of that line.
class LineFilter {
 public:
  LineFilter(debuginfo::Module& module, const SourceSpec& spec) : spec_(spec) {
    if (spec.lines == SourceSpec::Lines::kNone || spec.lines == SourceSpec::Lines::kAll) return;
    active_ = true;
    auto statements = module.statements(spec.file);
    if (!statements.ok()) return;
    for (const debuginfo::CodePlace& place : *statements)
      lines_[{place.function.value, place.scope}].push_back(place.source.line);
  }
  bool matches(FileAddress function, uint64_t scope, int declared) const {
    if (!active_ || spec_.matches(declared, declared)) return true;
    auto known = lines_.find({function.value, scope});
    return known != lines_.end() &&
           std::any_of(known->second.begin(), known->second.end(), [&](int line) { return spec_.matches(line, declared); });
  }

 private:
  const SourceSpec& spec_;
  bool active_ = false;
  std::map<std::pair<uint64_t, uint64_t>, std::vector<int>> lines_;
};

CalleeRequest callees_of(const Request& request) {
  return {.part = request.part,
          .callers = request.spec,
          .callee = request.callee,
          .levels = static_cast<int>(request.levels),
          .without_inlined = request.only_calls,
          .is_return = request.is_return};
}

struct Found {
  Points points;
  std::string reason;           // why one was left out
  std::string unresolved = {};  // a sentence about one whose implementation is not known; "": none
};

// The points at the code that was chosen for a function, which may serve others, too; that is said.
Points chosen_points(TracedWorld& world, const Request& request, debuginfo::Module& module, const debuginfo::Function& ifunc) {
  Points points;
  for (const Implementation& chosen : implementations_of(world, module, ifunc)) {
    // A stripped file names only what chooses.
    auto known = module.function_at(chosen.address);
    if (!known || known->address != chosen.address) known = module.unnamed_function_at(chosen.address);
    if (!known || known->address != chosen.address) continue;
    const debuginfo::Function& function = *known;
    const std::string who = chosen.process ? fmt::format("process {}", chosen.process) : "this machine";
    world.remark(
        fmt::format("'{}' of {} is chosen when a program starts: on {} it is '{}' at {:#x}, which other functions may share",
                    ifunc.name(), module.path(), who, function.name(), chosen.address.value));
    points.push_back(make_point(world, request, module, function));
  }
  return points;
}

Result<Found> find_functions(TracedWorld& world, const Request& request, debuginfo::Module& module, const LineFilter& filter) {
  Found found;
  TRY(std::vector<debuginfo::Function> functions, module.functions({request.spec.name, request.spec.file}));
  // For what runs in processes the engine refuses these, and counts them. The kernel, which replaces return addresses too, would
  // not.
  std::optional<FileOwners> owners;
  if (request.is_return && !request.part.of_kernel &&
      (world.options().only_lists || world.process_domain() == sema::Domain::kKernel))
    owners.emplace(module.path());
  for (const debuginfo::Function& function : functions) {
    if (request.only_exported && !function.exported) {
      found.reason = "is not exported: no dynamic symbol names it";
      continue;
    }
    if (request.address && function.address != *request.address) continue;
    if (!filter.matches(function.address, 0, function.declared.line)) continue;
    if (function.is_ifunc) {
      found.reason = world.processes().empty() ? "only selects an implementation at load time (IFUNC), and which one is not "
                                                 "known before a process runs: attach with -x"
                                               : "only selects an implementation at load time (IFUNC), and the traced processes "
                                                 "have none of this file: nothing in them calls it, or "
                                                 "they call the kernel's own (vDSO)";
      // A pattern finds the implementations by their own names.
      if (has_wildcard(request.spec.name)) continue;
      Points chosen = chosen_points(world, request, module, function);
      if (chosen.empty()) found.unresolved = fmt::format("function '{}' of {} {}", function.name(), module.path(), found.reason);
      found.points.insert(found.points.end(), std::make_move_iterator(chosen.begin()), std::make_move_iterator(chosen.end()));
    } else if (request.is_return && module.is_made_by_go() && world.process_domain() == sema::Domain::kKernel) {
      found.reason = "can't be probed at its return by the kernel, which replaces return addresses: Go's runtime would crash";
    } else if (request.is_return && !request.part.of_kernel && refuses_return(function.name())) {
      found.reason =
          "can't be probed at its return: it has no caller to return to, returns twice, or looks at its return address";
    } else if (request.is_return && !request.part.of_kernel && !module.is_entered_by_calls(function.address)) {
      found.reason = "can't be probed at its return: code jumps there with more on the stack than a return address";
    } else if (const StackOwner* owner = owners ? owners->of(function.name()) : nullptr) {
      found.reason = fmt::format("can't be probed at its return: {}", owner->reason);
    } else {
      found.points.push_back(make_point(world, request, module, function));
    }
  }
  return found;
}

Result<Points> find_inlined(TracedWorld& world, const Request& request, debuginfo::Module& module, const LineFilter& filter) {
  Points points;
  TRY(debuginfo::CodePlaces places, module.inlined_calls({request.spec.name, request.spec.file}));
  for (const debuginfo::CodePlace& place : places) {
    if (!filter.matches(place.function, place.scope, place.source.line)) continue;
    ResolvedPoint point = point_inside(world, request.part, module, place);
    point.text = source_text(point.site, "function", request.suffix);
    points.push_back(std::move(point));
  }
  return points;
}

Result<Points> find_labels(TracedWorld& world, const Request& request, debuginfo::Module& module) {
  Points points;
  TRY(debuginfo::CodePlaces places, module.labels({request.spec.name, request.spec.file}, *request.label));
  for (const debuginfo::CodePlace& place : places) {
    ResolvedPoint point = point_inside(world, request.part, module, place);
    point.text = source_text(point.site, "function", fmt::format(".label({})", syntax::quoted(place.name)));
    points.push_back(std::move(point));
  }
  if (!points.empty()) return points;
  TRY(debuginfo::CodePlaces all, module.labels({request.spec.name, request.spec.file}, "*"));
  std::vector<std::string> names;
  for (const debuginfo::CodePlace& place : all) names.push_back(place.name);
  std::string near = nearest_name(*request.label, names);
  return Error{fmt::format("no label '{}' in function '{}' of {}", *request.label, request.spec.name, module.path()),
               !near.empty()   ? fmt::format("did you mean '{}'?", near)
               : names.empty() ? "it has no labels with code of their own"
                               : ""};
}

// The request by the name of the function that has the address.
Result<Request> by_name(Request request, debuginfo::Module& module) {
  if (!request.address) return request;
  auto function = module.function_at(*request.address);
  if (!function) {
    if (const auto part = module.part_at(*request.address)) return is_a_part(module, *part);
    function = module.unnamed_function_at(*request.address);
  }
  if (!function) {
    return Error{fmt::format("{:#x} is not in a known function of {}", request.address->value, module.path()),
                 fmt::format("process.statement({:#x}) probes an instruction", request.address->value)};
  }
  request.address = function->address;
  request.spec.name = function->linkage_name;
  return request;
}

Result<Points> resolve_in(TracedWorld& world, const Request& asked, debuginfo::Module& module) {
  TRY(const Request request, by_name(asked, module));
  if (request.label) return find_labels(world, request, module);
  if (request.callees) return find_callees(world, callees_of(request), module);
  const LineFilter filter(module, request.spec);
  Points points;
  std::string reason, unresolved;
  if (!request.only_inlined) {
    TRY(Found found, find_functions(world, request, module, filter));
    points = std::move(found.points);
    reason = std::move(found.reason);
    unresolved = std::move(found.unresolved);
  }
  if (!request.only_calls && !request.only_exported && !request.is_return) {
    TRY(Points inlined, find_inlined(world, request, module, filter));
    points.insert(points.end(), std::make_move_iterator(inlined.begin()), std::make_move_iterator(inlined.end()));
  }
  // Calls that were inlined are not all.
  if (!points.empty() && !unresolved.empty()) world.leave_out(std::move(unresolved));
  if (!points.empty()) return points;
  if (!reason.empty()) return Error{fmt::format("function '{}' of {} {}", request.spec.name, module.path(), reason), ""};
  if (request.only_inlined) {
    auto functions = module.functions({request.spec.name, ""});
    if (functions.ok() && !functions->empty())
      return Error{fmt::format("function '{}' of {} is not inlined anywhere", request.spec.name, module.path()),
                   "leave out '.inline'"};
  }
  return no_function(module, request.spec);
}

}  // namespace

Result<Points> resolve_functions(TracedWorld& world, const syntax::ProbePoint& point) {
  TRY(Request request, parse(point));
  return resolve_in_modules(world, request.part, [&](debuginfo::Module& module) { return resolve_in(world, request, module); });
}

extern const Family process_function_family = {
    "process",
    takes,
    resolve_functions,
    components,
    {".function(string)", ".function(string).call", ".function(string).exported", ".function(string).inline",
     ".function(string).return", ".function(string).return.maxactive(number)", ".function(string).callee(string)",
     ".function(string).callee(string).call", ".function(string).callee(string).return", ".function(string).callees",
     ".function(string).callees(number)", ".function(string).callees.return", ".function(string).callees(number).return",
     ".function(string).label(string)", ".function(string).exported.return", ".function(number)", ".function(number).call",
     ".function(number).return"}};

}  // namespace spile::probes
