// infer-types: every global, key, local, parameter, function result and expression is a long, a string or an aggregate.
// Types flow in both directions (from a literal into a variable, from %s into the variable printed), so a body is walked
// again whenever the type of something that it uses has been decided, until nothing changes. A type that is never
// determined is left unknown: check-resolved reports it if the program needs it. A conflict is reported with both places.

#include <fmt/format.h>

#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/text/number_text.h"
#include "sema/terms/elaboration.h"
#include "sema/terms/embedded_code.h"
#include "sema/terms/intrinsics.h"
#include "syntax/print_format.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

constexpr size_t kMostSubscripts = 10;  // as in SystemTap

using namespace syntax;
using Type = ValueType;

const char* phrase(Type type) {
  switch (type) {
    case Type::kLong: return "a number";
    case Type::kString: return "a string";
    case Type::kStats: return "an aggregate";
    case Type::kUnknown: return "nothing";
  }
  return "?";
}

bool sets_result(const std::string& code) {
  for (const char* word : {"STAP_RETVALUE", "STAP_RETURN", "__retvalue"}) {
    if (code.find(word) != std::string::npos) return true;
  }
  return false;
}

class TypeInference {
 public:
  explicit TypeInference(Elaboration& e) : e_(e) {}

  void run() {
    declare();
    to_fixpoint();
    if (!e_.diagnostics.has_errors() && decide_library_globals()) to_fixpoint();
    if (!e_.diagnostics.has_errors() && decide_procedures()) to_fixpoint();
    if (!e_.diagnostics.has_errors() && decide_deleted_globals()) to_fixpoint();
  }

 private:
  // ---- entities: whatever has a type of its own. Identified by where the type is stored.
  void set(Type& entity, Type type, const SourceRange& where, const std::string& name) {
    note_use(entity);
    if (type == Type::kUnknown || entity == type) return;
    if (entity == Type::kUnknown) {
      entity = type;
      decided_.emplace(&entity, where);
      wake_users(entity);
      return;
    }
    if (!reported_.insert(&entity).second) return;
    auto& error = e_.diagnostics.error(
        where, fmt::format("type mismatch: '{}' is used as {} here, but as {} elsewhere", name, phrase(type), phrase(entity)));
    if (auto first = decided_.find(&entity); first != decided_.end()) {
      error.note(first->second, fmt::format("used as {} here", phrase(entity)));
    }
    if (type == Type::kLong && entity == Type::kStats)
      error.hint(fmt::format("read it with @count({0}), @sum({0}), @avg({0}) ...", name));
  }

  // For an expression whose type is fixed by itself.
  Type expect(const Expression& x, Type actual, Type wanted) {
    if (wanted != Type::kUnknown && actual != Type::kUnknown && wanted != actual && reported_.insert(&x).second) {
      auto& error = e_.diagnostics.error(
          x.range, fmt::format("type mismatch: {} is expected here, but this is {}", phrase(wanted), phrase(actual)));
      if (x.kind == ExpressionKind::kTargetVariable && wanted == Type::kString && actual == Type::kLong)
        error.hint(
            fmt::format("{0}$ shows the value as text, a string of C++ or Rust as its content; user_string({0}) reads the "
                        "characters at that address",
                        to_source(x)));
    }
    return actual;
  }

  void declare() {
    for (Global* global : e_.program.globals) {
      if (global->declared_array) global->is_array = true;
      if (as<Number>(global->initial)) set(global->type, Type::kLong, global->range, global->name);
      if (as<String>(global->initial)) set(global->type, Type::kString, global->range, global->name);
    }
    for (Function* function : e_.program.functions) {
      set(function->type, function->declared_type, function->range, function->name);
      auto* code = as<EmbeddedStatement>(function->body);
      if (code && sets_result(code->code)) returns_value_.insert(function);
      for (auto& parameter : function->parameters) {
        if (parameter->type != Type::kUnknown) decided_.emplace(&parameter->type, parameter->range);
      }
    }
  }

  // Globals of the library whose writers the script does not call: a call of discard() alone does not determine the type that
  // speculate() keeps.
  bool decide_library_globals() {
    bool decided = false;
    for (Global* global : e_.program.globals) {
      if (e_.is_user_text(global->range)) continue;
      if (global->type == Type::kUnknown) global->type = Type::kLong, decided = true;
      for (Type& key : global->key_types) {
        if (key == Type::kUnknown) key = Type::kLong, decided = true;
      }
    }
    return decided;
  }

  // A function that returns nothing is 0 where its value is used, and "" where a string is needed.
  bool decide_procedures() {
    bool decided = false;
    for (Function* function : used_as_values_) {
      if (function->type != Type::kUnknown || returns_value_.count(function)) continue;
      function->type = Type::kLong;
      decided = true;
    }
    return decided;
  }

  // A global that the script only deletes, as all other uses of it were for kernels that lack something (@choose_defined,
  // @defined): any type is right.
  bool decide_deleted_globals() {
    std::unordered_map<Global*, size_t> uses, deletes;  // how many of each
    for (size_t i = 0; i < e_.program.probes.size() + e_.program.functions.size(); ++i) {
      if (const Statement* body = body_of(i)) count_uses(*body, uses, deletes);
    }
    bool decided = false;
    for (const auto& [global, count] : deletes) {
      if (global->type != Type::kUnknown || uses[global] != count) continue;
      global->type = Type::kLong;
      decided = true;
    }
    return decided;
  }

  const Statement* body_of(size_t i) const {
    const auto& probes = e_.program.probes;
    return i < probes.size() ? probes[i].body.get() : e_.program.functions[i - probes.size()]->body.get();
  }

  static void count_uses(const Statement& s, std::unordered_map<Global*, size_t>& uses,
                         std::unordered_map<Global*, size_t>& deletes) {
    for_each_child(s, [&](const Expression& child) {
      for_each_expression(child, [&](const Expression& x) {
        auto* variable = as<Variable>(x);
        if (variable && variable->global) ++uses[variable->global];
      });
    });
    if (auto* deleted = as<Delete>(s)) {
      auto* element = as<Index>(*deleted->target);
      auto* variable = element ? element->array.get() : as<Variable>(*deleted->target);
      if (variable && variable->global) ++deletes[variable->global];
    }
    for_each_statement(s, [&](const Statement& child) { count_uses(child, uses, deletes); });
  }

  // ---- bodies: the probes', then the functions'
  void to_fixpoint() {
    size_t count = e_.program.probes.size() + e_.program.functions.size();
    for (size_t body = 0; body < count; ++body) waiting_.insert(waiting_.end(), body);
    for (size_t next = 0; !waiting_.empty();) {
      auto found = waiting_.lower_bound(next);
      if (found == waiting_.end()) {
        if (e_.diagnostics.has_errors()) break;  // every body has been walked, and its mistakes are reported
        found = waiting_.begin();
      }
      body_ = *found;
      next = *body_ + 1;
      waiting_.erase(found);
      visit_body(*body_);
    }
    body_.reset();
    waiting_.clear();
  }

  void visit_body(size_t body) {
    if (body < e_.program.probes.size()) {
      Probe& probe = e_.program.probes[body];
      probe_ = &probe;
      for (ExpressionPtr& save : probe.entry_saves) visit(*save, Type::kUnknown);
      if (probe.condition) visit(*probe.condition, Type::kLong);
      visit(*probe.body);
      probe_ = nullptr;
      return;
    }
    function_ = e_.program.functions[body - e_.program.probes.size()];
    if (function_->body) visit(*function_->body);
    function_ = nullptr;
  }

  // The body being walked depends on the type of `entity`.
  void note_use(const Type& entity) {
    if (!body_) return;
    std::vector<size_t>& users = users_[&entity];
    if (users.empty() || users.back() != *body_) users.push_back(*body_);
  }

  void wake_users(const Type& entity) {
    if (body_) waiting_.insert(*body_);
    auto users = users_.find(&entity);
    if (users != users_.end()) waiting_.insert(users->second.begin(), users->second.end());
  }

  // The table that the bindings of the body being walked index.
  const std::vector<Binding>& bindings() const {
    return probe_ ? probe_->bindings : e_.program.function_bindings[function_->index];
  }

  // ---- statements
  void visit(Statement& s) {
    switch (s.kind) {
      case StatementKind::kExpression: visit_unused(*static_cast<ExpressionStatement&>(s).expression); return;
      case StatementKind::kIf: visit(*static_cast<If&>(s).condition, Type::kLong); break;
      case StatementKind::kWhile: visit(*static_cast<While&>(s).condition, Type::kLong); break;
      case StatementKind::kFor: {
        auto& loop = static_cast<For&>(s);
        if (loop.init) visit_unused(*loop.init);
        if (loop.condition) visit(*loop.condition, Type::kLong);
        if (loop.step) visit_unused(*loop.step);
        break;
      }
      case StatementKind::kForeach: visit_foreach(static_cast<Foreach&>(s)); break;
      case StatementKind::kReturn: {
        auto& leave = static_cast<Return&>(s);
        if (!leave.value || !function_) break;
        if (returns_value_.insert(function_).second) wake_users(function_->type);
        Type type = visit_into(*leave.value, function_->type);
        set(function_->type, type, leave.value->range, function_->name);
        break;
      }
      case StatementKind::kDelete: visit_delete(*static_cast<Delete&>(s).target); break;
      case StatementKind::kTry:
        if (auto& message = static_cast<Try&>(s).message) visit(*message, Type::kString);
        break;
      default: break;
    }
    for_each_statement(s, [&](StatementPtr& child) { visit(*child); });
  }

  void visit_delete(Expression& target) {
    if (auto* variable = as<Variable>(target)) {
      if (variable->global) {
        note_use(variable->global->type);
        variable->type = variable->global->type;
      }
    } else if (auto* index = as<Index>(target)) {
      visit_keys(*index->array, index->indexes, index->range);
      index->type = index->array->global->type;
    } else {
      visit(target, Type::kUnknown);
    }
  }

  void visit_foreach(Foreach& loop) {
    if (loop.limit) visit(*loop.limit, Type::kLong);
    if (loop.histogram) {
      visit_stats(*loop.histogram->stats);
      for (auto& key : loop.keys) visit(*key, Type::kLong);
      if (loop.value) visit(*loop.value, Type::kLong);
      return;
    }
    Global* array = loop.array->global;
    if (!size_keys(*array, loop.keys.size(), loop.array->range)) return;
    for (size_t i = 0; i < loop.keys.size(); ++i) {
      Type type = visit(*loop.keys[i], array->key_types[i]);
      set(array->key_types[i], type, loop.keys[i]->range, array->name);
    }
    for (size_t i = 0; i < loop.slice.size() && i < array->key_types.size(); ++i) {
      if (!loop.slice[i]) continue;
      Type type = visit_into(*loop.slice[i], array->key_types[i]);
      set(array->key_types[i], type, loop.slice[i]->range, array->name);
    }
    loop.array->type = array->type;
    if (!loop.value) return;
    if (array->type == Type::kStats) {
      if (reported_.insert(&loop).second) {
        e_.diagnostics
            .error(loop.value->range,
                   fmt::format("the elements of '{}' are aggregates, which a variable can't hold", array->name))
            .hint("loop over the keys, and read @count(array[key]) and the like");
      }
      return;
    }
    Type type = visit(*loop.value, array->type);
    set(array->type, type, loop.value->range, array->name);
  }

  // ---- arrays
  bool size_keys(Global& array, size_t count, const SourceRange& range) {
    array.is_array = true;
    note_use(array.type);
    if (count > kMostSubscripts && reported_.insert(&array.key_types).second) {
      e_.diagnostics.error(
          range, fmt::format("array '{}' has {} subscripts; at most {} are possible", array.name, count, kMostSubscripts));
    }
    if (array.key_types.empty()) {
      array.key_types.resize(count, Type::kUnknown);
      keys_decided_.emplace(&array, range);
      wake_users(array.type);
    }
    if (array.key_types.size() == count) return true;
    if (reported_.insert(&array.key_types).second) {
      size_t known = array.key_types.size();
      e_.diagnostics
          .error(range, fmt::format("array '{}' has {} here, but {} elsewhere", array.name, counted(count, "subscript"), known))
          .note(keys_decided_[&array], fmt::format("{} here", known));
    }
    return false;
  }

  void visit_keys(Variable& array, std::vector<ExpressionPtr>& keys, const SourceRange& range) {
    Global* global = array.global;
    array.type = global->type;
    bool sized = size_keys(*global, keys.size(), range);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!keys[i]) continue;
      Type type = visit_into(*keys[i], sized ? global->key_types[i] : Type::kUnknown);
      if (sized) set(global->key_types[i], type, keys[i]->range, fmt::format("subscript {} of {}", i + 1, global->name));
    }
  }

  void visit_unused(Expression& x) {
    unused_ = &x;
    visit(x, Type::kUnknown);
  }

  // ---- expressions: the type of x; an undetermined type becomes `wanted`.
  Type visit(Expression& x, Type wanted) { return x.type = infer(x, wanted); }

  // For a value that goes into something named: the type of x by itself comes first, so that a conflict is reported as one of
  // the name's two uses.
  Type visit_into(Expression& x, Type entity) {
    Type type = visit(x, Type::kUnknown);
    return type == Type::kUnknown ? visit(x, entity) : type;
  }

  void visit_stats(Expression& x) {
    if (auto* variable = as<Variable>(x)) {
      x.type = Type::kStats;
      if (variable->global) set(variable->global->type, Type::kStats, x.range, variable->name);
      if (variable->local) expect(x, Type::kLong, Type::kStats);
    } else if (auto* index = as<Index>(x)) {
      visit_keys(*index->array, index->indexes, index->range);
      set(index->array->global->type, Type::kStats, x.range, index->array->name);
      x.type = Type::kStats;
    } else {
      expect(x, visit(x, Type::kUnknown), Type::kStats);
    }
  }

  Type named(Type& entity, const Expression& x, const std::string& name, Type wanted) {
    set(entity, wanted, x.range, name);
    if (entity == Type::kStats && wanted == Type::kUnknown && reported_.insert(&x).second) {
      e_.diagnostics.error(x.range, fmt::format("'{}' is an aggregate, and can't be used as a value", name))
          .hint(fmt::format("read it with @count({0}), @sum({0}), @min({0}), @max({0}) or @avg({0})", to_source(x)));
    }
    return entity == Type::kStats ? Type::kLong : entity;
  }

  Type infer(Expression& x, Type wanted) {
    switch (x.kind) {
      case ExpressionKind::kNumber: return expect(x, Type::kLong, wanted);
      case ExpressionKind::kString: return expect(x, Type::kString, wanted);
      case ExpressionKind::kVariable: {
        auto& variable = static_cast<Variable&>(x);
        return named(variable.global ? variable.global->type : variable.local->type, x, variable.name, wanted);
      }
      case ExpressionKind::kIndex: {
        auto& index = static_cast<Index&>(x);
        visit_keys(*index.array, index.indexes, index.range);
        return named(index.array->global->type, x, index.array->name, wanted);
      }
      case ExpressionKind::kTargetVariable: {
        auto& variable = static_cast<TargetVariable&>(x);
        visit_path(variable.path);
        return expect(x, bindings()[variable.binding].type, wanted);
      }
      case ExpressionKind::kAtOperation: {
        auto& operation = static_cast<AtOperation&>(x);
        for (ExpressionPtr& argument : operation.arguments) visit(*argument, Type::kUnknown);
        visit_path(operation.path);
        return expect(x, bindings()[operation.binding].type, wanted);
      }
      case ExpressionKind::kEntryValue: return expect(x, probe_->entry_saves[static_cast<EntryValue&>(x).index]->type, wanted);
      case ExpressionKind::kUnary: visit(*static_cast<Unary&>(x).operand, Type::kLong); return expect(x, Type::kLong, wanted);
      case ExpressionKind::kIncrement:
        visit(*static_cast<Increment&>(x).operand, Type::kLong);
        return expect(x, Type::kLong, wanted);
      case ExpressionKind::kBinary:
        visit(*static_cast<Binary&>(x).left, Type::kLong);
        visit(*static_cast<Binary&>(x).right, Type::kLong);
        return expect(x, Type::kLong, wanted);
      case ExpressionKind::kLogical:
        visit(*static_cast<Logical&>(x).left, Type::kLong);
        visit(*static_cast<Logical&>(x).right, Type::kLong);
        return expect(x, Type::kLong, wanted);
      case ExpressionKind::kCompare:
        same(*static_cast<Compare&>(x).left, *static_cast<Compare&>(x).right, Type::kUnknown);
        return expect(x, Type::kLong, wanted);
      case ExpressionKind::kConcatenation:
        visit(*static_cast<Concatenation&>(x).left, Type::kString);
        visit(*static_cast<Concatenation&>(x).right, Type::kString);
        return expect(x, Type::kString, wanted);
      case ExpressionKind::kComma:
        visit(*static_cast<Comma&>(x).left, Type::kUnknown);
        return expect(x, visit(*static_cast<Comma&>(x).right, wanted), wanted);
      case ExpressionKind::kTernary: {
        auto& ternary = static_cast<Ternary&>(x);
        visit(*ternary.condition, Type::kLong);
        return same(*ternary.if_true, *ternary.if_false, wanted);
      }
      case ExpressionKind::kAssignment: return infer_assignment(static_cast<Assignment&>(x), wanted);
      case ExpressionKind::kIn: {
        auto& in = static_cast<In&>(x);
        visit_keys(*in.array, in.indexes, in.range);
        return expect(x, Type::kLong, wanted);
      }
      case ExpressionKind::kCall: return infer_call(static_cast<Call&>(x), wanted);
      case ExpressionKind::kPrint: return infer_print(static_cast<Print&>(x), wanted);
      case ExpressionKind::kStatistic:
        visit_stats(*static_cast<Statistic&>(x).stats);
        if (static_cast<Statistic&>(x).percent) visit(*static_cast<Statistic&>(x).percent, Type::kLong);
        return expect(x, Type::kLong, wanted);
      case ExpressionKind::kHistogram: visit_stats(*static_cast<Histogram&>(x).stats); return Type::kUnknown;
      case ExpressionKind::kHistogramIndex: {
        auto& index = static_cast<HistogramIndex&>(x);
        visit_stats(*index.histogram->stats);
        visit(*index.bucket, Type::kLong);
        return expect(x, Type::kLong, wanted);
      }
      case ExpressionKind::kDereference: {
        auto& dereference = static_cast<Dereference&>(x);
        visit(*dereference.pointer, Type::kLong);
        visit_path(dereference.path);
        return expect(x, dereference.binding < 0 ? Type::kUnknown : bindings()[dereference.binding].type, wanted);
      }
      case ExpressionKind::kRegex: visit(*static_cast<Regex&>(x).subject, Type::kString); return expect(x, Type::kLong, wanted);
      case ExpressionKind::kPerf: return expect(x, Type::kLong, wanted);
      case ExpressionKind::kEmbedded: {
        bool is_string = embedded_traits(static_cast<Embedded&>(x).code).string;
        return expect(x, is_string ? Type::kString : Type::kLong, wanted);
      }
      case ExpressionKind::kDefined:
      case ExpressionKind::kEntry: return Type::kUnknown;  // bind-targets has replaced them, or refused
    }
  }

  // Two expressions of one type; either may determine it.
  Type same(Expression& a, Expression& b, Type wanted) {
    Type type = visit(a, wanted);
    if (type == Type::kUnknown) type = wanted;
    Type other = visit(b, type);
    return type == Type::kUnknown && other != Type::kUnknown ? visit(a, other) : type;
  }

  Type infer_assignment(Assignment& x, Type wanted) {
    switch (x.op) {
      case Assignment::Operator::kSet: {
        Type type = visit(*x.value, Type::kUnknown);
        Type target = visit(*x.target, type == Type::kUnknown ? wanted : type);
        return type == Type::kUnknown && target != Type::kUnknown ? visit(*x.value, target) : type;
      }
      case Assignment::Operator::kArithmetic:
        visit(*x.target, Type::kLong);
        visit(*x.value, Type::kLong);
        return expect(x, Type::kLong, wanted);
      case Assignment::Operator::kConcatenate:
        visit(*x.target, Type::kString);
        visit(*x.value, Type::kString);
        return expect(x, Type::kString, wanted);
      case Assignment::Operator::kAccumulate:
        visit_stats(*x.target);
        visit(*x.value, Type::kLong);
        return expect(x, Type::kLong, wanted);
    }
    return Type::kUnknown;
  }

  Type infer_call(Call& call, Type wanted) {
    if (call.intrinsic >= 0) {
      const Intrinsic& intrinsic = intrinsics()[call.intrinsic];
      for (size_t i = 0; i < call.arguments.size(); ++i) visit(*call.arguments[i], intrinsic.parameters[i]);
      bool is_zero = intrinsic.result == Type::kUnknown && unused_ != &call;
      return expect(call, is_zero ? Type::kLong : intrinsic.result, wanted);
    }
    if (unused_ != &call) used_as_values_.insert(call.function);
    for_each_callee(call, [&](Function& callee) {
      for (size_t i = 0; i < call.arguments.size(); ++i) {
        Local& parameter = *callee.parameters[i];
        Type type = visit_into(*call.arguments[i], parameter.type);
        set(parameter.type, type, call.arguments[i]->range, parameter.name);
      }
      // Alternatives give the same type.
      if (&callee != call.function) {
        set(callee.type, call.function->type, call.range, callee.name);
        set(call.function->type, callee.type, call.range, callee.name);
      }
    });
    note_use(call.function->type);
    // If nothing else determines the type of a function's result, the use of a call's value does.
    if (call.function->type == Type::kUnknown) set(call.function->type, wanted, call.range, call.name);
    return expect(call, call.function->type, wanted);
  }

  void report_argument_count(const Print& print, size_t wanted) {
    size_t given = print.arguments.size();
    e_.diagnostics.error(print.range, "the format of '" + std::string(print.to_stream ? "printf" : "sprintf") + "' takes " +
                                          counted(wanted, "value") + ", but " + std::to_string(given) +
                                          (given == 1 ? " is given" : " are given"));
  }

  Type infer_print(Print& print, Type wanted) {
    size_t wanted_arguments = count_format_arguments(print.parts);
    auto result = [&] {
      if (print.to_stream && unused_ == &print) return Type::kUnknown;
      return expect(print, print.to_stream ? Type::kLong : Type::kString, wanted);
    };
    if (print.with_format && wanted_arguments != print.arguments.size()) {
      if (reported_.insert(&print).second) report_argument_count(print, wanted_arguments);
      return result();
    }
    size_t next = 0;
    auto take = [&](Type type) {
      if (next < print.arguments.size()) visit(*print.arguments[next++], type);
    };
    if (print.with_format) {
      for (const FormatPart& part : print.parts) {
        if (part.kind == FormatPart::Kind::kLiteral) continue;
        if (part.width_argument) take(Type::kLong);
        if (part.precision_argument) take(Type::kLong);
        take(part.kind == FormatPart::Kind::kString ? Type::kString : Type::kLong);
      }
    } else {
      while (next < print.arguments.size()) take(print.is_char ? Type::kLong : Type::kUnknown);
    }
    return result();
  }

  void visit_path(std::vector<PathStep>& path) {
    for (PathStep& step : path) {
      if (step.expression) visit(*step.expression, Type::kLong);
    }
  }

  Elaboration& e_;
  Probe* probe_ = nullptr;
  Function* function_ = nullptr;
  std::optional<size_t> body_;                                   // being walked
  std::set<size_t> waiting_;                                     // bodies to be walked
  std::unordered_map<const Type*, std::vector<size_t>> users_;   // bodies that depend on an entity's type
  std::unordered_map<const Type*, SourceRange> decided_;         // where an entity got its type
  std::unordered_map<const Global*, SourceRange> keys_decided_;  // where an array got its number of subscripts
  std::unordered_set<const Function*> returns_value_;            // those seen to `return` one
  std::set<Function*> used_as_values_;                           // those called where a value is needed
  const Expression* unused_ = nullptr;                           // the expression of the statement being walked
  std::unordered_set<const void*> reported_;                     // entities and expressions complained about
};

}  // namespace

void infer_types(Elaboration& e) { TypeInference(e).run(); }

}  // namespace spile::sema
