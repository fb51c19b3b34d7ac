#include "sema/sharing/name_keys.h"

#include "sema/terms/intrinsics.h"
#include "syntax/visitor.h"

namespace spile::sema {

using namespace syntax;

namespace {

class NameKeySearch {
 public:
  // Of handlers outside of the controller, and functions.
  void visit(const Statement& body) {
    for_each_expression(body, [&](const Expression& e) { use(e); });
    exclude_embedded(body);
  }
  void visit(const Expression& x) {
    for_each_expression(x, [&](const Expression& e) { use(e); });
  }
  void visit_controller(const Statement& body) {
    for_each_expression(body, [&](const Expression& e) {
      if (const auto* assignment = as<Assignment>(e)) exclude_target(*assignment->target);
      if (const auto* increment = as<Increment>(e)) exclude_target(*increment->operand);
      if (const auto* code = as<Embedded>(e)) exclude(code->globals);
    });
    exclude_embedded(body);
  }

  std::set<const Global*> found() const {
    std::set<const Global*> arrays;
    for (const Global* global : named_) {
      if (!excluded_.contains(global)) arrays.insert(global);
    }
    return arrays;
  }

 private:
  void use(const Expression& e) {
    if (const auto* index = as<Index>(e)) key(index->array->global, index->indexes);
    if (const auto* in = as<In>(e)) key(in->array->global, in->indexes);
    if (const auto* code = as<Embedded>(e)) exclude(code->globals);
  }
  void key(const Global* array, const std::vector<ExpressionPtr>& keys) {
    const bool named = keys.size() == 1 && keys[0] && calls_execname(*keys[0]);
    (named ? named_ : excluded_).insert(array);
  }
  void exclude_target(const Expression& target) {
    if (const auto* index = as<Index>(target)) excluded_.insert(index->array->global);
  }
  void exclude_embedded(const Statement& s) {
    if (const auto* code = as<EmbeddedStatement>(s)) exclude(code->globals);
    for_each_statement(s, [&](const Statement& inner) { exclude_embedded(inner); });
  }
  void exclude(const EmbeddedGlobals& globals) {
    excluded_.insert(globals.read.begin(), globals.read.end());
    excluded_.insert(globals.written.begin(), globals.written.end());
  }

  std::set<const Global*> named_, excluded_;
};

}  // namespace

bool calls_execname(const Expression& x) {
  const auto* call = as<Call>(x);
  return call && call->intrinsic >= 0 && intrinsics()[static_cast<size_t>(call->intrinsic)].name == "execname";
}

std::set<const Global*> arrays_keyed_by_name(const Program& program) {
  NameKeySearch search;
  for (const Probe& probe : program.probes) {
    if (probe.kind == ProbeKind::kNever) continue;
    if (probe.domain == Domain::kController) {
      search.visit_controller(*probe.body);
      continue;
    }
    if (probe.condition) search.visit(*probe.condition);
    for (const ExpressionPtr& save : probe.entry_saves) search.visit(*save);
    search.visit(*probe.body);
  }
  // A function may be called by handlers anywhere.
  for (const Function* function : program.functions) {
    if (function->body) search.visit(*function->body);
  }
  return search.found();
}

}  // namespace spile::sema
