// lower-additions: `n = n + x` of a global is `n += x`, and `a[k] = a[k] - x` is `a[k] -= x`, so that classify-globals sees an
// addition: that of a global that is not read otherwise needs no lock.

#include "sema/terms/elaboration.h"
#include "sema/terms/fold.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

bool calls(const Expression& x) {
  bool any = false;
  for_each_expression(x, [&](const Expression& e) { any |= e.kind == ExpressionKind::kCall; });
  return any;
}

// Whether both are the same global, or the same element of one. Calls in keys may return something else the second time.
bool is_same_global(const Expression& a, const Expression& b) {
  if (const auto *x = as<Variable>(a), *y = as<Variable>(b); x && y) return x->global && x->global == y->global;
  const auto *x = as<Index>(a), *y = as<Index>(b);
  if (!x || !y || x->array->global != y->array->global || x->indexes.size() != y->indexes.size()) return false;
  for (size_t i = 0; i < x->indexes.size(); ++i) {
    const ExpressionPtr &key = x->indexes[i], &other = y->indexes[i];
    if (!key || !other || !is_pure(*key) || calls(*key) || to_source(*key) != to_source(*other)) return false;
  }
  return true;
}

void lower(ExpressionPtr& slot) {
  auto* assignment = as<Assignment>(slot);
  if (!assignment || assignment->op != Assignment::Operator::kSet) return;
  auto* sum = as<Binary>(assignment->value);
  if (!sum || (sum->op != Binary::Operator::kAdd && sum->op != Binary::Operator::kSubtract)) return;
  if (!is_same_global(*assignment->target, *sum->left) || !is_pure(*sum->right)) return;
  assignment->op = Assignment::Operator::kArithmetic;
  assignment->arithmetic = sum->op;
  ExpressionPtr added = std::move(sum->right);
  assignment->value = std::move(added);
}

}  // namespace

void lower_additions(Elaboration& e) {
  for (Probe& probe : e.program.probes) rewrite(*probe.body, lower);
  for (Function* function : e.program.functions) {
    if (function->body) rewrite(*function->body, lower);
  }
}

}  // namespace spile::sema
