// bind-targets: from drafts to probes. At every point, finds where the $variables of the body are; points where all of
// them are in the same places, and all @defined have the same answers, share one Probe. A point's body is what remains
// after its @defined are answered and the branches not taken removed, so these may name variables that aren't there.
//
// In a .return probe everything but $return is moved to the function's entry: saved there, found again as an
// EntryValue.

#include <fmt/format.h>

#include <algorithm>

#include "sema/elaboration.h"
#include "sema/fold.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

// What the points of one draft have in common once bound.
struct Bound {
  std::unique_ptr<Block> body;
  ExpressionPtr condition;
  std::vector<Binding> bindings;
  std::vector<ExpressionPtr> entry_saves;
};

// A problem with one $variable, told once for all points of the draft that have it.
struct Problem {
  SourceRange range;
  std::string message;
  std::string hint;
  size_t points = 0;
};

// Calls f for the direct slots of a node, and for those of its children that are no slots themselves.
template <typename Node, typename F>
void for_each_inner_slot(Node& node, F&& f) {
  auto each = [&](auto& child) {
    if constexpr (std::is_same_v<decltype(child), ExpressionPtr&>) {
      f(child);
    } else {
      for_each_slot(*child, f);
    }
  };
  if constexpr (std::is_base_of_v<Expression, Node>) {
    walk::expression_children(node, each);
  } else {
    walk::statement_expressions(node, each);
  }
}

bool is_target(const Expression& e) {
  return e.kind == ExpressionKind::kTargetVariable || e.kind == ExpressionKind::kAtOperation;
}

const char* kind_name(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::kBegin:
      return "a begin";
    case ProbeKind::kEnd:
      return "an end";
    case ProbeKind::kError:
      return "an error";
    case ProbeKind::kNever:
      return "a never";
    case ProbeKind::kTimer:
      return "a timer";
    case ProbeKind::kProfile:
      return "a timer.profile";
    default:
      return "this";
  }
}

bool has_variables(ProbeKind kind) {
  return kind == ProbeKind::kFunctionEntry || kind == ProbeKind::kFunctionReturn || kind == ProbeKind::kTracepoint;
}

// Binds one body at one point.
class Binder {
 public:
  Binder(Elaboration& e, const ResolvedPoint& point, std::vector<Problem>& problems)
      : e_(e), point_(point), problems_(problems), is_return_(point.kind == ProbeKind::kFunctionReturn) {}

  Bound bind(const Draft& draft) {
    StatementPtr body = clone(*draft.body);
    if (draft.condition) bound_.condition = clone(*draft.condition);
    answer_defined(body);
    visit(*body);
    if (bound_.condition) visit(bound_.condition);
    bound_.body.reset(static_cast<Block*>(body.release()));
    return std::move(bound_);
  }

  // Equal for points that can share a Probe: every answer that binding depended on, in order.
  const std::string& signature() const { return signature_; }

 private:
  // ---- @defined and @choose_defined
  void answer_defined(StatementPtr& body) {
    bool any = false;
    auto answer = [&](ExpressionPtr& slot) {
      if (auto* defined = as<Defined>(slot)) {
        any = true;
        slot = std::make_unique<Number>(slot->range, binds(*defined->operand));
      } else if (auto* choice = as<AtOperation>(slot);
                 choice && choice->name == "@choose_defined" && choice->arguments.size() == 2) {
        any = true;
        ExpressionPtr chosen = std::move(choice->arguments[binds(*choice->arguments[0]) ? 0 : 1]);
        slot = std::move(chosen);
      }
    };
    rewrite(*body, answer);
    if (bound_.condition) rewrite(bound_.condition, answer);
    if (any) fold(body);
  }

  bool binds(Expression& operand) {
    bool all = true;
    for_each_expression(operand, [&](Expression& x) {
      if (!is_target(x)) return;
      bool at_entry = !(is_return_ && is_return_value(x));
      all &= has_variables(point_.kind) && ask(x, at_entry).ok();
    });
    signature_ += all ? 'y' : 'n';
    return all;
  }

  Result<Binding> ask(const Expression& x, bool at_entry) {
    if (auto* variable = as<TargetVariable>(x)) {
      if (variable->name.starts_with("$$")) return Binding{};
      return e_.target.bind(point_, at_entry, *variable);
    }
    return e_.target.bind(point_, at_entry, static_cast<const AtOperation&>(x));
  }

  static bool is_return_value(const Expression& x) {
    auto* variable = as<TargetVariable>(x);
    return variable && variable->name == "$return";
  }

  // ---- the walk, parents first
  void visit(Statement& s) {
    for_each_inner_slot(s, [&](ExpressionPtr& slot) { visit(slot); });
    for_each_statement(s, [&](StatementPtr& child) { visit(*child); });
  }

  void visit(ExpressionPtr& slot) {
    if (refuse_write(*slot)) return;
    if (auto* entry = as<Entry>(slot)) {
      save_at_entry(slot, std::move(entry->operand), true);
      return;
    }
    if (auto* variable = as<TargetVariable>(slot); variable && variable->name.starts_with("$$")) {
      expand_all(slot);
      return;
    }
    if (is_target(*slot)) {
      if (is_return_ && !in_save_ && !is_return_value(*slot)) {
        if (auto* at = as<AtOperation>(slot); at && at->name == "@cast") {
          // The pointer is what the handler has; only what it points to is looked up, now.
        } else {
          save_at_entry(slot, std::move(slot), false);
          return;
        }
      }
      if (e_.program.skip_bad_variables && has_variables(point_.kind) && !ask(*slot, !is_return_ || in_save_).ok()) {
        signature_ += '0';
        slot = std::make_unique<Number>(slot->range, 0);
        return;
      }
      bind_node(*slot);
    }
    for_each_inner_slot(*slot, [&](ExpressionPtr& child) { visit(child); });
  }

  bool refuse_write(const Expression& x) {
    const Expression* target = nullptr;
    if (auto* assignment = as<Assignment>(x)) target = assignment->target.get();
    if (auto* increment = as<Increment>(x)) target = increment->operand.get();
    if (!target || (!is_target(*target) && target->kind != ExpressionKind::kDereference)) return false;
    if (e_.program.guru) {
      problem(*target, "writing to variables of the traced program is not available in this version", {});
    } else {
      problem(*target, "writing to variables of the traced program needs guru mode", "run spile with -g");
    }
    return true;
  }

  // The value that an expression has when the function is entered: computed there, and here only recalled.
  void save_at_entry(ExpressionPtr& slot, ExpressionPtr operand, bool is_explicit) {
    SourceRange range = operand->range;
    if (!is_return_) {
      problem(*operand, "@entry needs a .return probe", {});
      slot = std::move(operand);
      return;
    }
    if (in_save_) {
      problem(*operand, "@entry in @entry", {});
      slot = std::move(operand);
      return;
    }
    in_save_ = true;
    visit(operand);
    in_save_ = false;
    // The same expression, bound to the same places, needs saving once only. Explicit ones may have side effects.
    std::string key = is_explicit ? std::string() : to_source(*operand);
    int index = static_cast<int>(bound_.entry_saves.size());
    auto known = key.empty() ? saved_.end() : std::find(saved_.begin(), saved_.end(), key);
    if (known != saved_.end()) {
      index = static_cast<int>(known - saved_.begin());
    } else {
      bound_.entry_saves.push_back(std::move(operand));
      saved_.push_back(key);
    }
    slot = std::make_unique<EntryValue>(range, index);
  }

  // $$vars, $$parms, $$locals, $$return: "a=0x1 b=0x2", as a sprintf.
  void expand_all(ExpressionPtr& slot) {
    auto& all = static_cast<TargetVariable&>(*slot);
    if (!has_variables(point_.kind)) {
      problem(all, fmt::format("{} probe has no variables of a traced program", kind_name(point_.kind)), {});
      return;
    }
    if (!all.path.empty()) {
      problem(all, "pretty-printing of structures ('" + all.name + "$') is not available in this version", {});
      return;
    }
    if (all.name != "$$vars" && all.name != "$$parms" && all.name != "$$locals" && all.name != "$$return") {
      problem(all, "unknown set of variables '" + all.name + "'", "there are $$vars, $$parms, $$locals and $$return");
      return;
    }
    auto print = std::make_unique<Print>(all.range);
    print->to_stream = false;
    print->with_format = true;
    print->format_range = all.range;
    for (const std::string& name : e_.target.variables(point_, all.name)) {
      signature_ += name + ";";
      auto variable = std::make_unique<TargetVariable>(all.range);
      variable->name = name;
      std::string label = (print->arguments.empty() && print->parts.empty() ? "" : " ") + name.substr(1) + "=";
      bool at_entry = !(is_return_ && name == "$return");
      Result<Binding> binding = ask(*variable, at_entry);
      bool is_string = binding.ok() && binding->type == ValueType::kString;
      add_literal(*print, label + (!binding.ok() ? "?" : is_string ? "\"" : ""));
      if (!binding.ok()) continue;
      FormatPart part;
      part.kind = is_string ? FormatPart::Kind::kString : FormatPart::Kind::kHex;
      part.alternate = !is_string;
      print->parts.push_back(part);
      print->format += is_string ? "%s" : "%#x";
      if (is_string) add_literal(*print, "\"");
      print->arguments.push_back(std::move(variable));
    }
    slot = std::move(print);
    for_each_inner_slot(*slot, [&](ExpressionPtr& child) { visit(child); });
  }

  static void add_literal(Print& print, const std::string& text) {
    FormatPart part;
    part.literal = text;
    print.parts.push_back(part);
    for (char c : text) print.format += c == '%' ? std::string("%%") : std::string(1, c);
  }

  void bind_node(Expression& x) {
    if (!has_variables(point_.kind)) {
      problem(x, fmt::format("{} probe has no variables of a traced program", kind_name(point_.kind)), {});
      return;
    }
    Result<Binding> binding = ask(x, !is_return_ || in_save_);
    if (!binding.ok()) {
      problem(x, binding.error().message, binding.error().hint);
      return;
    }
    auto& all = bound_.bindings;
    auto known = std::find(all.begin(), all.end(), *binding);
    int index = static_cast<int>(known - all.begin());
    if (known == all.end()) {
      sign(*binding);
      all.push_back(std::move(*binding));
    }
    signature_ += fmt::format("#{}", index);
    if (auto* variable = as<TargetVariable>(x)) variable->binding = index;
    if (auto* operation = as<AtOperation>(x)) operation->binding = index;
  }

  void sign(const Binding& binding) {
    signature_ += fmt::format("[{}{}{}", static_cast<int>(binding.type), int{binding.reads_kernel_memory},
                              int{binding.string_in_context});
    for (const LocationOp& op : binding.ops) {
      signature_ += fmt::format(" {}:{}:{}:{}", static_cast<int>(op.kind), op.value, op.size, int{op.is_signed});
    }
    signature_ += ']';
  }

  void problem(const Expression& where, std::string message, std::string hint) {
    signature_ += '!';
    auto known = std::find_if(problems_.begin(), problems_.end(), [&](const Problem& p) {
      return p.range.file == where.range.file && p.range.begin == where.range.begin && p.range.end == where.range.end;
    });
    if (known != problems_.end()) {
      ++known->points;
    } else {
      problems_.push_back({where.range, std::move(message), std::move(hint), 1});
    }
  }

  Elaboration& e_;
  const ResolvedPoint& point_;
  std::vector<Problem>& problems_;
  bool is_return_;
  bool in_save_ = false;
  Bound bound_;
  std::vector<std::string> saved_;  // source text of entry_saves; "" for explicit ones
  std::string signature_;
};

bool asks_target(const Draft& draft) {
  bool asks = false;
  auto look = [&](const Expression& x) {
    asks |= is_target(x) || x.kind == ExpressionKind::kDefined || x.kind == ExpressionKind::kEntry;
  };
  for_each_expression(static_cast<const Statement&>(*draft.body), look);
  if (draft.condition) for_each_expression(static_cast<const Expression&>(*draft.condition), look);
  return asks;
}

void add_probe(Elaboration& e, const Draft& draft, ResolvedPoint point, Bound bound) {
  Probe probe;
  probe.range = draft.range;
  probe.index = static_cast<int>(e.program.probes.size());
  probe.kind = point.kind;
  probe.domain = point.domain;
  probe.points.push_back(std::move(point));
  probe.body = std::move(bound.body);
  probe.condition = std::move(bound.condition);
  probe.bindings = std::move(bound.bindings);
  probe.entry_saves = std::move(bound.entry_saves);
  e.program.probes.push_back(std::move(probe));
}

void bind_draft(Elaboration& e, Draft& draft) {
  bool depends_on_point = asks_target(draft);
  std::vector<Problem> problems;
  std::unordered_map<std::string, size_t> by_signature;  // to the index of a probe
  for (ResolvedPoint& point : draft.points) {
    // Controller probes keep one point each: begin(1) and begin(2), timers of different periods, are run one by one.
    bool single = point.domain == Domain::kController;
    std::string key = fmt::format("{}/{}/", static_cast<int>(point.kind), static_cast<int>(point.domain));
    if (!depends_on_point && !single) {
      auto known = by_signature.find(key);
      if (known != by_signature.end()) {
        e.program.probes[known->second].points.push_back(std::move(point));
        continue;
      }
    }
    Binder binder(e, point, problems);
    Bound bound = binder.bind(draft);
    if (depends_on_point) key += binder.signature();
    auto known = by_signature.find(key);
    if (known != by_signature.end() && !single) {
      e.program.probes[known->second].points.push_back(std::move(point));
      continue;
    }
    by_signature.emplace(key, e.program.probes.size());
    add_probe(e, draft, std::move(point), std::move(bound));
  }
  for (Problem& problem : problems) {
    if (problem.points > 1)
      problem.message += fmt::format(" (nor in {} other places of this probe)", problem.points - 1);
    e.diagnostics.error(problem.range, problem.message).hint(problem.hint);
  }
}

}  // namespace

void bind_targets(Elaboration& e) {
  for (Draft& draft : e.drafts) bind_draft(e, draft);
}

}  // namespace spile::sema
