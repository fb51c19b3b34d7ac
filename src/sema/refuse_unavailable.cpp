// refuse-unavailable: what the grammar has and no lowering exists for, refused by name where it stands. Only what is in
// use is looked at: a library may hold anything. The other passes know all these nodes: who lowers one removes its line
// here.

#include "sema/elaboration.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

class Refuser {
 public:
  Refuser(Elaboration& e, bool in_probe) : e_(e), in_probe_(in_probe) {}

  void look(const Statement& s) {
    for_each_expression(s, [&](const Expression& x) { look_one(x); });
  }
  void look(const Expression& x) {
    for_each_expression(x, [&](const Expression& inner) { look_one(inner); });
  }

 private:
  void look_one(const Expression& x) {
    switch (x.kind) {
      case ExpressionKind::kRegex:
        check_regex(static_cast<const Regex&>(x), e_.diagnostics);
        return;
      case ExpressionKind::kPerf:
        refuse(x.range, "@perf is not available in this version");
        return;
      case ExpressionKind::kTargetVariable:
      case ExpressionKind::kEntry:
      case ExpressionKind::kDefined:
        if (in_probe_) return;
        e_.diagnostics
            .error(x.range,
                   "'" + to_source(x) + "' in a function: variables of the traced program are only known in probes")
            .hint("pass the value as an argument");
        return;
      default:
        return;
    }
  }

  void refuse(const SourceRange& range, const char* message) { e_.diagnostics.error(range, message); }

  Elaboration& e_;
  bool in_probe_;
};

}  // namespace

void refuse_unavailable(Elaboration& e) {
  Refuser in_probes(e, true), in_functions(e, false);
  for (const Probe& probe : e.program.probes) {
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
