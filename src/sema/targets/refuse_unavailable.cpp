// refuse-unavailable: reports constructs of the grammar that have no lowering, at their places. It checks only code that is
// used: a library may contain anything. The other passes handle all these nodes: to add the lowering of one, remove its line
// here.

#include "sema/terms/elaboration.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

class Refuser {
 public:
  // probe: null for functions
  Refuser(Elaboration& e, const Probe* probe) : e_(e), probe_(probe) {}

  void look(const Statement& s) {
    for_each_expression(s, [&](const Expression& x) { look_one(x); });
  }
  void look(const Expression& x) {
    for_each_expression(x, [&](const Expression& inner) { look_one(inner); });
  }

 private:
  void look_one(const Expression& x) {
    switch (x.kind) {
      case ExpressionKind::kRegex: check_regex(static_cast<const Regex&>(x), e_.diagnostics); return;
      case ExpressionKind::kPerf: look_at_counter(static_cast<const Perf&>(x)); return;
      case ExpressionKind::kTargetVariable:
      case ExpressionKind::kEntry:
      case ExpressionKind::kDefined:
        if (in_probe_) return;
        e_.diagnostics
            .error(x.range,
                   "'" + to_source(x) + "' can't be used in a function: variables of the traced program are only known in probes")
            .hint("pass the value as an argument");
        return;
      default: return;
    }
  }

  void look_at_counter(const Perf& x) {
    if (!e_.program.perf_counters.contains(x.counter)) {
      std::vector<std::string> known;
      for (const auto& [name, event] : e_.program.perf_counters) known.push_back(name);
      std::string near = nearest_name(x.counter, known);
      e_.diagnostics.error(x.range, "unknown perf counter '" + x.counter + "'")
          .hint(near.empty() ? "declare it: probe perf.sw.task_clock.counter(\"" + x.counter + "\") {}"
                             : "did you mean '" + near + "'?");
    } else if (!probe_) {
      e_.diagnostics
          .error(x.range, "'" + to_source(x) + "' can't be used in a function: counters can only be read in probes on processes")
          .hint("pass the value as an argument");
    } else if (probe_->domain != Domain::kTarget) {
      e_.diagnostics.error(
          x.range, "'" + to_source(x) +
                       "' can't be read here: a counter belongs to the probed thread, and this probe does not run in a process");
    }
  }

  Elaboration& e_;
  const Probe* probe_;
  bool in_probe_ = probe_ != nullptr;
};

}  // namespace

void refuse_unavailable(Elaboration& e) {
  for (const Probe& probe : e.program.probes) {
    for (const ResolvedPoint& point : probe.points) {
      if (point.counter.empty()) continue;
      bool added = e.program.perf_counters.emplace(point.counter, point.counter_event).second;
      if (!added) e.diagnostics.error(probe.range, "duplicate perf counter '" + point.counter + "'");
    }
  }
  Refuser in_functions(e, nullptr);
  for (const Probe& probe : e.program.probes) {
    Refuser in_probes(e, &probe);
    in_probes.look(static_cast<const Statement&>(*probe.body));
    if (probe.condition) in_probes.look(*probe.condition);
    for (const ExpressionPtr& save : probe.entry_saves) in_probes.look(*save);
    if (e.diagnostics.has_errors()) return;  // the same body may stand in many probes
  }
  for (const Function* function : e.program.functions) {
    if (function->body) in_functions.look(static_cast<const Statement&>(*function->body));
  }
}

}  // namespace spile::sema
