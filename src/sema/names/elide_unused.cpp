// elide-unused: removes statements without effect, assignments to variables that are never read, and statements after one that
// leaves. Removed text of the user is reported: by -v, and as a warning if it looks like a mistake.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sema/terms/elaboration.h"
#include "sema/terms/side_effects.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

bool does_nothing(const Statement& s) {
  auto* block = as<Block>(s);
  return s.kind == StatementKind::kNull || (block && std::all_of(block->statements.begin(), block->statements.end(),
                                                                 [](const StatementPtr& inner) { return does_nothing(*inner); }));
}

// An empty body is meant to be so.
bool has_something(const Statement& s) {
  auto* block = as<Block>(s);
  return !block || std::any_of(block->statements.begin(), block->statements.end(),
                               [](const StatementPtr& inner) { return has_something(*inner); });
}

class Elider {
 public:
  explicit Elider(Elaboration& e) : e_(e) {
    for (const LocalTraffic& traffic : e_.local_traffic) {
      if (!traffic.read && traffic.written) never_read_.insert(traffic.local);
    }
  }

  void run() {
    for (Function* function : e_.program.functions) {
      if (!function->body) continue;
      rewrite_statements(function->body, [&](StatementPtr& s) { elide(s); });
      drop_unused(function->locals, locals_in(*function->body));
      if (e_.is_user_text(function->range) && has_something(*function->body) && does_nothing(*function->body)) {
        e_.diagnostics.warning(function->range, fmt::format("side-effect-free function '{}'", function->name));
      }
    }
    for (Probe& probe : e_.program.probes) {
      bool had_something = has_something(*probe.body);
      // A removed statement may have been the last reader of other variables: an alias's argstr reads those with the names of
      // flags.
      do {
        for_each_statement(static_cast<Statement&>(*probe.body),
                           [&](StatementPtr& child) { rewrite_statements(child, [&](StatementPtr& s) { elide(s); }); });
        drop_unreachable(*probe.body);
      } while (finds_unread(probe));
      std::set<const Local*> used = locals_in(*probe.body);
      if (probe.condition) add_locals(*probe.condition, used);
      for (const ExpressionPtr& save : probe.entry_saves) add_locals(*save, used);
      drop_unused(probe.locals, used);
      if (had_something && does_nothing(*probe.body)) warn_probe(probe);
    }
  }

 private:
  // Adds to never_read_ the locals that the probe only assigns to by now; returns whether there are any.
  bool finds_unread(const Probe& probe) {
    std::map<const Local*, int> reads;
    auto look = [&](const Expression& x) {
      auto* variable = as<Variable>(x);
      if (variable && variable->local) ++reads[variable->local];
      auto* assignment = as<Assignment>(x);
      if (!assignment || assignment->op != Assignment::Operator::kSet) return;
      auto* target = as<Variable>(assignment->target);
      if (target && target->local) --reads[target->local];
    };
    for_each_expression(static_cast<const Statement&>(*probe.body), look);
    if (probe.condition) for_each_expression(static_cast<const Expression&>(*probe.condition), look);
    for (const ExpressionPtr& save : probe.entry_saves) for_each_expression(static_cast<const Expression&>(*save), look);
    bool found = false;
    for (auto [local, count] : reads) found |= count == 0 && never_read_.insert(local).second;
    return found;
  }

  void warn_probe(const Probe& probe) {
    const auto& statements = probe.body->statements;
    bool users =
        std::any_of(statements.begin(), statements.end(), [&](const StatementPtr& s) { return e_.is_user_text(s->range); });
    if (!users || !e_.is_user_text(probe.range) || !told_.insert(place_of(probe.range)).second) return;
    std::string name = probe.points.empty() ? std::string() : fmt::format(" '{}'", probe.points.front().name);
    e_.diagnostics.warning(probe.range, fmt::format("side-effect-free probe{}", name));
  }

  void elide(StatementPtr& slot) {
    if (auto* block = as<Block>(slot)) drop_unreachable(*block);
    auto* statement = as<ExpressionStatement>(slot);
    if (!statement) return;
    SourceRange whole = statement->expression->range;
    bool was_assignment = elide_assignment(statement->expression);
    if (was_assignment) e_.note_elided(whole, "assignment");
    if (!effects_.none_in(*statement->expression)) return;
    // warn-unused has reported a dead assignment, as a variable that is never read.
    if (!was_assignment && e_.is_user_text(slot->range) && told_.insert(place_of(slot->range)).second) {
      e_.diagnostics.warning(slot->range, "statement has no effect");
    }
    if (!was_assignment) e_.note_elided(whole, "side-effect-free expression");
    slot = std::make_unique<Null>(slot->range);
  }

  void drop_unreachable(Block& block) {
    auto& statements = block.statements;
    auto last = std::find_if(statements.begin(), statements.end(), [](const StatementPtr& s) { return always_leaves(*s); });
    if (last == statements.end() || ++last == statements.end()) return;
    e_.note_elided((*last)->range, "statement that is never reached");
    statements.erase(last, statements.end());
  }

  // Replaces x = f() by f() if x is never read. True if it has replaced an assignment.
  bool elide_assignment(ExpressionPtr& slot) const {
    auto dead = [&](const ExpressionPtr& target) {
      auto* variable = as<Variable>(target);
      return variable && variable->local && never_read_.count(variable->local) > 0;
    };
    if (auto* increment = as<Increment>(slot); increment && dead(increment->operand)) {
      slot = std::make_unique<Number>(slot->range, 0);
      slot->type = ValueType::kLong;
      return true;
    }
    auto* assignment = as<Assignment>(slot);
    if (!assignment || !dead(assignment->target)) return false;
    // A division by zero is an error that has to stay, also if the dividend was never assigned.
    bool keeps = assignment->op == Assignment::Operator::kArithmetic &&
                 (assignment->arithmetic == Binary::Operator::kDivide || assignment->arithmetic == Binary::Operator::kModulo);
    if (keeps) return false;
    ExpressionPtr value = std::move(assignment->value);
    slot = std::move(value);
    while (elide_assignment(slot)) continue;
    return true;
  }

  static void add_locals(const Expression& x, std::set<const Local*>& used) {
    for_each_expression(x, [&](const Expression& inner) {
      if (auto* variable = as<Variable>(inner); variable && variable->local) used.insert(variable->local);
    });
  }
  static std::set<const Local*> locals_in(const Statement& s) {
    std::set<const Local*> used;
    for_each_expression(s, [&](const Expression& x) {
      if (auto* variable = as<Variable>(x); variable && variable->local) used.insert(variable->local);
    });
    return used;
  }

  static void drop_unused(std::vector<std::unique_ptr<Local>>& locals, const std::set<const Local*>& used) {
    std::erase_if(locals, [&](const auto& local) { return used.count(local.get()) == 0; });
    for (size_t i = 0; i < locals.size(); ++i) locals[i]->index = static_cast<int>(i);
  }

  Elaboration& e_;
  SideEffects effects_;
  std::set<const Local*> never_read_;
  std::set<Place> told_;
};

}  // namespace

void elide_unused(Elaboration& e) { Elider(e).run(); }

}  // namespace spile::sema
