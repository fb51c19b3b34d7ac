// warn-unused and elide-unused: variables that are only read or only written are told (most are typing errors), and
// statements without any effect are told and removed. Unused functions and globals of the library are silently not
// there: resolve-symbols only takes what is reached.

#include <fmt/format.h>

#include <algorithm>

#include "sema/elaboration.h"
#include "sema/fold.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

using Place = std::pair<uint32_t, uint32_t>;  // within the user's script
Place place_of(const SourceRange& range) {
  return {range.begin, range.end};
}

void warn_locals(Elaboration& e) {
  // The same body may stand in several probes; a variable is unused where none of them uses it.
  std::map<Place, LocalTraffic> by_place;
  for (const LocalTraffic& traffic : e.local_traffic) {
    if (!e.is_user_text(traffic.first_use) || traffic.is_parameter) continue;
    auto [known, added] = by_place.emplace(place_of(traffic.first_use), traffic);
    known->second.read |= traffic.read;
    known->second.written |= traffic.written;
  }
  for (const auto& [place, traffic] : by_place) {
    const std::string& name = traffic.local->name;
    if (traffic.read && !traffic.written) {
      std::vector<std::string> candidates;
      for (const std::string& other : traffic.alternatives) {
        if (other != name) candidates.push_back(other);
      }
      for (const Global* global : e.program.globals) candidates.push_back(global->name);
      std::string near = nearest_name(name, candidates);
      auto& warning =
          e.diagnostics.warning(traffic.first_use, fmt::format("local variable '{}' is never assigned", name));
      if (!near.empty()) warning.hint(fmt::format("did you mean '{}'?", near));
    } else if (traffic.written && !traffic.read) {
      e.diagnostics.warning(traffic.first_use, fmt::format("local variable '{}' is assigned and never read", name));
    }
  }
}

bool leaves(const Statement& s) {
  return s.kind == StatementKind::kReturn || s.kind == StatementKind::kNext || s.kind == StatementKind::kBreak ||
         s.kind == StatementKind::kContinue;
}

void warn_unreachable(Elaboration& e, const Statement& s, std::set<Place>& told) {
  if (auto* block = as<Block>(s)) {
    const auto& statements = block->statements;
    for (size_t i = 0; i + 1 < statements.size(); ++i) {
      const Statement& dead = *statements[i + 1];
      if (!leaves(*statements[i]) || dead.kind == StatementKind::kNull) continue;
      // An alias's body and its user's are one block, but not one text.
      bool one_text = s.range.file == dead.range.file && statements[i]->range.file == dead.range.file;
      if (one_text && e.is_user_text(dead.range) && told.insert(place_of(dead.range)).second)
        e.diagnostics.warning(dead.range, "statement is never reached");
      break;
    }
  }
  for_each_statement(s, [&](const Statement& child) { warn_unreachable(e, child, told); });
}

void warn_declarations(Elaboration& e, const Script& user) {
  for (const auto& global : user.globals) {
    auto traffic = e.traffic.find(global.get());
    if (traffic == e.traffic.end()) {
      e.diagnostics.warning(global->range, fmt::format("global '{}' is never used", global->name));
    } else if (!traffic->second.written && !global->initial) {
      std::vector<std::string> others;
      for (const auto& other : user.globals) {
        if (other != global) others.push_back(other->name);
      }
      std::string near = nearest_name(global->name, others);
      auto& warning = e.diagnostics.warning(global->range, fmt::format("global '{}' is never assigned", global->name));
      if (!near.empty()) warning.hint(fmt::format("did you mean '{}'?", near));
    }
  }
  for (const auto& function : user.functions) {
    if (function->index < 0)
      e.diagnostics.warning(function->range, fmt::format("function '{}' is never called", function->name));
  }
}

}  // namespace

void warn_unused(Elaboration& e) {
  warn_locals(e);
  std::set<Place> told;
  for (const Probe& probe : e.program.probes) warn_unreachable(e, *probe.body, told);
  for (const Function* function : e.program.functions) {
    if (function->body) warn_unreachable(e, *function->body, told);
  }
  for (const Script& script : e.program.scripts) {
    if (Elaboration::is_user_script(script)) warn_declarations(e, script);
  }
}

namespace {

class Elider {
 public:
  explicit Elider(Elaboration& e) : e_(e) {
    for (const LocalTraffic& traffic : e_.local_traffic) {
      if (!traffic.read && traffic.written) never_read_.insert(traffic.local);
    }
  }

  void run() {
    for (Probe& probe : e_.program.probes) {
      for_each_statement(static_cast<Statement&>(*probe.body),
                         [&](StatementPtr& child) { rewrite_statements(child, [&](StatementPtr& s) { elide(s); }); });
      std::set<const Local*> used = locals_in(*probe.body);
      if (probe.condition) add_locals(*probe.condition, used);
      for (const ExpressionPtr& save : probe.entry_saves) add_locals(*save, used);
      drop_unused(probe.locals, used);
    }
    for (Function* function : e_.program.functions) {
      if (!function->body) continue;
      rewrite_statements(function->body, [&](StatementPtr& s) { elide(s); });
      drop_unused(function->locals, locals_in(*function->body));
    }
  }

 private:
  void elide(StatementPtr& slot) {
    auto* statement = as<ExpressionStatement>(slot);
    if (!statement) return;
    bool was_assignment = elide_assignment(statement->expression);
    if (!is_pure(*statement->expression)) return;
    // A dead assignment has been told as a variable that is never read.
    if (!was_assignment && e_.is_user_text(slot->range) && told_.insert(place_of(slot->range)).second) {
      e_.diagnostics.warning(slot->range, "statement has no effect");
    }
    slot = std::make_unique<Null>(slot->range);
  }

  // x = f() becomes f() where nobody reads x. True where there was an assignment.
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
    // Division of what was never assigned by zero is an error that has to stay.
    bool keeps = assignment->op == Assignment::Operator::kArithmetic &&
                 (assignment->arithmetic == Binary::Operator::kDivide ||
                  assignment->arithmetic == Binary::Operator::kModulo);
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
  std::set<const Local*> never_read_;
  std::set<Place> told_;
};

}  // namespace

void elide_unused(Elaboration& e) {
  Elider(e).run();
}

}  // namespace spile::sema
