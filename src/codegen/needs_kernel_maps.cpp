// Which scripts run over kernel maps (lower_kernel.h) though their kernel has arenas: those with programs that look themselves which of
// their points was hit, as handlers over an arena don't; and those with arrays by thread, which need no lock there, while a map in an arena
// has one lock for all threads; and those on functions of the kernel that may have fentry and fexit, whose programs are lowered over maps only.

#include <algorithm>
#include <set>

#include "codegen/lower_kernel.h"
#include "sema/intrinsics.h"
#include "syntax/visitor.h"

namespace spile::codegen {

namespace {

// Library functions that are the same over maps and over an arena, whose results are never longer than strings over maps.
const std::set<std::string_view> kEverywhere = {
    "pid",  "tid",  "uid",     "gid",   "cpu",   "target",          "execname",        "pp",              "pn",
    "exit", "next", "randint", "error", "warn",  "gettimeofday_ns", "gettimeofday_us", "gettimeofday_ms", "gettimeofday_s",
};

// Whether there are programs for fentry and fexit, which cost less than a kprobe.
bool may_be_traced(const sema::Probe& probe) {
  return !probe.needs_registers &&
         std::ranges::any_of(probe.points, [](const sema::ResolvedPoint& point) { return point.site.kernel && point.site.kernel->description != 0; });
}

// Whether code means the same over maps: a conservative answer.
template <typename Node>
bool is_simple(const Node& node) {
  bool simple = true;
  syntax::for_each_expression(node, [&](const syntax::Expression& e) {
    using Kind = syntax::ExpressionKind;
    if (e.kind == Kind::kRegex || e.kind == Kind::kConcatenation || e.kind == Kind::kEmbedded) simple = false;
    if (const auto* in = syntax::as<syntax::In>(e)) simple &= std::ranges::none_of(in->indexes, [](const auto& index) { return !index; });
    if (const auto* print = syntax::as<syntax::Print>(e)) simple &= print->to_stream;
    if (const auto* call = syntax::as<syntax::Call>(e))
      simple &= call->intrinsic >= 0 && kEverywhere.contains(sema::intrinsics()[static_cast<size_t>(call->intrinsic)].name);
    const auto* variable = syntax::as<syntax::Variable>(e);
    if (variable && variable->global) simple &= !syntax::info(variable->global->array_kind).refused_in_kernel;
  });
  return simple;
}

bool has_simple_statements(const syntax::Statement& s) {
  if (s.kind == syntax::StatementKind::kForeach || s.kind == syntax::StatementKind::kTry || s.kind == syntax::StatementKind::kEmbedded) return false;
  if (const auto* removal = syntax::as<syntax::Delete>(s)) {
    const auto* variable = syntax::as<syntax::Variable>(removal->target);
    if (variable && variable->global && variable->global->is_array) return false;
    const auto* element = syntax::as<syntax::Index>(removal->target);
    if (element && std::ranges::any_of(element->indexes, [](const auto& index) { return !index; })) return false;
  }
  bool simple = true;
  syntax::for_each_statement(s, [&](const syntax::Statement& inner) { simple &= has_simple_statements(inner); });
  return simple;
}

bool is_simple_probe(const sema::Probe& probe) {
  return is_simple(static_cast<const syntax::Statement&>(*probe.body)) && has_simple_statements(*probe.body) &&
         (!probe.condition || is_simple(static_cast<const syntax::Expression&>(*probe.condition)));
}

}  // namespace

bool needs_kernel_maps(const sema::Program& program) {
  bool prefers = std::ranges::find(program.sharing, sema::Sharing::kByThread) != program.sharing.end(), all_simple = true;
  for (const sema::Probe& probe : program.probes) {
    if (probe.domain != sema::Domain::kKernel) continue;
    if (sema::info(probe.kind).source == sema::Source::kWatch) return true;
    prefers |= is_served_by_number(probe) || may_be_traced(probe);
    all_simple &= is_simple_probe(probe);
  }
  return prefers && all_simple;
}

}  // namespace spile::codegen
