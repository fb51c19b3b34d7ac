// process("PATH").mark("NAME"), process("PATH").provider("NAME").mark("NAME"): SDT marks, by globs.

#include <fmt/format.h>

#include <optional>

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
  return point.components[index - 1].name == "provider" ? std::vector<std::string>{"mark"} : std::vector<std::string>{};
}

bool takes(const syntax::ProbePoint& point) { return follows_process(point, "mark") || follows_process(point, "provider"); }

struct Request {
  ProcessPart part;
  const std::string* provider = nullptr;
  std::string mark;
};

// dtrace writes "query-start" where C has "query__start".
std::string with_underscores(std::string name) {
  for (size_t at = 0; (at = name.find('-', at)) != std::string::npos; at += 2) {
    // Within [a-z] it is a range.
    size_t open = name.rfind('[', at), close = name.rfind(']', at);
    if (open == std::string::npos || (close != std::string::npos && close > open)) name.replace(at, 1, "__");
  }
  return name;
}

Result<Request> parse(const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  Request request;
  TRY(request.part, parse_process(point));
  size_t at = request.part.next;
  if (parts[at].name == "provider") {
    if (!parts[at].text) return Error{"provider needs a name", "process.provider(\"postgresql\").mark(\"query__start\")"};
    request.provider = &*parts[at++].text;
    if (at == parts.size() || parts[at].name != "mark")
      return Error{fmt::format("'mark' is missing after 'provider' in probe point '{}'", text_of(point)),
                   "process.provider(\"postgresql\").mark(\"query__start\")"};
  }
  if (!parts[at].text) return Error{"mark needs a name", "process.mark(\"query__start\")"};
  request.mark = with_underscores(*parts[at].text);
  if (at + 1 < parts.size()) return unexpected_component(point, at + 1, {});
  return request;
}

bool matches(const std::string& pattern, const std::string& name) { return glob_matches(pattern, name); }

Error no_mark(debuginfo::Module& module, const Request& request) {
  std::vector<std::string> names, providers;
  for (const debuginfo::Mark& mark : module.marks()) {
    names.push_back(mark.name);
    providers.push_back(mark.provider);
  }
  if (names.empty()) {
    return {fmt::format("{} has no marks (it was built without <sys/sdt.h>)", module.path()),
            "functions can be probed in any program: process.function(\"main\")"};
  }
  std::string of = request.provider ? fmt::format(" of provider '{}'", *request.provider) : "";
  std::string near = nearest_name(request.mark, names);
  if (near == request.mark && request.provider) near = nearest_name(*request.provider, providers);
  return {fmt::format("no mark '{}'{} in {} ({} marks known)", request.mark, of, module.path(), names.size()),
          near.empty() ? "" : fmt::format("did you mean '{}'?", near)};
}

Result<Points> resolve_in(TracedWorld& world, const Request& request, debuginfo::Module& module) {
  Points points;
  std::optional<Error> damaged;
  for (const debuginfo::Mark& mark : module.marks()) {
    if (!matches(request.mark, mark.name) || (request.provider && !matches(*request.provider, mark.provider))) continue;
    // The kernel finds the counter by its place in the file.
    const std::optional<uint64_t> counter = mark.semaphore.value != 0 ? module.file_offset(mark.semaphore) : 0;
    if (!counter && world.process_domain() == sema::Domain::kKernel) {
      damaged = Error{fmt::format("mark '{}' of {} has a semaphore that is not in the file's data: its note is damaged",
                                  mark.name, module.path()),
                      ""};
      continue;
    }
    ResolvedPoint point = point_at(world, request.part, module, mark.address, ProbeKind::kStatement);
    point.site.mark = std::make_shared<sema::MarkInfo>(sema::MarkInfo{mark.provider, mark.name, mark.arguments});
    point.site.semaphore = mark.semaphore;
    point.site.semaphore_offset = counter.value_or(0);
    if (auto function = module.code_at(mark.address)) {
      point.site.around = function->address;
      point.site.function = function->name();
      point.site.size = function->address.value + function->size - mark.address.value;
    }
    point.text = fmt::format("process({}){}.mark({})", syntax::quoted(module.path()),
                             request.provider ? fmt::format(".provider({})", syntax::quoted(mark.provider)) : "",
                             syntax::quoted(mark.name));
    points.push_back(std::move(point));
  }
  if (points.empty() && damaged) return *damaged;
  if (points.empty()) return no_mark(module, request);
  return points;
}

Result<Points> resolve(TracedWorld& world, const syntax::ProbePoint& point) {
  TRY(Request request, parse(point));
  return resolve_in_modules(world, request.part, [&](debuginfo::Module& module) { return resolve_in(world, request, module); });
}

}  // namespace

extern const Family process_mark_family = {
    "process", takes, resolve, components, {".mark(string)", ".provider(string).mark(string)"}};

}  // namespace spile::probes
