// drop-unreached: the program's functions and globals are those that its probes still reach, in the order of their
// declaration (which is the order of locks). Runs after each pass that may have removed the last use of one.

#include <fmt/format.h>

#include "sema/terms/elaboration.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

class Reach {
 public:
  void add(const Expression& x) {
    for_each_expression(x, [&](const Expression& inner) { note(inner); });
    add_called();
  }
  void add(const Statement& s) {
    add_own(s);
    add_called();
  }

  bool has(const Global* global) const { return globals_.count(global) > 0; }
  bool has(const Function* function) const { return functions_.count(function) > 0; }

 private:
  void note(const Expression& x) {
    if (auto* variable = as<Variable>(x); variable && variable->global) globals_.insert(variable->global);
    if (auto* code = as<Embedded>(x)) add(code->globals);
    auto* call = as<Call>(x);
    if (!call) return;
    for_each_callee(*call, [&](const Function& callee) {
      if (functions_.insert(&callee).second && callee.body) called_.push_back(&callee);
    });
  }
  void add_own(const Statement& s) {
    for_each_expression(s, [&](const Expression& x) { note(x); });
    add_embedded(s);
  }
  // Not by recursion: chains of calls may be tens of thousands of functions long.
  void add_called() {
    while (!called_.empty()) {
      const Function* function = called_.back();
      called_.pop_back();
      add_own(*function->body);
    }
  }
  void add_embedded(const Statement& s) {
    if (auto* code = as<EmbeddedStatement>(s)) add(code->globals);
    for_each_statement(s, [&](const Statement& child) { add_embedded(child); });
  }
  void add(const EmbeddedGlobals& globals) {
    globals_.insert(globals.read.begin(), globals.read.end());
    globals_.insert(globals.written.begin(), globals.written.end());
  }

  std::set<const Global*> globals_;
  std::set<const Function*> functions_;
  std::vector<const Function*> called_;  // whose bodies are still to be added
};

}  // namespace

void drop_unreached(Elaboration& e) {
  if (e.program.unoptimized) return;
  Reach reach;
  for (const Probe& probe : e.program.probes) {
    for (const ExpressionPtr& save : probe.entry_saves) reach.add(static_cast<const Expression&>(*save));
    if (probe.condition) reach.add(static_cast<const Expression&>(*probe.condition));
    reach.add(static_cast<const Statement&>(*probe.body));
  }
  std::vector<Global*> globals;
  for (Global* global : e.program.globals) {
    bool kept = reach.has(global);
    global->index = kept ? static_cast<int>(globals.size()) : -1;
    if (kept) globals.push_back(global);
    // warn-unused has reported functions and globals without any use; these have lost their uses by elide-unused.
    if (!kept) e.note_elided(global->range, fmt::format("unused variable '{}'", global->name));
  }
  std::vector<Function*> functions;
  std::vector<std::vector<Binding>> bindings;
  for (Function* function : e.program.functions) {
    auto& of_function = e.program.function_bindings[function->index];
    bool kept = reach.has(function);
    function->index = kept ? static_cast<int>(functions.size()) : -1;
    if (!kept) {
      e.note_elided(function->range, fmt::format("unused function '{}'", function->name));
      continue;
    }
    functions.push_back(function);
    bindings.push_back(std::move(of_function));
  }
  e.program.globals = std::move(globals);
  e.program.functions = std::move(functions);
  e.program.function_bindings = std::move(bindings);
}

}  // namespace spile::sema
