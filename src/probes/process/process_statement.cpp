// process("PATH").statement("NAME@FILE:LINE"), with .nearest: a line of the source; statement(ADDRESS), with .absolute:
// an instruction.

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "base/diagnostics.h"
#include "base/processes/proc.h"
#include "probes/process/code_points.h"
#include "syntax/printer.h"

namespace spile::probes {

namespace {

using sema::ProbeKind;
using sema::ResolvedPoint;

std::vector<std::string> components(const syntax::ProbePoint& point, size_t index) {
  if (point.components[0].name == "process" && (index == 1 || (index == 2 && point.components[1].name == "library")))
    return after_process();
  return {"nearest", "absolute"};
}

bool takes(const syntax::ProbePoint& point) { return follows_process(point, "statement"); }

struct Request {
  ProcessPart part;
  SourceSpec spec;
  std::optional<uint64_t> address;
  bool nearest = false;
  bool absolute = false;
};

Result<Request> parse(const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  Request request;
  TRY(request.part, parse_process(point));
  size_t at = request.part.next;
  const syntax::PointComponent& statement = parts[at++];
  if (!statement.text && !statement.number)
    return Error{"statement needs a place in the source or an address", "process.statement(\"main@file.c:12\")"};
  for (; at < parts.size(); ++at) {
    bool plain = !parts[at].text && !parts[at].number;
    if (plain && parts[at].name == "nearest" && statement.text && !request.nearest) {
      request.nearest = true;
    } else if (plain && parts[at].name == "absolute" && statement.number && !request.absolute) {
      request.absolute = true;
    } else {
      return unexpected_component(point, at, components(point, at));
    }
  }
  if (statement.number) {
    request.address = static_cast<uint64_t>(*statement.number);
    return request;
  }
  TRY(request.spec, parse_source_spec(*statement.text));
  return request;
}

// ---- by address

// Where the process has the module mapped; nothing where it has not.
std::optional<uint64_t> bias_of(pid_t process, const debuginfo::Module& module) {
  auto mappings = read_mappings(process);
  if (!mappings.ok()) return std::nullopt;
  for (const Mapping& mapping : *mappings) {
    if (mapping.path != module.path()) continue;
    if (auto address = module.address_of(mapping.offset)) return mapping.begin - address->value;
  }
  return std::nullopt;
}

bool is_code(const debuginfo::Module& module, uint64_t address) {
  return std::any_of(module.segments().begin(), module.segments().end(), [&](const auto& segment) {
    return segment.executable && address >= segment.address.value && address - segment.address.value < segment.file_size;
  });
}

// The address in the file of an address in the processes. They may have the file at different places: then the address belongs to
// those that have its code there, and the instruction is probed in all.
Result<uint64_t> address_in_file(const TracedWorld& world, const debuginfo::Module& module, uint64_t address) {
  if (!module.position_independent()) return address;
  std::map<uint64_t, pid_t> found;
  std::optional<uint64_t> outside;
  for (pid_t process : world.processes()) {
    auto bias = bias_of(process, module);
    if (!bias) continue;
    outside = address - *bias;
    if (is_code(module, *outside)) found.try_emplace(*outside, process);
  }
  if (found.size() > 1) {
    auto [first, process] = *found.begin();
    auto [second, other] = *std::next(found.begin());
    return Error{fmt::format("statement({:#x}).absolute is ambiguous: it is {:#x} of {} in process {}, but {:#x} in process {}",
                             address, first, module.path(), process, second, other),
                 fmt::format("give the address in the file: statement({:#x})", first)};
  }
  if (found.size() == 1) return found.begin()->first;
  if (outside) return *outside;
  return Error{fmt::format("statement({:#x}).absolute: the load address of {} is not known yet", address, module.path()),
               "attach with -x PID, or give the address in the file: statement(ADDRESS)"};
}

Result<Points> resolve_address(TracedWorld& world, const Request& request, debuginfo::Module& module) {
  uint64_t address = *request.address;
  if (request.absolute) {
    TRY(address, address_in_file(world, module, address));
  }
  if (!is_code(module, address)) {
    return Error{
        fmt::format("{:#x} is not in the code of {}", *request.address, module.path()),
        module.position_independent() && !request.absolute ? "addresses are those in the file, as objdump shows them" : ""};
  }
  debuginfo::CodePlace place = module.place_at(FileAddress(address)).value_or(debuginfo::CodePlace{});
  place.address = FileAddress(address);
  ResolvedPoint point = point_inside(world, request.part, module, place);
  point.text = fmt::format("process({}).statement({:#x}){}", syntax::quoted(module.path()), *request.address,
                           request.absolute ? ".absolute" : "");
  return Points{std::move(point)};
}

// ---- by line

// The lines that declare functions, by entry and scope.
class Declarations {
 public:
  explicit Declarations(debuginfo::Module& module) : module_(module) {}
  int line_of(const debuginfo::CodePlace& place) {
    auto [entry, is_new] = lines_.try_emplace({place.function.value, place.scope}, 0);
    if (!is_new) return entry->second;
    if (place.scope == 0) {
      auto declared = module_.declaration(place.function);
      if (declared.ok()) entry->second = declared->line;
      return entry->second;
    }
    auto calls = module_.inlined_calls({place.linkage_name, ""});
    if (!calls.ok()) return 0;
    for (const debuginfo::CodePlace& call : *calls) lines_[{call.function.value, call.scope}] = call.source.line;
    return lines_[{place.function.value, place.scope}];
  }

 private:
  debuginfo::Module& module_;
  std::map<std::pair<uint64_t, uint64_t>, int> lines_;
};

Error no_line(debuginfo::Module& module, const Request& request, const std::set<int>& lines) {
  const SourceSpec& spec = request.spec;
  int wanted = spec.ranges.empty() ? 0 : spec.ranges[0].first;
  if (lines.empty()) {
    // Where the function's file is not known, its pattern is not what is wrong.
    if (const auto functions = module.functions({spec.name, ""}); functions.ok() && !functions->empty()) {
      const auto declared = module.declaration(functions->front().address);
      if (!declared.ok() && !declared.error().hint.empty()) return declared.error();
    }
    return {fmt::format("no code of function '{}' of file '{}' in {}", spec.name, spec.file, module.path()),
            "the pattern is matched with the file name that the compiler was given: \"*@*file.c:12\" finds it in any directory"};
  }
  if (spec.lines == SourceSpec::Lines::kRelative)
    return {fmt::format("no code {} lines after the declaration of '{}' in {}", wanted, spec.name, module.path()), ""};
  auto after = lines.upper_bound(wanted);
  std::string near;
  if (after != lines.begin()) near = fmt::format(":{}", *std::prev(after));
  if (after != lines.end()) near += fmt::format("{}:{}", near.empty() ? "" : " or ", *after);
  return {fmt::format("no line records for {}:{} in function '{}' of {}", spec.file, wanted, spec.name, module.path()),
          fmt::format("try {}, or add .nearest", near)};
}

// The code of the copies of the named functions that were inlined, at any depth.
class Copies {
 public:
  Copies(debuginfo::Module& module, const std::string& name) : module_(module) {
    const auto copies = module.inlined_calls({name, ""});
    if (!copies.ok()) return;
    std::set<uint64_t> scopes;
    for (const debuginfo::CodePlace& copy : *copies)
      if (scopes.insert(copy.scope).second) std::ranges::copy(module.code_of_call(copy.scope), std::back_inserter(code_));
  }
  bool contain(const debuginfo::CodePlace& place) const {
    if (code_.empty()) return false;
    if (contain(place.address)) return true;
    // A line may be at an instruction before the call's code, which is a part of the code of each call around it.
    return place.scope != 0 && std::ranges::any_of(module_.code_of_call(place.scope), [&](const auto& range) {
             return range.begin < range.end && contain(range.begin);
           });
  }

 private:
  bool contain(FileAddress address) const {
    return std::ranges::any_of(code_, [&](const auto& range) { return address >= range.begin && address < range.end; });
  }

  debuginfo::Module& module_;
  std::vector<debuginfo::CodeRange> code_;
};

// Lines of calls that were inlined into the named functions, or into copies of those: their code is a part of them.
Points inlined_lines(TracedWorld& world, const Request& request, debuginfo::Module& module, const debuginfo::CodePlaces& all) {
  const SourceSpec& spec = request.spec;
  Points points;
  if (spec.lines == SourceSpec::Lines::kRelative || spec.ranges.empty()) return points;
  debuginfo::CodePlaces places = all;
  std::erase_if(places, [&](const debuginfo::CodePlace& place) { return !spec.matches(place.source.line, 0); });
  if (places.empty()) return points;
  std::set<uint64_t> entries, addresses;
  if (auto functions = module.functions({spec.name, ""}); functions.ok())
    for (const debuginfo::Function& function : *functions) entries.insert(function.address.value);
  const Copies copies(module, spec.name);
  for (const debuginfo::CodePlace& place : places) {
    const bool inside = entries.contains(place.function.value) || copies.contain(place);
    if (!inside || !addresses.insert(place.address.value).second) continue;
    ResolvedPoint point = point_inside(world, request.part, module, place);
    point.text = source_text(point.site, "statement", "");
    points.push_back(std::move(point));
  }
  return points;
}

Result<Points> resolve_line(TracedWorld& world, const Request& request, debuginfo::Module& module) {
  const SourceSpec& spec = request.spec;
  TRY(const debuginfo::CodePlaces all, module.statements(spec.file));
  debuginfo::CodePlaces places = all;
  debuginfo::keep_matching({spec.name, ""}, places, module);
  Declarations declarations(module);
  bool relative = spec.lines == SourceSpec::Lines::kRelative;
  std::set<int> lines;
  for (const debuginfo::CodePlace& place : places) lines.insert(place.source.line);
  int nearest = -1;
  if (request.nearest && !relative && !spec.ranges.empty()) {
    int wanted = spec.ranges[0].first, distance = INT_MAX;
    for (int line : lines) {
      if (std::abs(line - wanted) < distance) distance = std::abs(line - wanted), nearest = line;
    }
  }
  Points points;
  for (const debuginfo::CodePlace& place : places) {
    int line = place.source.line;
    if (nearest >= 0 ? line != nearest : !spec.matches(line, relative ? declarations.line_of(place) : 0)) continue;
    ResolvedPoint point = point_inside(world, request.part, module, place);
    point.text = source_text(point.site, "statement", "");
    points.push_back(std::move(point));
  }
  if (points.empty()) points = inlined_lines(world, request, module, all);
  if (points.empty()) return no_line(module, request, lines);
  return points;
}

// "f+0x12": so many bytes behind the entry.
Result<Points> resolve_offset(TracedWorld& world, const Request& request, debuginfo::Module& module) {
  const SourceSpec& spec = request.spec;
  TRY(std::vector<debuginfo::Function> functions, module.functions({spec.name, ""}));
  Points points;
  Error failure;
  for (const debuginfo::Function& function : functions) {
    if (function.is_ifunc) continue;
    if (spec.offset >= function.size) {
      failure = {fmt::format("'{}+{:#x}' is not in the function '{}' of {}, which has {:#x} bytes", spec.name, spec.offset,
                             spec.name, module.path(), function.size),
                 "objdump -d or gdb show the offsets of a function's instructions"};
      continue;
    }
    const FileAddress address(function.address.value + spec.offset);
    debuginfo::CodePlace place = module.place_at(address).value_or(debuginfo::CodePlace{});
    place.address = address;
    points.push_back(point_inside(world, request.part, module, place));
    points.back().text = fmt::format("process({}).statement({})", syntax::quoted(module.path()),
                                     syntax::quoted(fmt::format("{}+{:#x}", function.name(), spec.offset)));
  }
  if (!points.empty()) return points;
  return failure.message.empty() ? no_function(module, spec) : failure;
}

// Without a line: the entry.
Result<Points> resolve_entry(TracedWorld& world, const Request& request, debuginfo::Module& module) {
  if (request.spec.offset > 0) return resolve_offset(world, request, module);
  TRY(std::vector<debuginfo::Function> functions, module.functions({request.spec.name, request.spec.file}));
  Points points;
  for (const debuginfo::Function& function : functions) {
    if (function.is_ifunc) continue;
    debuginfo::CodePlace place;
    place.address = place.function = function.address;
    place.linkage_name = function.linkage_name;
    place.source = function.declared;
    points.push_back(point_inside(world, request.part, module, place));
    points.back().text = source_text(points.back().site, "statement", "");
  }
  if (points.empty()) return no_function(module, request.spec);
  return points;
}

}  // namespace

Result<Points> resolve_statements(TracedWorld& world, const syntax::ProbePoint& point) {
  TRY(Request request, parse(point));
  return resolve_in_modules(world, request.part, [&](debuginfo::Module& module) {
    if (request.address) return resolve_address(world, request, module);
    if (request.spec.lines == SourceSpec::Lines::kNone) return resolve_entry(world, request, module);
    return resolve_line(world, request, module);
  });
}

extern const Family process_statement_family = {
    "process",
    takes,
    resolve_statements,
    components,
    {".statement(string)", ".statement(string).nearest", ".statement(number)", ".statement(number).absolute"}};

}  // namespace spile::probes
