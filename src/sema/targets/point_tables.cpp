#include "sema/targets/point_tables.h"

#include <algorithm>

#include "abi/point_tables.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

// How far an operation raises the stack. nullopt: a table cannot have the operation.
std::optional<int> effect_in_table(const location::Operation& operation) {
  using Effect = std::optional<int>;
  return location::visit(
      operation, [](location::Register) { return Effect(1); }, [](location::Constant) { return Effect(1); },
      [](location::CallFrameCfa) { return Effect(1); },
      [](const location::Address& address) { return address.in_other_module ? Effect() : Effect(1); },
      [](location::PlusConstant) { return Effect(0); }, [](location::Deref) { return Effect(0); },
      [](location::Convert) { return Effect(0); }, [](location::BitField) { return Effect(0); },
      [](const location::EntryValue&) { return Effect(0); }, [](location::Unary) { return Effect(0); },
      [](location::Binary) { return Effect(-1); },
      [](location::Stack stack) {
        if (stack == location::Stack::kDup) return Effect(1);
        return stack == location::Stack::kDrop ? Effect(-1) : Effect(0);
      },
      [](location::Pick) { return Effect(1); }, [](const auto&) { return Effect(); });
}

bool writes_variable(const Draft& draft) {
  bool writes = false;
  for_each_expression(static_cast<const Statement&>(*draft.body), [&](const Expression& x) {
    const Expression* target = nullptr;
    if (auto* assignment = as<Assignment>(x)) target = assignment->target.get();
    if (auto* increment = as<Increment>(x)) target = increment->operand.get();
    writes |= target && (target->kind == ExpressionKind::kTargetVariable || target->kind == ExpressionKind::kAtOperation);
  });
  return writes;
}

}  // namespace

bool fits_table(const Binding& binding) {
  if (binding.by_point != Binding::ByPoint::kNo || binding.ops.empty() || binding.ops.size() > abi::kMostPlaceSteps) return false;
  if (binding.reads_kernel_memory || binding.string_in_context || !binding.other_module.empty()) return false;
  int depth = 0;
  for (const location::Operation& operation : binding.ops) {
    const std::optional<int> effect = effect_in_table(operation);
    if (!effect) return false;
    depth += *effect;
    if (depth > static_cast<int>(abi::kPlaceStack)) return false;
  }
  return true;
}

bool may_use_tables(const Draft& draft, const Program& program) {
  bool in_kernel = false;
  const bool in_code = std::ranges::all_of(draft.points, [&](const ResolvedPoint& point) {
    in_kernel |= point.domain == Domain::kKernel;
    const bool of_process =
        point.domain == Domain::kTarget || (point.domain == Domain::kKernel && !point.site.kernel && !point.site.module.empty());
    return of_process && info(point.kind).source == Source::kCode && info(point.kind).has_variables() &&
           !is_system_call(point.kind);
  });
  if (!in_code || writes_variable(draft)) return false;
  return !in_kernel || (draft.points.size() > 1 && program.kernel_has_arena && program.kernel_has_arena());
}

Binding PointTable::add_value(Binding exact) {
  auto known = std::ranges::find_if(values_, [&](const auto& value) { return value.first == exact; });
  Binding shared;
  shared.type = exact.type;
  shared.target_type = exact.target_type;
  shared.by_point = Binding::ByPoint::kValue;
  shared.slot = known == values_.end() ? static_cast<uint32_t>(slots_.size()) : known->second;
  if (known == values_.end()) {
    slots_.push_back({PointVariable{.text = {}, .ops = exact.ops, .type = exact.type, .string_limit = exact.string_limit}});
    values_.emplace_back(std::move(exact), shared.slot);
  }
  return shared;
}

Binding PointTable::add_list(PointSlot list) {
  Binding shared;
  shared.type = ValueType::kString;
  shared.by_point = Binding::ByPoint::kVariables;
  shared.slot = static_cast<uint32_t>(slots_.size());
  slots_.push_back(std::move(list));
  return shared;
}

}  // namespace spile::sema
