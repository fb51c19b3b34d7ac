// check-resolved: reports each use of a variable or function whose type could not be inferred. A declaration that is not used
// any more becomes a number, so that later passes see typed entities only.

#include <fmt/format.h>

#include <tuple>
#include <unordered_set>
#include <vector>

#include "sema/terms/elaboration.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

class ResolvedCheck {
 public:
  explicit ResolvedCheck(Elaboration& e) : e_(e) {}

  void run() {
    for (const Probe& probe : e_.program.probes) {
      for (const ExpressionPtr& save : probe.entry_saves) check(*save);
      if (probe.condition) check(*probe.condition);
      check(*probe.body);
    }
    for (const Function* function : e_.program.functions) {
      if (function->body) check(*function->body);
      if (function->body && function->body->kind == StatementKind::kEmbedded) check_parameters(*function);
    }
    // What spile makes of @entry(VALUE) has the type of VALUE, in which something else is reported.
    if (reported_.empty()) {
      for (const Variable* variable : saved_) check_variable(*variable, variable->range);
    }
    default_the_rest();
  }

 private:
  void check(const Statement& s) {
    for_each_expression(s, [&](const Expression& x) { check_one(x); });
  }
  void check(const Expression& x) {
    for_each_expression(x, [&](const Expression& inner) { check_one(inner); });
  }

  void check_one(const Expression& x) {
    auto* variable = as<Variable>(x);
    if (!variable) return;
    if (variable->name.starts_with(kSavedAtCall)) {
      saved_.push_back(variable);
    } else {
      check_variable(*variable, x.range);
    }
  }

  void check_variable(const Variable& variable, const SourceRange& range) {
    if (variable.local && variable.local->type == ValueType::kUnknown) {
      report(variable.local, range, fmt::format("can't infer the type of '{}'", variable.name));
    } else if (Global* global = variable.global) {
      if (global->type == ValueType::kUnknown) {
        report(global, range,
               fmt::format("can't infer the type of {} '{}'", global->is_array ? "array" : "global", global->name));
      }
      for (size_t i = 0; i < global->key_types.size(); ++i) {
        if (global->key_types[i] != ValueType::kUnknown) continue;
        report(global, range, fmt::format("can't infer the type of subscript {} of '{}'", i + 1, global->name));
      }
    }
  }

  // Embedded C says nothing about the types of its arguments.
  void check_parameters(const Function& function) {
    for (const auto& parameter : function.parameters) {
      if (parameter->type == ValueType::kUnknown) {
        report(parameter.get(), parameter->range, fmt::format("can't infer the type of '{}'", parameter->name));
      }
    }
  }

  void report(const void* entity, const SourceRange& range, std::string message) {
    // One body may stand in many probes.
    bool first = reported_.insert(entity).second && places_.insert({range.file, range.begin}).second;
    if (first) e_.diagnostics.error(range, std::move(message)).hint("nothing determines whether it is a number or a string");
  }

  void default_the_rest() {
    auto to_long = [](ValueType& type) {
      if (type == ValueType::kUnknown) type = ValueType::kLong;
    };
    auto all_long = [&](auto& locals) {
      for (auto& local : locals) to_long(local->type);
    };
    for (Global* global : e_.program.globals) {
      to_long(global->type);
      if (global->is_array && global->key_types.empty()) global->key_types.push_back(ValueType::kLong);
      for (ValueType& key : global->key_types) to_long(key);
    }
    for (Probe& probe : e_.program.probes) all_long(probe.locals);
    for (Function* function : e_.program.functions) {
      all_long(function->locals);
      all_long(function->parameters);
    }
  }

  Elaboration& e_;
  std::unordered_set<const void*> reported_;
  std::vector<const Variable*> saved_;  // of @entry at system calls: the script does not name them
  std::set<std::pair<const SourceFile*, uint32_t>> places_;
};

}  // namespace

void check_resolved(Elaboration& e) { ResolvedCheck(e).run(); }

}  // namespace spile::sema
