// bind-targets: from drafts to probes. At every point, finds where the $variables of the body are; points where all of
// them are in the same places, and all @defined have the same answers, share one Probe. A point's body is what remains
// after its @defined are answered and the branches not taken removed, so these may name variables that aren't there.
// Where a probe would get more handlers than MAXOWNHANDLERS that way, its further points share handlers that differ in shape
// only: the places of their variables, and the names in $$vars, are rows of tables (sema/targets/point_tables.h).
//
// In a .return probe $variables but $return are moved to the function's entry: saved there, found again as EntryValues.

#include <fmt/format.h>

#include <algorithm>

#include "abi/machine.h"
#include "abi/point_tables.h"
#include "sema/targets/function_targets.h"
#include "sema/targets/point_tables.h"
#include "sema/terms/elaboration.h"
#include "sema/terms/enum_names.h"
#include "sema/terms/fold.h"
#include "sema/terms/intrinsics.h"
#include "sema/terms/target_texts.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

// The properties that the points of one draft share once they are bound.
struct Bound {
  std::unique_ptr<Block> body;
  ExpressionPtr condition;
  std::vector<Binding> bindings;
  std::vector<PointSlot> slots;  // of the point's table; empty: it has none
  std::vector<ExpressionPtr> entry_saves;
  uint8_t returned_bytes = 8;  // as Probe::returned_bytes
  bool returned_signed = false;
};

// A problem with one $variable, reported once for all points of the draft that have it.
struct Problem {
  SourceRange range;
  std::string message;
  std::string hint;
  size_t points = 0;
};

// Stands for whether the point's function was called by Site::callers. No script can have this name.
constexpr const char* kCalledFrom = "$(called_from)";

// Stands for whether the value at the function's entry is known by which the variable behind it is computed.
constexpr std::string_view kEntryKnown = "$(entry_known)";

// Turns the place of a variable into that question; returns no question if the place does not depend on one.
std::optional<Binding> entry_known(const Binding& binding) {
  auto value = std::ranges::find_if(binding.ops, location::is<location::EntryValue>);
  if (value == binding.ops.end()) return std::nullopt;
  Binding known;
  known.ops.assign(binding.ops.begin(), value);
  const auto& asked = std::get<location::EntryValue>(*value);
  known.ops.emplace_back(location::EntryKnown{asked.number, asked.function});
  return known;
}

// Whether reading the value may be a script error.
bool can_fail(const Binding& binding) {
  return binding.type == ValueType::kString || std::ranges::any_of(binding.ops, location::can_fail);
}

bool is_target(const Expression& e) {
  return e.kind == ExpressionKind::kTargetVariable || e.kind == ExpressionKind::kAtOperation;
}

// Binds one body at one point. with_table: places that may be rows of a table become that.
class Binder {
 public:
  Binder(Elaboration& e, const ResolvedPoint& point, bool with_table, std::vector<Problem>& problems)
      : e_(e),
        point_(point),
        with_table_(with_table),
        problems_(problems),
        is_return_(point.kind == ProbeKind::kFunctionReturn) {}

  Bound bind(const Draft& draft) {
    StatementPtr body = clone(*draft.body);
    if (draft.condition) bound_.condition = clone(*draft.condition);
    if (point_.site.callers) ask_callers(draft.range);
    if (e_.asks_returned && is_return_) note_returned();
    answer_defined(body);
    note_writes(*body, draft.handler);
    visit(*body);
    if (bound_.condition) visit(bound_.condition);
    bound_.body.reset(static_cast<Block*>(body.release()));
    bound_.slots = table_.take_slots();
    return std::move(bound_);
  }

  // Equal for points that can share a Probe: every answer that binding depended on, in order.
  const std::string& signature() const { return signature_; }

 private:
  void ask_callers(SourceRange range) {
    auto called = std::make_unique<TargetVariable>(range);
    called->name = kCalledFrom;
    ExpressionPtr whole = std::move(called);
    if (bound_.condition) {
      auto both = std::make_unique<Logical>(range);
      both->is_and = true;
      both->left = std::move(whole);
      both->right = std::move(bound_.condition);
      whole = std::move(both);
    }
    bound_.condition = std::move(whole);
  }

  // The value of returnval(): the bits of the register that the function's type has.
  void note_returned() {
    TargetVariable result(SourceRange{});
    result.name = "$return";
    Result<Binding> binding = e_.target.bind(point_, false, result);
    if (!binding.ok() || binding->ops.size() != 2 || binding->ops[0] != location::Operation(location::Register{0})) return;
    const auto* part = std::get_if<location::Convert>(&binding->ops[1]);
    if (!part) return;
    bound_.returned_bytes = part->bytes;
    bound_.returned_signed = part->is_signed;
    signature_ += fmt::format("r{}{}", bound_.returned_bytes, int{bound_.returned_signed});
  }

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
      bool at_entry = !(is_return_ && is_read_at_return(x));
      all &= (info(point_.kind).has_variables() || x.kind == ExpressionKind::kAtOperation) && ask(x, at_entry).ok();
    });
    signature_ += all ? 'y' : 'n';
    return all;
  }

  Result<Binding> ask(const Expression& x, bool at_entry) {
    if (auto* variable = as<TargetVariable>(x)) {
      if (is_summary(*variable)) return Binding{};
      if (variable->name == kCalledFrom) return Binding{.ops = {location::CalledFrom{}}};
      if (variable->name.starts_with(kEntryKnown)) return ask_known(*variable, at_entry);
      return e_.target.bind(point_, at_entry, *variable);
    }
    auto& operation = static_cast<const AtOperation&>(x);
    return info(point_.kind).has_variables() ? e_.target.bind(point_, at_entry, operation)
                                             : e_.target.bind_without_point(operation);
  }

  Result<Binding> ask_known(const TargetVariable& question, bool at_entry) {
    ExpressionPtr copy = clone(question);
    auto& variable = static_cast<TargetVariable&>(*copy);
    variable.name.erase(0, kEntryKnown.size());
    TRY(Binding binding, e_.target.bind(point_, at_entry, variable));
    auto known = entry_known(binding);
    if (!known) return Error{"'" + variable.name + "' is not a value of the function's entry", ""};
    return *known;
  }

  // Of a variable of $$vars, with `path` behind it: the question whether its value is known; null: it always is.
  ExpressionPtr entry_question(const TargetVariable& variable, const std::vector<PathStep>& path, bool at_entry) {
    ExpressionPtr copy = reached_from(variable, path);
    auto& question = static_cast<TargetVariable&>(*copy);
    Result<Binding> binding = e_.target.bind(point_, at_entry, question);
    if (!binding.ok() || !entry_known(*binding)) return nullptr;
    question.name.insert(0, kEntryKnown);
    return copy;
  }

  // --skip-badvars: names that no variable here has.
  bool is_bad(const Expression& x) {
    if (!info(point_.kind).has_variables()) return x.kind == ExpressionKind::kTargetVariable;
    return !ask(x, !is_return_ || in_save_).ok();
  }

  bool is_return_value(const Expression& x) const {
    auto* variable = as<TargetVariable>(x);
    if (!variable) return false;
    const bool is_question = variable->name.starts_with(kEntryKnown);
    return point_.site.result_number(is_question ? variable->name.substr(kEntryKnown.size()) : variable->name) >= 0;
  }

  // The variables of the function no longer exist then. The memory that @var, @cast and @uderef read does: it is read at the
  // return.
  bool is_read_at_return(const Expression& x) const {
    const auto* operation = as<AtOperation>(x);
    if (operation && operation->name == "@var" && e_.program.var_at_entry && e_.is_user_text(x.range)) return false;
    return operation || is_return_value(x);
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
    if (auto* variable = as<TargetVariable>(slot); variable && is_summary(*variable)) {
      expand_all(slot);
      return;
    }
    if (fold_probewrite(slot) || fold_size(slot) || fold_constant_of_c(e_, slot) || expand_pretty(slot) || name_constant(slot))
      return;
    if (is_target(*slot)) {
      if (is_return_ && !in_save_ && !is_read_at_return(*slot)) {
        save_at_entry(slot, std::move(slot), false);
        return;
      }
      if (e_.program.skip_bad_variables && is_bad(*slot)) {
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
    if (!e_.program.guru && e_.is_user_text(target->range)) {
      problem(*target, "writing to variables of the traced program needs guru mode", "run spile with -g");
    } else if (is_return_ && is_target(*target) && !is_read_at_return(*target)) {
      problem(*target, "'" + to_source(*target) + "' can't be written to: it is gone when the function returns", {});
    } else {
      return false;
    }
    return true;
  }

  // @probewrite($x): whether this probe's own body writes to it.
  bool fold_probewrite(ExpressionPtr& slot) {
    auto* operation = as<AtOperation>(slot);
    if (!operation || operation->name != "@probewrite" || operation->arguments.size() != 1) return false;
    bool written = std::find(written_.begin(), written_.end(), to_source(*operation->arguments[0])) != written_.end();
    slot = std::make_unique<Number>(slot->range, written);
    return true;
  }

  void note_writes(const Statement& body, const SourceRange& handler) {
    for_each_expression(body, [&](const Expression& x) {
      if (x.range.file != handler.file || x.range.begin < handler.begin || x.range.begin >= handler.end) return;
      if (auto* assignment = as<Assignment>(x)) written_.push_back(to_source(*assignment->target));
      if (auto* increment = as<Increment>(x)) written_.push_back(to_source(*increment->operand));
    });
  }

  // @sizeof("type") or @sizeof($x): a number, whether or not the variable can be read here. @const("NAME"): another.
  bool fold_size(ExpressionPtr& slot) {
    auto* operation = as<AtOperation>(slot);
    if (!operation || (operation->name != "@sizeof" && operation->name != "@const")) return false;
    Result<Binding> size = ask(*operation, !is_return_ || in_save_ || !is_read_at_return(*operation->arguments[0]));
    if (!size.ok()) {
      problem(*slot, size.error().message, size.error().hint);
      return true;
    }
    sign(*size);
    slot = std::make_unique<Number>(slot->range, std::get<location::Constant>(size->ops.front()).value);
    return true;
  }

  // $x$, $x->y$$, @cast(...)->z$: a sprintf of the members.
  bool expand_pretty(ExpressionPtr& slot) {
    auto* variable = as<TargetVariable>(slot);
    auto* operation = as<AtOperation>(slot);
    const std::vector<PathStep>* path = variable ? &variable->path : operation ? &operation->path : nullptr;
    if (!path || !is_pretty(*path)) return false;
    if (!info(point_.kind).has_variables() && variable) {
      problem(*slot, fmt::format("{} probe has no variables of a traced program", info(point_.kind).article), {});
      return true;
    }
    bool deep = path->back().kind == PathStep::Kind::kPrettyDeep;
    bool at_entry = !is_return_ || in_save_ || !is_read_at_return(*slot);
    ExpressionPtr base = without_pretty(*slot);
    auto parts = e_.target.pretty(point_, at_entry, *base, deep);
    if (!parts.ok()) {
      problem(*slot, parts.error().message, parts.error().hint);
      return true;
    }
    for (const PrettyPart& part : *parts) sign(part);
    const bool is_saved = is_return_ && !in_save_ && !is_read_at_return(*slot);
    slot = sprintf_of(*base, *parts, point_.domain, e_.program.limits);
    if (is_saved) save_at_entry(slot, std::move(slot), false);
    else for_each_inner_slot(*slot, [&](ExpressionPtr& child) { visit(child); });
    return true;
  }

  // @enumname(value, "type"): a call.
  bool name_constant(ExpressionPtr& slot) {
    auto* operation = as<AtOperation>(slot);
    const bool at_entry =
        !is_return_ || in_save_ || !operation || operation->arguments.empty() || !is_read_at_return(*operation->arguments[0]);
    auto named = expand_enum_name(e_, info(point_.kind).has_variables() ? &point_ : nullptr, at_entry, slot);
    if (!named.ok()) problem(*slot, named.error().message, named.error().hint);
    if (!named.ok() || !*named) return !named.ok();
    signature_ += as<Call>(slot)->name;
    for_each_inner_slot(*slot, [&](ExpressionPtr& child) { visit(child); });
    return true;
  }

  void sign(const PrettyPart& part) {
    signature_ += part.literal + part.plan;
    signature_ += static_cast<char>('0' + part.words);
    for (const PathStep& step : part.path) signature_ += fmt::format("/{}{}", step.name, step.number);
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
      problem(*operand, "@entry can't contain another @entry", {});
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

  static bool names_set(std::string_view name) {
    return name == "$$vars" || name == "$$parms" || name == "$$locals" || name == "$$return";
  }

  // Whether it stands for several variables, or for a fact of the point ($$name). Some compilers have a dollar in names of
  // variables: the length of an open array V is $highV in Pascal, which a script writes as $$highV.
  bool is_summary(const TargetVariable& variable) {
    if (!variable.name.starts_with("$$")) return false;
    if (names_set(variable.name)) return true;
    const std::vector<std::string> names = e_.target.variables(point_, "$$vars");
    return std::ranges::find(names, variable.name) == names.end();
  }

  // $$vars, $$parms, $$locals, $$return: "a=0x1 b=0x2", as a sprintf.
  void expand_all(ExpressionPtr& slot) {
    auto& all = static_cast<TargetVariable&>(*slot);
    if (!info(point_.kind).has_variables()) {
      problem(all, fmt::format("{} probe has no variables of a traced program", info(point_.kind).article), {});
      return;
    }
    // One handler is for all tracepoints that a pattern stands for.
    if (all.name == "$$name" && point_.kind == ProbeKind::kTracepoint) {
      slot = std::make_unique<Call>(all.range, "__tracepoint");
      return;
    }
    if (!names_set(all.name)) {
      Result<std::string> text = e_.target.constant_text(point_, all.name);
      if (!text.ok()) return problem(all, text.error().message, text.error().hint);
      signature_ += '"' + *text + '"';
      slot = std::make_unique<String>(all.range, *text);
      return;
    }
    if (!e_.target.knows_variables(point_)) warn_unknown(all);
    if (with_table_ && !is_pretty(all.path) && expand_by_table(slot)) return;
    auto print = empty_sprintf(all.range);
    bool is_saving = is_return_ && !in_save_;  // until the result, which comes last
    for (const std::string& name : e_.target.variables(point_, all.name)) {
      const bool is_result = point_.site.result_number(name) >= 0;
      if (in_save_ && is_result) continue;  // @entry($$vars): the function has not returned yet
      if (is_result && is_saving) {
        save_text(print);
        is_saving = false;
      }
      signature_ += name + ";";
      append_literal(*print, (print->parts.empty() ? "" : " ") + shown_name(name.substr(1)) + "=");
      if (names_set(name)) {
        append_literal(*print, "?");
        continue;
      }
      auto variable = std::make_unique<TargetVariable>(all.range);
      variable->name = name;
      add_value(*print, std::move(variable), all);
    }
    if (is_saving) save_text(print);
    slot = std::move(print);
    for_each_inner_slot(*slot, [&](ExpressionPtr& child) { visit(child); });
  }

  // The same by a list in the point's table. False: it can't have some place.
  bool expand_by_table(ExpressionPtr& slot) {
    auto& all = static_cast<TargetVariable&>(*slot);
    PointSlot list;
    std::vector<std::string> results;
    for (const std::string& name : e_.target.variables(point_, all.name)) {
      if (point_.site.result_number(name) >= 0) {
        results.push_back(name);
        continue;
      }
      auto& listed = list.emplace_back(PointVariable{.text = (list.empty() ? "" : " ") + name.substr(1) + "=", .ops = {}});
      if (names_set(name)) continue;
      TargetVariable variable(all.range);
      variable.name = name;
      Result<Binding> binding = ask(variable, true);
      if (!binding.ok()) continue;
      if (!fits_table(*binding)) return false;
      listed.ops = std::move(binding->ops);
      listed.type = binding->type;
      listed.string_limit = binding->string_limit;
    }
    if (list.size() > abi::kMostListEntries) return false;
    if (in_save_) results.clear();  // the function has not returned yet
    if (list.empty()) return false;
    if (is_return_ && !in_save_) {
      auto print = empty_sprintf(all.range);
      ExpressionPtr text = std::move(slot);
      const auto& whole = static_cast<TargetVariable&>(*text);
      auto copy = clone(whole);
      save_at_entry(text, std::move(text), false);
      append_string(*print, std::move(text));
      for (const std::string& name : results) {
        signature_ += name + ";";
        append_literal(*print, " " + name.substr(1) + "=");
        auto variable = std::make_unique<TargetVariable>(copy->range);
        variable->name = name;
        add_value(*print, std::move(variable), static_cast<TargetVariable&>(*copy));
      }
      slot = std::move(print);
      for_each_inner_slot(*slot, [&](ExpressionPtr& child) {
        if (child->kind != ExpressionKind::kEntryValue) visit(child);
      });
      return true;
    }
    all.binding = add_binding(table_.add_list(std::move(list)));
    return true;
  }

  // Makes what a sprintf holds so far a string that is saved at the function's entry, if reading it there can fail: else
  // its numbers are saved.
  void save_text(std::unique_ptr<Print>& print) {
    auto can_fail = [](const ExpressionPtr& argument) {
      return argument->kind == ExpressionKind::kTernary || argument->kind == ExpressionKind::kPrint;
    };
    if (std::none_of(print->arguments.begin(), print->arguments.end(), can_fail)) return;
    SourceRange range = print->range;
    ExpressionPtr text = std::move(print);
    save_at_entry(text, std::move(text), false);
    print = empty_sprintf(range);
    append_string(*print, std::move(text));
  }

  // One variable of $$vars: its value, its members where $$vars$ asks for them, or "?" where it isn't known here.
  void add_value(Print& print, std::unique_ptr<TargetVariable> variable, const TargetVariable& all) {
    bool at_entry = !(is_return_ && is_return_value(*variable));
    if (!is_pretty(all.path)) return add_number_or_string(print, std::move(variable), at_entry);
    bool deep = all.path.back().kind == PathStep::Kind::kPrettyDeep;
    auto parts = e_.target.pretty(point_, at_entry, *variable, deep);
    if (!parts.ok()) return append_literal(print, "?");
    for (const PrettyPart& part : *parts) sign(part);
    ExpressionPtr question;
    for (const PrettyPart& part : *parts) {
      if (!question && part.has_value) question = entry_question(*variable, part.path, at_entry);
    }
    ExpressionPtr value = sprintf_of(*variable, *parts, point_.domain, e_.program.limits);
    if (question) value = if_known(std::move(question), std::move(value));
    append_string(print, std::move(value));
  }

  // "?" where the value that it depends on is not known at run time.
  ExpressionPtr if_known(ExpressionPtr question, ExpressionPtr value) {
    auto choice = std::make_unique<Ternary>(value->range);
    choice->if_false = std::make_unique<String>(value->range, "?");
    choice->condition = std::move(question);
    choice->if_true = std::move(value);
    return choice;
  }

  void add_number_or_string(Print& print, std::unique_ptr<TargetVariable> variable, bool at_entry) {
    Result<Binding> binding = ask(*variable, at_entry);
    if (!binding.ok()) return append_literal(print, "?");
    bool is_string = binding->type == ValueType::kString;
    FormatPart part;
    part.kind = is_string ? FormatPart::Kind::kString : FormatPart::Kind::kHex;
    part.alternate = !is_string;
    bool guarded = can_fail(*binding);
    std::unique_ptr<Print> inner = guarded ? empty_sprintf(variable->range) : nullptr;
    Print& into = guarded ? *inner : print;
    if (is_string) append_literal(into, "\"");
    into.parts.push_back(part);
    into.format += is_string ? "%s" : "%#x";
    into.arguments.push_back(std::move(variable));
    if (is_string) append_literal(into, "\"");
    if (!guarded) return;
    inner->if_unreadable = "?";
    append_string(print, std::move(inner));
  }

  void bind_node(Expression& x) {
    if (!info(point_.kind).has_variables() && x.kind == ExpressionKind::kTargetVariable) {
      problem(x, fmt::format("{} probe has no variables of a traced program", info(point_.kind).article), {});
      return;
    }
    Result<Binding> binding = ask(x, !is_return_ || in_save_);
    if (!binding.ok()) {
      problem(x, binding.error().message, binding.error().hint);
      return;
    }
    if (info(point_.kind).reads_late) warn_late(x, *binding);
    // a result in memory: no row can say so
    const bool is_where_wanted = is_return_ && !in_save_ && std::ranges::any_of(binding->ops, location::is<location::EntryValue>);
    if (with_table_ && !is_where_wanted && fits_table(*binding)) binding = table_.add_value(std::move(*binding));
    const int index = add_binding(std::move(*binding));
    if (auto* variable = as<TargetVariable>(x)) variable->binding = index;
    if (auto* operation = as<AtOperation>(x)) operation->binding = index;
  }

  // Returns the index of the binding in the body's.
  int add_binding(Binding binding) {
    auto& all = bound_.bindings;
    auto known = std::find(all.begin(), all.end(), binding);
    int index = static_cast<int>(known - all.begin());
    if (known == all.end()) {
      sign(binding);
      all.push_back(std::move(binding));
    }
    signature_ += fmt::format("#{}", index);
    return index;
  }

  // Accesses are read from a ring, with their registers and stack; other memory may have changed by then.
  void warn_late(const Expression& x, const Binding& binding) {
    if (std::ranges::none_of(binding.ops, location::is<location::Deref>)) return;
    e_.diagnostics.warning(x.range, "the value is read some time after the access, when it may have changed again")
        .hint(fmt::format("registers and stacks are those of the access: print_ubacktrace(), register(\"{}\")",
                          abi::register_name(0)));
  }

  // $$vars of a function without debug information: an empty string would say that the function has no variables.
  void warn_unknown(const TargetVariable& all) {
    const std::string instead = all.name == "$$return" ? "use returnval()" : "use int_arg(1), pointer_arg(2) ...";
    if (point_.site.module.empty()) {
      e_.diagnostics.warning(all.range, fmt::format("'{}' is empty at {}, which may be any file's", all.name, point_.text))
          .hint(instead);
      return;
    }
    const Error why = e_.target.needs_debug_info(
        point_, fmt::format("'{}' is empty in functions of {}, which has no debug information", all.name, point_.site.module),
        instead);
    e_.diagnostics.warning(all.range, why.message).hint(why.hint);
  }

  void sign(const Binding& binding) {
    signature_ += fmt::format("[{}{}{}{}", static_cast<int>(binding.type), int{binding.reads_kernel_memory},
                              int{binding.string_in_context}, binding.string_limit);
    if (binding.by_point != Binding::ByPoint::kNo)
      signature_ += fmt::format("@{}{}", static_cast<int>(binding.by_point), binding.slot);
    if (e_.has_dereferences) signature_ += binding.target_type.module + "@" + binding.target_type.key;
    // Which function it is about goes by its module.
    if (entry_known(binding)) signature_ += point_.site.module;
    signature_ += ' ' + location::to_string(binding.ops);
    signature_ += binding.other_module + ']';
  }

  void problem(const Expression& where, std::string message, std::string hint) {
    signature_ += '!';
    auto known = std::find_if(problems_.begin(), problems_.end(), [&](const Problem& p) {
      return p.range.file == where.range.file && p.range.begin == where.range.begin && p.range.end == where.range.end;
    });
    if (known != problems_.end()) {
      ++known->points;
    } else {
      auto* variable = as<TargetVariable>(where);
      std::string elsewhere =
          variable && info(point_.kind).has_variables() ? e_.target.where_readable(point_, *variable) : std::string();
      problems_.push_back({where.range, std::move(message), elsewhere.empty() ? std::move(hint) : std::move(elsewhere), 1});
    }
  }

  Elaboration& e_;
  const ResolvedPoint& point_;
  const bool with_table_;
  PointTable table_;
  std::vector<Problem>& problems_;
  bool is_return_;
  bool in_save_ = false;
  Bound bound_;
  std::vector<std::string> written_;  // source texts of the targets of the body's assignments
  std::vector<std::string> saved_;    // source text of entry_saves; "" for explicit ones
  std::string signature_;
};

// Whether some text may need the types of what $variables point to.
bool any_dereference(const Elaboration& e) {
  bool any = false;
  auto look = [&](const Statement& s) {
    for_each_expression(s, [&](const Expression& x) { any |= x.kind == ExpressionKind::kDereference; });
  };
  for (const Draft& draft : e.drafts) look(*draft.body);
  for (const Script& script : e.program.scripts) {
    for (const auto& function : script.functions) {
      if (function->body) look(*function->body);
    }
  }
  return any;
}

// Calls look(const Expression&) for the code of all probes, their conditions, and all functions.
template <typename Look>
void look_at_all_code(const Elaboration& e, Look look) {
  for (const Draft& draft : e.drafts) {
    for_each_expression(static_cast<const Statement&>(*draft.body), look);
    if (draft.condition) for_each_expression(static_cast<const Expression&>(*draft.condition), look);
  }
  for (const Script& script : e.program.scripts) {
    for (const auto& function : script.functions) {
      if (function->body) for_each_expression(static_cast<const Statement&>(*function->body), look);
    }
  }
}

// Whether some text may call returnval().
bool any_returned(const Elaboration& e) {
  bool any = false;
  look_at_all_code(e, [&](const Expression& x) {
    auto* call = as<Call>(x);
    any |= call && call->name == "returnval";
  });
  return any;
}

// Whether some text may ask which point was hit: pp(), probefunc() and the like.
bool any_site_question(const Elaboration& e) {
  bool any = false;
  look_at_all_code(e, [&](const Expression& x) {
    auto* call = as<Call>(x);
    const int intrinsic = call ? find_intrinsic(call->name) : -1;
    auto* variable = as<TargetVariable>(x);
    any |= variable && variable->name == "$$name";
    any |= intrinsic >= 0 && (intrinsics()[static_cast<size_t>(intrinsic)].needs & kNeedsSite);
  });
  return any;
}

bool asks_target(const Draft& draft) {
  bool asks = false;
  auto look = [&](const Expression& x) {
    asks |= is_target(x) || x.kind == ExpressionKind::kDefined || x.kind == ExpressionKind::kEntry;
  };
  for_each_expression(static_cast<const Statement&>(*draft.body), look);
  if (draft.condition) for_each_expression(static_cast<const Expression&>(*draft.condition), look);
  return asks;
}

// The $variables that a draft reads; those that it only asks about (@defined) are left out.
std::vector<const TargetVariable*> variables_read(const Draft& draft) {
  std::vector<const TargetVariable*> read, asked;
  auto add = [](std::vector<const TargetVariable*>& to) {
    return [&to](const Expression& x) {
      if (auto* variable = as<TargetVariable>(x)) to.push_back(variable);
    };
  };
  auto look = [&](const Expression& x) {
    add(read)(x);
    if (auto* defined = as<Defined>(x)) for_each_expression(static_cast<const Expression&>(*defined->operand), add(asked));
    auto* choice = as<AtOperation>(x);
    if (choice && choice->name == "@choose_defined" && !choice->arguments.empty())
      for_each_expression(static_cast<const Expression&>(*choice->arguments[0]), add(asked));
  };
  for_each_expression(static_cast<const Statement&>(*draft.body), look);
  if (draft.condition) for_each_expression(static_cast<const Expression&>(*draft.condition), look);
  std::erase_if(read, [&](const TargetVariable* variable) { return std::ranges::find(asked, variable) != asked.end(); });
  return read;
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
  if (!bound.slots.empty()) probe.tables.push_back(std::move(bound.slots));
  probe.entry_saves = std::move(bound.entry_saves);
  probe.returned_bytes = bound.returned_bytes;
  probe.returned_signed = bound.returned_signed;
  e.program.probes.push_back(std::move(probe));
}

bool is_system_call(const ResolvedPoint& point) { return point.domain == Domain::kController && is_system_call(point.kind); }

// Handlers in the kernel have memory of their own.
bool calls_fit_into_targets(const Elaboration& e) {
  for (const Draft& draft : e.drafts) {
    for (const ResolvedPoint& point : draft.points) {
      if (point.domain == Domain::kKernel) return false;
    }
  }
  return true;
}

void add_call_in_target(Elaboration& e, const Draft& draft, ResolvedPoint point) {
  point.domain = Domain::kTarget;
  point.site.module.clear();
  // One place for all calls, and one for all returns.
  point.site.address = FileAddress(point.kind == ProbeKind::kSystemCall ? 1 : 2);
  std::vector<Problem> told_already;
  Bound bound = Binder(e, point, false, told_already).bind(draft);
  add_probe(e, draft, std::move(point), std::move(bound));
}

// Controller probes keep one point each: begin(1) and begin(2), timers of different periods, are run one by one. So do programs
// at hooks of netfilter, which can't ask for a cookie (bpf_get_attach_cookie). Handlers of calls of one name find their point by
// the call's number.
bool keeps_one_point(const ResolvedPoint& point) {
  if (point.kind == ProbeKind::kPacket) return true;
  return point.domain == Domain::kController && !(is_system_call(point) && point.site.system_call >= 0);
}

// Gives one more point to a probe, and to its twin in the processes. slots: of its table, where the probe has tables.
void add_point(Elaboration& e, size_t probe, ResolvedPoint point, std::vector<PointSlot> slots) {
  if (e.calls_in_targets && is_system_call(point)) {
    CHECK(probe > 0 && e.program.probes[probe - 1].kind == point.kind);
    ResolvedPoint in_target = point;
    in_target.domain = Domain::kTarget;
    in_target.site = e.program.probes[probe - 1].points.front().site;
    in_target.site.system_call = point.site.system_call;
    e.program.probes[probe - 1].points.push_back(std::move(in_target));
  }
  e.program.probes[probe].points.push_back(std::move(point));
  if (!e.program.probes[probe].tables.empty()) e.program.probes[probe].tables.push_back(std::move(slots));
}

void bind_draft(Elaboration& e, Draft& draft) {
  bool depends_on_point =
      asks_target(draft) || e.asks_returned ||
      std::any_of(draft.points.begin(), draft.points.end(), [](const ResolvedPoint& point) { return point.site.callers; });
  std::vector<Problem> problems;
  std::unordered_map<std::string, size_t> by_signature;  // to the index of a probe
  const std::vector<const TargetVariable*> read = variables_read(draft);
  const bool may_share = depends_on_point && may_use_tables(draft, e.program);
  // One for the kernel takes some 60 ms to compile, one for a process less than 1 ms.
  constexpr size_t kFewerInKernel = 8;
  const bool in_kernel = !draft.points.empty() && draft.points.front().domain == Domain::kKernel;
  const size_t most_own = static_cast<size_t>(e.program.limits.max_own_handlers) / (in_kernel ? kFewerInKernel : 1);
  // Handlers know their point by the place. Where several points are at one, as of calls that are inlined into each other,
  // each has a handler of its own, if that asks for the point.
  std::unordered_map<std::string, std::unordered_map<uint64_t, int>> at_place;  // points so far, by module and address
  const bool counts_places = may_share || e.asks_site;
  for (ResolvedPoint& point : draft.points) {
    if (info(point.kind).variables == Variables::kRecord && !read.empty()) e.target.choose_variables(point, read);
    const bool single = keeps_one_point(point);
    // Which points have handlers of their own, besides what these read.
    std::string key = fmt::format("{}/{}/{}/{}/", static_cast<int>(point.kind), static_cast<int>(point.domain),
                                  int{point.site.by_arguments}, int{is_system_call(point.kind) && point.site.system_call >= 0});
    const bool with_table = may_share && by_signature.size() >= most_own;
    if (counts_places && point.domain == Domain::kTarget && !is_system_call(point.kind)) {
      const int before = at_place[point.site.module][point.site.address.value]++;
      if (before > 0 && (with_table || e.asks_site)) key += fmt::format("twin{}/", before);
    }
    if (!depends_on_point && !single) {
      auto known = by_signature.find(key);
      if (known != by_signature.end()) {
        add_point(e, known->second, std::move(point), {});
        continue;
      }
    }
    Binder binder(e, point, with_table, problems);
    Bound bound = binder.bind(draft);
    if (depends_on_point) key += binder.signature();
    auto known = by_signature.find(key);
    if (known != by_signature.end() && !single) {
      add_point(e, known->second, std::move(point), std::move(bound.slots));
      continue;
    }
    if (e.calls_in_targets && is_system_call(point)) add_call_in_target(e, draft, point);
    by_signature.emplace(key, e.program.probes.size());
    add_probe(e, draft, std::move(point), std::move(bound));
  }
  for (Problem& problem : problems) {
    if (problem.points > 1) problem.message += fmt::format(" (nor in {} other places of this probe)", problem.points - 1);
    e.diagnostics.error(problem.range, problem.message).hint(problem.hint);
  }
}

}  // namespace

void bind_targets(Elaboration& e) {
  e.has_dereferences = any_dereference(e);
  e.asks_returned = any_returned(e);
  e.asks_site = any_site_question(e);
  e.calls_in_targets = calls_fit_into_targets(e);
  for (Draft& draft : e.drafts) bind_draft(e, draft);
}

}  // namespace spile::sema
