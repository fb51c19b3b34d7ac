#include "sema/targets/function_targets.h"

#include "sema/terms/embedded_code.h"
#include "sema/terms/enum_names.h"
#include "sema/terms/fold.h"
#include "sema/terms/target_texts.h"
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

// @cast(...)->in$, @var("x", "module")$$: a sprintf of the members.
void expand_pretty(Elaboration& e, ExpressionPtr& slot) {
  auto* operation = as<AtOperation>(slot);
  if (!operation || !is_pretty(operation->path)) return;
  const bool deep = operation->path.back().kind == PathStep::Kind::kPrettyDeep;
  ExpressionPtr base = without_pretty(*slot);
  auto parts = e.target.pretty_without_point(static_cast<AtOperation&>(*base), deep);
  if (parts.ok()) slot = sprintf_of(*base, *parts, Domain::kTarget, e.program.limits);
  else e.diagnostics.error(slot->range, parts.error().message).hint(parts.error().hint);
}

// @sizeof("type", "module"), @const("NAME"): a number.
void fold_size(Elaboration& e, ExpressionPtr& slot) {
  auto* operation = as<AtOperation>(slot);
  if (!operation || (operation->name != "@sizeof" && operation->name != "@const")) return;
  Result<Binding> size = e.target.bind_without_point(*operation);
  if (!size.ok()) return;  // reported when it is bound
  slot = std::make_unique<Number>(slot->range, std::get<location::Constant>(size->ops.front()).value);
}

}  // namespace

std::vector<Binding> bind_function(Elaboration& e, Function& function) {
  std::vector<Binding> bindings;
  if (!function.body) return bindings;
  answer_defined(e, function.body);
  rewrite(*function.body, [&](ExpressionPtr& slot) {
    auto named = expand_enum_name(e, nullptr, true, slot);
    if (!named.ok()) e.diagnostics.error(slot->range, named.error().message).hint(named.error().hint);
    expand_pretty(e, slot);
    fold_size(e, slot);
    fold_constant_of_c(e, slot);
  });
  for_each_expression(static_cast<Statement&>(*function.body), [&](Expression& x) {
    auto* operation = as<AtOperation>(x);
    // reported
    if (!operation || operation->name == "@enumname" || operation->name == "@enum_name" || is_pretty(operation->path)) return;
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

bool fold_constant_of_c(Elaboration& e, ExpressionPtr& slot) {
  auto* code = as<Embedded>(slot);
  const std::string name = code ? name_in_c(code->code) : std::string();
  if (name.empty()) return false;
  for (const Script& script : e.program.scripts) {
    for (const TopLevelEmbedded& piece : script.embedded) {
      if (piece.code.find(name) != std::string::npos) return false;
    }
  }
  AtOperation constant(slot->range);
  constant.name = "@const";
  constant.arguments.push_back(std::make_unique<String>(slot->range, name));
  Result<Binding> value = e.target.bind_without_point(constant);
  if (!value.ok()) return false;
  slot = std::make_unique<Number>(slot->range, std::get<location::Constant>(value->ops.front()).value);
  return true;
}

}  // namespace spile::sema
