// process("PATH").plt, .plt("NAME"), .plt("NAME").return: the stubs through which a module calls functions of others.

#include <fmt/format.h>

#include "base/diagnostics.h"
#include "base/text/glob.h"
#include "probes/process/process_part.h"
#include "syntax/printer.h"

namespace spile::probes {

namespace {

using sema::ProbeKind;
using sema::ResolvedPoint;

std::vector<std::string> components(const syntax::ProbePoint& point, size_t index) {
  if (index == 1 || (index == 2 && point.components[1].name == "library")) return after_process();
  return {"return"};
}

bool takes(const syntax::ProbePoint& point) { return follows_process(point, "plt"); }

struct Request {
  ProcessPart part;
  std::string name = "*";
  bool is_return = false;
};

Result<Request> parse(const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  Request request;
  TRY(request.part, parse_process(point));
  size_t at = request.part.next;
  if (parts[at].number) return Error{"plt takes a name", "process.plt(\"malloc\")"};
  if (parts[at].text) request.name = *parts[at].text;
  if (++at == parts.size()) return request;
  request.is_return = parts[at].name == "return" && !parts[at].text && !parts[at].number;
  if (!request.is_return || at + 1 < parts.size())
    return unexpected_component(point, request.is_return ? at + 1 : at, {"return"});
  return request;
}

Result<Points> resolve_in(TracedWorld& world, const Request& request, debuginfo::Module& module) {
  Points points;
  std::vector<std::string> names;
  for (const debuginfo::PltEntry& entry : module.plt()) {
    names.push_back(entry.name);
    if (!glob_matches(request.name, entry.name)) continue;
    ResolvedPoint point = point_at(world, request.part, module, entry.address,
                                   request.is_return ? ProbeKind::kFunctionReturn : ProbeKind::kFunctionEntry);
    point.site.size = entry.size;
    point.site.function = entry.name;
    point.site.mark = std::make_shared<sema::MarkInfo>(sema::MarkInfo{"", entry.name, ""});
    point.text = fmt::format("process({}).plt({}){}", syntax::quoted(module.path()), syntax::quoted(entry.name),
                             request.is_return ? ".return" : "");
    points.push_back(std::move(point));
  }
  if (!points.empty()) return points;
  if (names.empty())
    return Error{fmt::format("{} has no procedure linkage table", module.path()),
                 "it is linked statically, or calls other modules directly (-fno-plt)"};
  std::string near = nearest_name(request.name, names);
  return Error{
      fmt::format("no entry '{}' in the procedure linkage table of {} ({} known)", request.name, module.path(), names.size()),
      near.empty() ? "" : fmt::format("did you mean '{}'?", near)};
}

Result<Points> resolve(TracedWorld& world, const syntax::ProbePoint& point) {
  TRY(Request request, parse(point));
  return resolve_in_modules(world, request.part, [&](debuginfo::Module& module) { return resolve_in(world, request, module); });
}

}  // namespace

extern const Family process_plt_family = {
    "process", takes, resolve, components, {".plt", ".plt(string)", ".plt.return", ".plt(string).return"}};

}  // namespace spile::probes
