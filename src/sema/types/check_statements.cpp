// check-statements: reports mistakes that are left when all names and types are right: break outside of a loop, the value of a
// call that has no value, arrays used as scalars, changes of an array during its foreach, histograms that disagree.

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text/number_text.h"
#include "sema/terms/elaboration.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

class StatementChecker {
 public:
  explicit StatementChecker(Elaboration& e) : e_(e) {}

  void run() {
    for (const Global* global : e_.program.globals) check_global(*global);
    for (const Probe& probe : e_.program.probes) {
      in_function_ = false;
      for (const ExpressionPtr& save : probe.entry_saves) check_early(*save, "at the function's entry");
      if (probe.condition) check_condition(*probe.condition);
      check(*probe.body);
    }
    in_function_ = true;
    for (const Function* function : e_.program.functions) {
      if (function->body) check(*function->body);
    }
  }

 private:
  // One body may be in many probes: each problem is reported once.
  Diagnostic& error(const SourceRange& range, std::string message) {
    if (!told_.insert({range.file, range.begin, range.end, message}).second) return discarded_;
    return e_.diagnostics.error(range, std::move(message));
  }

  void check_global(const Global& global) {
    if (global.initial && global.is_array) {
      error(global.range, fmt::format("array '{}' can't have an initial value", global.name));
    }
    if (global.declared_size && (*global.declared_size < 1 || *global.declared_size > kMaximumArraySize)) {
      error(global.range, fmt::format("size of array '{}' is out of range: 1 to {}", global.name, kMaximumArraySize));
    }
  }

  // Evaluated whenever something that it reads has changed, to arm and disarm the probe.
  void check_condition(const Expression& condition) {
    check_early(condition, "in a probe's condition");
    for_each_expression(condition, [&](const Expression& x) {
      bool changes = x.kind == ExpressionKind::kAssignment || x.kind == ExpressionKind::kIncrement;
      if (auto* call = as<Call>(x)) {
        for_each_callee(*call, [&](const Function& callee) { changes |= !writes_of(callee).empty(); });
      }
      if (changes) error(x.range, "a probe's condition can't change anything");
    });
  }

  // Runs before the body does: its locals have no value yet.
  void check_early(const Expression& x, const char* when) {
    check_value(x);
    for_each_expression(x, [&](const Expression& inner) {
      auto* variable = as<Variable>(inner);
      if (variable && variable->local) {
        error(inner.range, fmt::format("local variable '{}' has no value {}", variable->name, when));
      }
    });
  }

  // ---- statements
  void check(const Statement& s) {
    switch (s.kind) {
      case StatementKind::kExpression: check_unused(*static_cast<const ExpressionStatement&>(s).expression); return;
      case StatementKind::kNext: return;
      case StatementKind::kReturn:
        if (!in_function_) error(s.range, "'return' is only possible in a function").hint("use 'next' to leave a probe");
        if (auto& value = static_cast<const Return&>(s).value) check_value(*value);
        return;
      case StatementKind::kBreak:
        if (loops_ == 0) error(s.range, "'break' outside of a loop");
        return;
      case StatementKind::kContinue:
        if (loops_ == 0) error(s.range, "'continue' outside of a loop");
        return;
      case StatementKind::kDelete: check_delete(*static_cast<const Delete&>(s).target); return;
      case StatementKind::kForeach: check_foreach(static_cast<const Foreach&>(s)); return;
      case StatementKind::kFor: {
        auto& loop = static_cast<const For&>(s);
        if (loop.init) check_unused(*loop.init);
        if (loop.condition) check_value(*loop.condition);
        if (loop.step) check_unused(*loop.step);
        check_loop(*loop.body);
        return;
      }
      case StatementKind::kWhile:
        check_value(*static_cast<const While&>(s).condition);
        check_loop(*static_cast<const While&>(s).body);
        return;
      case StatementKind::kTry:
        if (auto& message = static_cast<const Try&>(s).message) check_target(*message);
        break;
      case StatementKind::kIf: check_value(*static_cast<const If&>(s).condition); break;
      default: break;
    }
    for_each_statement(s, [&](const Statement& child) { check(child); });
  }

  void check_loop(const Statement& body) {
    ++loops_;
    check(body);
    --loops_;
  }

  void check_foreach(const Foreach& loop) {
    if (loop.histogram) check_histogram(*loop.histogram);
    for (const ExpressionPtr& key : loop.slice) {
      if (key) check_value(*key);
    }
    if (loop.limit) check_value(*loop.limit);
    if (loop.array) {
      const Global& array = *loop.array->global;
      if (loop.sort_by && array.type != ValueType::kStats) {
        error(loop.array->range, fmt::format("can't sort '{}' by a statistic: it holds no aggregates", array.name));
      }
      if (!loop.slice.empty() && loop.slice.size() != array.key_types.size()) {
        error(loop.array->range, fmt::format("array '{}' has {} subscripts, but the slice has {}", array.name,
                                             array.key_types.size(), loop.slice.size()));
      }
      if (loop.sort_column > static_cast<int>(loop.keys.size()))
        error(loop.array->range,
              fmt::format("sort key {} out of range: the array has {}", loop.sort_column, counted(loop.keys.size(), "key")));
    }
    for (const auto& key : loop.keys) check_target(*key);
    if (loop.value) check_target(*loop.value);
    if (loop.array) frozen_.push_back({loop.array->global, loop.range});
    check_loop(*loop.body);
    if (loop.array) frozen_.pop_back();
  }

  void check_delete(const Expression& target) {
    if (auto* variable = as<Variable>(target)) {
      check_frozen(variable->global, target.range);
      return;
    }
    auto* index = as<Index>(target);
    if (!index) {
      error(target.range, "only a global variable, an array or its elements can be deleted");
      return;
    }
    check_frozen(index->array->global, target.range);
    for (const ExpressionPtr& key : index->indexes) {
      if (key) check_value(*key);
    }
  }

  // ---- expressions
  // A statement of its own: may also be a call or a print without a value.
  void check_unused(const Expression& x) {
    if (x.kind == ExpressionKind::kCall || x.kind == ExpressionKind::kPrint) {
      check_parts(x);
    } else {
      check_value(x);
    }
  }

  void check_value(const Expression& x) {
    if (auto* call = as<Call>(x); call && x.type == ValueType::kUnknown) {
      error(x.range, fmt::format("can't infer the return type of function '{}'", call->name))
          .hint("nothing determines whether it is a number or a string");
    } else if (x.kind == ExpressionKind::kHistogram) {
      error(x.range, "a histogram can only be printed, looped over, or subscripted");
      return;
    } else if (auto* variable = as<Variable>(x)) {
      check_scalar(*variable);
    }
    check_parts(x);
  }

  void check_scalar(const Variable& variable) {
    if (variable.global && variable.global->is_array) {
      error(variable.range, fmt::format("array '{}' is used without subscripts", variable.name))
          .note(variable.global->range, "declared here");
    }
  }

  void check_parts(const Expression& x) {
    switch (x.kind) {
      case ExpressionKind::kIncrement: check_target(*static_cast<const Increment&>(x).operand); return;
      case ExpressionKind::kAssignment:
        check_target(*static_cast<const Assignment&>(x).target);
        check_value(*static_cast<const Assignment&>(x).value);
        return;
      case ExpressionKind::kIndex: check_keys(static_cast<const Index&>(x)); return;
      case ExpressionKind::kIn:
        for (const ExpressionPtr& key : static_cast<const In&>(x).indexes) {
          if (key) check_value(*key);
        }
        return;
      case ExpressionKind::kPrint: check_print(static_cast<const Print&>(x)); return;
      case ExpressionKind::kStatistic:
        check_aggregate(*static_cast<const Statistic&>(x).stats);
        if (static_cast<const Statistic&>(x).percent) check_value(*static_cast<const Statistic&>(x).percent);
        return;
      case ExpressionKind::kHistogramIndex:
        check_histogram(*static_cast<const HistogramIndex&>(x).histogram);
        check_value(*static_cast<const HistogramIndex&>(x).bucket);
        return;
      case ExpressionKind::kCall: check_call(static_cast<const Call&>(x)); return;
      default: for_each_child(x, [&](const Expression& child) { check_value(child); });
    }
  }

  void check_target(const Expression& x) {
    if (auto* variable = as<Variable>(x)) {
      check_scalar(*variable);
      check_frozen(variable->global, x.range);
    } else if (auto* index = as<Index>(x)) {
      check_keys(*index);
      check_frozen(index->array->global, x.range);
    } else if (x.kind == ExpressionKind::kTargetVariable || x.kind == ExpressionKind::kAtOperation ||
               x.kind == ExpressionKind::kDereference) {
      // In guru mode; bind-targets has refused the others in probes.
      if (!e_.program.guru && e_.is_user_text(x.range)) {
        error(x.range, "writing to variables of the traced program needs guru mode").hint("run spile with -g");
      }
      check_parts(x);
    } else {
      error(x.range, "only variables and array elements can be assigned to");
    }
  }

  void check_keys(const Index& index) {
    for (const ExpressionPtr& key : index.indexes) {
      if (key) {
        check_value(*key);
      } else {
        error(index.range, "'*' as a subscript is only possible in 'delete', 'in' and 'foreach'");
      }
    }
  }

  void check_aggregate(const Expression& x) {
    if (auto* variable = as<Variable>(x)) check_scalar(*variable);
    if (auto* index = as<Index>(x)) check_keys(*index);
  }

  void check_print(const Print& print) {
    size_t given = print.arguments.size();
    for (const ExpressionPtr& argument : print.arguments) {
      auto* histogram = as<Histogram>(argument);
      if (histogram && given == 1 && !print.with_format && !print.with_delimiter && !print.is_char) {
        check_histogram(*histogram);
        if (histogram->has_summary && !print.to_stream) {
          error(histogram->range, "a histogram with its unit can be printed, not made a string")
              .hint("print it, or leave out the unit");
        }
      } else {
        check_value(*argument);
      }
    }
  }

  bool check_bounds(const Histogram& histogram) {
    if (histogram.width <= 0) {
      error(histogram.range, "@hist_linear needs a width of at least 1").hint("@hist_linear(stats, low, high, width)");
      return false;
    }
    if (histogram.low > histogram.high) {
      error(histogram.range,
            fmt::format("@hist_linear from {} to {}: the lower bound is above the upper one", histogram.low, histogram.high));
      return false;
    }
    // The difference of two longs always fits into an unsigned one.
    uint64_t span = static_cast<uint64_t>(histogram.high) - static_cast<uint64_t>(histogram.low);
    if (span / static_cast<uint64_t>(histogram.width) + 1 > static_cast<uint64_t>(kMaximumLinearBuckets)) {
      error(histogram.range, fmt::format("@hist_linear with more than {} buckets", kMaximumLinearBuckets))
          .hint("choose a larger width");
      return false;
    }
    return true;
  }

  void check_histogram(const Histogram& histogram) {
    check_aggregate(*histogram.stats);
    if (!histogram.is_log && !check_bounds(histogram)) return;
    const Global* global = nullptr;
    if (auto* variable = as<Variable>(histogram.stats)) global = variable->global;
    if (auto* index = as<Index>(histogram.stats)) global = index->array->global;
    if (!global) return;
    auto [known, added] = histograms_.emplace(global, &histogram);
    const Histogram& first = *known->second;
    bool same = first.is_log == histogram.is_log && first.low == histogram.low && first.high == histogram.high &&
                first.width == histogram.width;
    if (!added && !same) {
      error(histogram.range, fmt::format("aggregate '{}' can't keep two different histograms", global->name))
          .note(first.range, "the other histogram");
    }
  }

  void check_call(const Call& call) {
    for (const ExpressionPtr& argument : call.arguments) check_value(*argument);
    if (!call.function || frozen_.empty()) return;
    for (const Frozen& frozen : frozen_) {
      bool written = false;
      for_each_callee(call, [&](const Function& callee) { written |= writes(callee, *frozen.global); });
      if (written) {
        error(call.range, fmt::format("function '{}' changes '{}' while a foreach loops over it", call.name, frozen.global->name))
            .note(frozen.loop, "this loop");
      }
    }
  }

  // ---- what a foreach holds still: its array
  struct Frozen {
    const Global* global;
    SourceRange loop;
  };

  void check_frozen(const Global* global, const SourceRange& range) {
    for (const Frozen& frozen : frozen_) {
      if (!global || frozen.global != global) continue;
      error(range, fmt::format("'{}' is changed while a foreach loops over it", global->name)).note(frozen.loop, "this loop");
    }
  }

  const std::set<const Global*>& writes_of(const Function& function) {
    auto [known, added] = writes_.try_emplace(&function);
    if (!added || !function.body) return known->second;
    std::set<const Global*> all;
    auto add = [&](const Expression& target) {
      if (auto* variable = as<Variable>(target); variable && variable->global) all.insert(variable->global);
      if (auto* index = as<Index>(target)) all.insert(index->array->global);
    };
    for_each_expression(static_cast<const Statement&>(*function.body), [&](const Expression& x) {
      if (auto* assignment = as<Assignment>(x)) add(*assignment->target);
      if (auto* increment = as<Increment>(x)) add(*increment->operand);
      if (auto* call = as<Call>(x)) {
        for_each_callee(*call, [&](const Function& callee) {
          std::set<const Global*> inner = writes_of(callee);
          all.insert(inner.begin(), inner.end());
        });
      }
    });
    add_statements(*function.body, add, all);
    return writes_[&function] = std::move(all);
  }

  template <typename F>
  static void add_statements(const Statement& s, F& add, std::set<const Global*>& all) {
    if (auto* removal = as<Delete>(s)) add(*removal->target);
    if (auto* code = as<EmbeddedStatement>(s)) all.insert(code->globals.written.begin(), code->globals.written.end());
    for_each_statement(s, [&](const Statement& child) { add_statements(child, add, all); });
  }

  bool writes(const Function& function, const Global& global) { return writes_of(function).count(&global) > 0; }

  static constexpr int64_t kMaximumArraySize = 100'000'000;
  static constexpr int64_t kMaximumLinearBuckets = 1024;  // abi::kMaxLinearBuckets

  Elaboration& e_;
  bool in_function_ = false;
  int loops_ = 0;
  std::vector<Frozen> frozen_;
  std::set<std::tuple<const SourceFile*, uint32_t, uint32_t, std::string>> told_;
  std::unordered_map<const Global*, const Histogram*> histograms_;
  std::unordered_map<const Function*, std::set<const Global*>> writes_;
  Diagnostic discarded_{};
};

}  // namespace

void check_statements(Elaboration& e) { StatementChecker(e).run(); }

}  // namespace spile::sema
