#include "sema/function_targets.h"

#include "sema/enum_names.h"
#include "sema/fold.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

bool binds(Elaboration& e, const Expression& operand) {
  bool all = true;
  for_each_expression(operand, [&](const Expression& x) {
    if (auto* operation = as<AtOperation>(x)) all = all && e.target.bind_without_point(*operation).ok();
    if (x.kind == ExpressionKind::kTargetVariable) all = false;
  });
  return all;
}

void answer_defined(Elaboration& e, StatementPtr& body) {
  bool any = false;
  rewrite(*body, [&](ExpressionPtr& slot) {
    if (auto* defined = as<Defined>(slot)) {
      any = true;
      slot = std::make_unique<Number>(slot->range, binds(e, *defined->operand));
    } else if (auto* choice = as<AtOperation>(slot);
               choice && choice->name == "@choose_defined" && choice->arguments.size() == 2) {
      any = true;
      ExpressionPtr chosen = std::move(choice->arguments[binds(e, *choice->arguments[0]) ? 0 : 1]);
      slot = std::move(chosen);
    }
  });
  if (any) fold(body);
}

}  // namespace

std::vector<Binding> bind_function(Elaboration& e, Function& function) {
  std::vector<Binding> bindings;
  if (!function.body) return bindings;
  answer_defined(e, function.body);
  rewrite(*function.body, [&](ExpressionPtr& slot) {
    auto named = expand_enum_name(e, nullptr, slot);
    if (!named.ok()) e.diagnostics.error(slot->range, named.error().message).hint(named.error().hint);
  });
  for_each_expression(static_cast<Statement&>(*function.body), [&](Expression& x) {
    auto* operation = as<AtOperation>(x);
    if (!operation || operation->name == "@enumname") return;
    Result<Binding> binding = e.target.bind_without_point(*operation);
    if (!binding.ok()) {
      e.diagnostics.error(x.range, binding.error().message).hint(binding.error().hint);
      return;
    }
    operation->binding = static_cast<int>(bindings.size());
    bindings.push_back(std::move(*binding));
  });
  return bindings;
}

}  // namespace spile::sema
