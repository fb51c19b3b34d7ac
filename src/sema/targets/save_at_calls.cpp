// save-at-calls: @entry in probes on returns of system calls. A return of a function keeps such values with the call; a system
// call has no place for them, so that they go through an array of the script:
//
//   probe process.syscall("read").return { print(gettimeofday_us() - @entry(gettimeofday_us())) }
//
//   probe process.syscall("read") { values[tid()] = gettimeofday_us() }
//   probe process.syscall("read").return {
//     if (!([tid()] in values)) next        the call began before the probes were armed, as with functions
//     value = values[tid()]
//     delete values[tid()]
//     print(gettimeofday_us() - value)
//   }

#include <fmt/format.h>

#include <algorithm>

#include "sema/terms/elaboration.h"
#include "sema/terms/intrinsics.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

// Calls that threads are in at one time. Threads that end within a call leave a value behind, which is overwritten when there is
// no more room.
constexpr int64_t kThreads = 8192;

constexpr std::string_view kReturn = ".return";

bool at_calls_only(const Draft& draft) {
  return !draft.points.empty() &&
         std::ranges::all_of(draft.points, [](const ResolvedPoint& point) { return point.kind == ProbeKind::kSystemCallReturn; });
}

class Saver {
 public:
  Saver(Elaboration& e, Draft& draft) : e_(e), draft_(draft) {}

  // Returns the probe at the begin of the calls; no value if nothing is to be saved.
  std::optional<Draft> save() {
    if (refuse_nested()) return std::nullopt;
    auto take = [&](ExpressionPtr& slot) {
      if (auto* entry = as<Entry>(slot)) slot = value_of(std::move(entry->operand));
    };
    rewrite(*draft_.body, take);
    if (draft_.condition) rewrite(draft_.condition, take);
    if (arrays_.empty()) return std::nullopt;
    prepend_recall();
    Draft begin;
    begin.range = draft_.range;
    begin.handler = draft_.handler;
    begin.body = std::make_unique<Block>(draft_.range);
    for (size_t i = 0; i < arrays_.size(); ++i) begin.body->statements.push_back(assign(element(i), std::move(operands_[i])));
    for (ResolvedPoint point : draft_.points) {
      point.kind = ProbeKind::kSystemCall;
      if (const size_t at = point.text.rfind(kReturn); at != std::string::npos) point.text.erase(at, kReturn.size());
      begin.points.push_back(std::move(point));
    }
    return begin;
  }

 private:
  bool refuse_nested() {
    bool nested = false;
    auto look = [&](const Expression& x) {
      const auto* entry = as<Entry>(x);
      if (!entry) return;
      for_each_expression(static_cast<const Expression&>(*entry->operand), [&](const Expression& inner) {
        if (inner.kind != ExpressionKind::kEntry) return;
        e_.diagnostics.error(inner.range, "@entry can't contain another @entry");
        nested = true;
      });
    };
    for_each_expression(static_cast<const Statement&>(*draft_.body), look);
    if (draft_.condition) for_each_expression(static_cast<const Expression&>(*draft_.condition), look);
    return nested;
  }

  // Makes an array for a value; returns the local variable that has the value at the return.
  ExpressionPtr value_of(ExpressionPtr operand) {
    const SourceRange range = operand->range;
    auto array = std::make_unique<Global>();
    array->range = range;
    array->name = fmt::format("{}{}", kSavedAtCall, e_.made_arrays++);
    array->is_array = array->declared_array = true;
    array->declared_size = kThreads;
    array->array_kind = ArrayKind::kWrapping;
    array->is_made = true;
    arrays_.push_back(array->name);
    operands_.push_back(std::move(operand));
    const auto script = e_.script_of.find(draft_.range.file);
    e_.program.scripts[script == e_.script_of.end() ? 0 : static_cast<size_t>(script->second)].globals.push_back(
        std::move(array));
    return std::make_unique<Variable>(range, value_name(arrays_.size() - 1));
  }

  std::string value_name(size_t i) const { return arrays_[i] + "_value"; }

  ExpressionPtr thread() const {
    auto call = std::make_unique<Call>(draft_.range, "tid");
    call->intrinsic = find_intrinsic("tid");
    return call;
  }

  ExpressionPtr element(size_t i) const {
    auto index = std::make_unique<Index>(draft_.range);
    index->array = std::make_unique<Variable>(draft_.range, arrays_[i]);
    index->indexes.push_back(thread());
    return index;
  }

  StatementPtr assign(ExpressionPtr target, ExpressionPtr value) const {
    auto assignment = std::make_unique<Assignment>(draft_.range);
    assignment->op = Assignment::Operator::kSet;
    assignment->target = std::move(target);
    assignment->value = std::move(value);
    auto statement = std::make_unique<ExpressionStatement>(draft_.range);
    statement->expression = std::move(assignment);
    return statement;
  }

  void prepend_recall() {
    auto known = std::make_unique<In>(draft_.range);
    known->indexes.push_back(thread());
    known->array = std::make_unique<Variable>(draft_.range, arrays_[0]);
    auto unknown = std::make_unique<Unary>(draft_.range);
    unknown->op = Unary::Operator::kNot;
    unknown->operand = std::move(known);
    auto skip = std::make_unique<If>(draft_.range);
    skip->condition = std::move(unknown);
    skip->then_branch = std::make_unique<Next>(draft_.range);
    std::vector<StatementPtr> recall;
    recall.push_back(std::move(skip));
    for (size_t i = 0; i < arrays_.size(); ++i) {
      recall.push_back(assign(std::make_unique<Variable>(draft_.range, value_name(i)), element(i)));
      auto forget = std::make_unique<Delete>(draft_.range);
      forget->target = element(i);
      recall.push_back(std::move(forget));
    }
    // A condition asks for the values, too: it is asked behind them.
    if (draft_.condition) {
      auto unwanted = std::make_unique<Unary>(draft_.range);
      unwanted->op = Unary::Operator::kNot;
      unwanted->operand = std::move(draft_.condition);
      auto leave = std::make_unique<If>(draft_.range);
      leave->condition = std::move(unwanted);
      leave->then_branch = std::make_unique<Next>(draft_.range);
      recall.push_back(std::move(leave));
    }
    auto& statements = draft_.body->statements;
    statements.insert(statements.begin(), std::make_move_iterator(recall.begin()), std::make_move_iterator(recall.end()));
  }

  Elaboration& e_;
  Draft& draft_;
  std::vector<std::string> arrays_;
  std::vector<ExpressionPtr> operands_;
};

}  // namespace

void save_at_calls(Elaboration& e) {
  std::vector<Draft> begins;
  for (Draft& draft : e.drafts) {
    if (!at_calls_only(draft)) continue;
    if (auto begin = Saver(e, draft).save()) begins.push_back(std::move(*begin));
  }
  for (Draft& begin : begins) e.drafts.push_back(std::move(begin));
}

}  // namespace spile::sema
