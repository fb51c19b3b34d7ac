#include "probes/process/code_points.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/diagnostics.h"
#include "syntax/printer.h"

namespace spile::probes {

namespace {

std::string thousands(size_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace

std::string plain_name(const std::string& linkage_name) {
  debuginfo::Function function;
  function.linkage_name = linkage_name;
  return function.name();
}

std::string source_text(const sema::Site& site, const std::string& kind, const std::string& suffix) {
  std::string where = site.line ? fmt::format("@{}:{}", site.source_file, site.line) : "";
  return fmt::format("{}.{}({}){}", head_of(site), kind, syntax::quoted(site.function + where), suffix);
}

sema::ResolvedPoint point_inside(TracedWorld& world, const ProcessPart& part, debuginfo::Module& module,
                                 const debuginfo::CodePlace& place) {
  bool at_entry = place.address == place.function;
  sema::ResolvedPoint point =
      point_at(world, part, module, place.address, at_entry ? sema::ProbeKind::kFunctionEntry : sema::ProbeKind::kStatement);
  sema::Site& site = point.site;
  site.around = place.function;
  site.scope = place.scope;
  site.function = plain_name(place.linkage_name);
  site.source_file = place.source.file;
  site.line = place.source.line;
  if (auto function = module.code_at(place.address)) {
    uint64_t before = place.address.value - function->address.value;
    site.size = function->size > before ? function->size - before : 0;
    // A part of the function that lies elsewhere (.cold) is a function of its own for code that reads instructions.
    if (function->address != place.function && !at_entry) site.around = place.function;
  }
  return point;
}

// Functions whose return must not be diverted: reached without a call, returning twice or on another stack, or finding
// out who called them by their return address.
bool refuses_return(const std::string& name) {
  static const std::vector<std::string> names = {"_start",          "__restore_rt",
                                                 "setjmp",          "_setjmp",
                                                 "__setjmp",        "sigsetjmp",
                                                 "__sigsetjmp",     "vfork",
                                                 "__vfork",         "__libc_vfork",
                                                 "getcontext",      "__getcontext",
                                                 "setcontext",      "__setcontext",
                                                 "swapcontext",     "__swapcontext",
                                                 "__start_context", "clone",
                                                 "__clone",         "clone3",
                                                 "__clone3",        "__clone_internal",
                                                 "dlopen",          "dlsym",
                                                 "dlvsym",          "dlmopen",
                                                 "___dlopen",       "___dlsym",
                                                 "___dlvsym",       "___dlmopen",
                                                 "mcount",          "_mcount",
                                                 "__fentry__",      "__tls_get_addr_slow",
                                                 "__longjmp",       "____longjmp_chk"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

Error is_a_part(debuginfo::Module& module, const debuginfo::Function& part) {
  const std::string whole = plain_name(part.part_of);
  return {fmt::format("'{}' of {} is a part of function '{}', which jumps there: it has no entry and no return of its own",
                      part.linkage_name, module.path(), whole),
          fmt::format("probe function(\"{}\"), or the part's first instruction: process(\"{}\").statement({:#x})", whole,
                      module.path(), part.address.value)};
}

Error no_function(debuginfo::Module& module, const SourceSpec& spec) {
  for (const debuginfo::Function& part : module.parts())
    if (part.linkage_name == spec.name || part.name() == spec.name) return is_a_part(module, part);
  const std::string& truncation = module.truncation();
  if (module.all_functions().empty()) {
    const size_t unnamed = module.function_count();
    return module.needs_debug_info(
        fmt::format("{} has no symbols: its functions are not known{}", module.path(), unnamed ? " by name" : ""),
        unnamed ? fmt::format("choose among its {} functions by address: -l 'process(\"{}\").function(\"0x*\")'",
                              thousands(unnamed), module.path())
                : "use a build that is not stripped");
  }
  const std::vector<std::string> signatures = debuginfo::signatures_of(module, spec.name);
  std::string near = nearest_name(spec.name, signatures);
  if (near.empty() && !signatures.empty()) near = signatures.front();
  if (near.empty()) near = debuginfo::name_with_scopes(module, spec.name);
  if (near.empty()) near = nearest_name(spec.name, module.function_names(spec.name));
  std::string where = spec.file.empty() ? "" : fmt::format(" of file '{}'", spec.file);
  const std::string message = fmt::format("no function '{}'{} in {} ({} functions known)", spec.name, where, module.path(),
                                          thousands(module.function_count()));
  // Of a stripped file only the exported functions have names.
  if (near.empty() && truncation.empty() && !module.has_static_symbols() && !module.has_debug_info())
    return module.needs_debug_info(message, "");
  return {message, !truncation.empty() ? truncation : near.empty() ? "" : fmt::format("did you mean '{}'?", near)};
}

}  // namespace spile::probes
