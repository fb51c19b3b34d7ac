// call-arguments: int_arg(1), pointer_arg(2), returnval() and the like at system calls. At functions they read registers by the
// convention for calls; a system call has its own, so that they become the variables of the point: $arg1, $arg2, $return.

#include <algorithm>
#include <array>

#include "sema/terms/elaboration.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

constexpr int64_t kMostArguments = 6;

// How much of the register a function of this family reads.
struct ArgumentFunction {
  std::string_view name;
  bool is_half = false;  // 32 bits
  bool is_signed = false;
};
constexpr std::array<ArgumentFunction, 11> kFunctions = {{
    {"int_arg", true, true},
    {"s32_arg", true, true},
    {"uint_arg", true, false},
    {"u32_arg", true, false},
    {"long_arg"},
    {"ulong_arg"},
    {"longlong_arg"},
    {"ulonglong_arg"},
    {"s64_arg"},
    {"u64_arg"},
    {"pointer_arg"},
}};

ExpressionPtr variable(SourceRange range, std::string name) {
  auto node = std::make_unique<TargetVariable>(range);
  node->name = std::move(name);
  return node;
}

ExpressionPtr binary(Binary::Operator op, ExpressionPtr left, int64_t right) {
  auto node = std::make_unique<Binary>(left->range);
  node->op = op;
  node->right = std::make_unique<Number>(left->range, right);
  node->left = std::move(left);
  return node;
}

// The low 32 bits, with the sign of the highest of them.
ExpressionPtr half(ExpressionPtr value, bool is_signed) {
  constexpr int64_t kLow = 0xffffffff, kSign = 0x80000000;
  value = binary(Binary::Operator::kAnd, std::move(value), kLow);
  if (!is_signed) return value;
  return binary(Binary::Operator::kSubtract, binary(Binary::Operator::kXor, std::move(value), kSign), kSign);
}

// Returns what stands for the call at a system call; null: something else, which is left as it is.
ExpressionPtr at_system_call(const Call& call, bool at_return) {
  if (call.name == "returnval" && call.arguments.empty()) return at_return ? variable(call.range, "$return") : nullptr;
  for (const ArgumentFunction& each : kFunctions) {
    if (call.name != each.name || call.arguments.size() != 1) continue;
    const auto* number = as<Number>(call.arguments[0]);
    if (!number || number->value < 1 || number->value > kMostArguments) return nullptr;
    ExpressionPtr argument = variable(call.range, "$arg" + std::to_string(number->value));
    return each.is_half ? half(std::move(argument), each.is_signed) : std::move(argument);
  }
  return nullptr;
}

}  // namespace

void name_call_arguments(Elaboration& e) {
  for (Draft& draft : e.drafts) {
    if (draft.points.empty()) continue;
    const ProbeKind kind = draft.points.front().kind;
    if (!is_system_call(kind) ||
        !std::ranges::all_of(draft.points, [&](const ResolvedPoint& point) { return point.kind == kind; }))
      continue;
    auto replace = [&](ExpressionPtr& slot) {
      if (const auto* call = as<Call>(slot)) {
        if (ExpressionPtr other = at_system_call(*call, kind == ProbeKind::kSystemCallReturn)) slot = std::move(other);
      }
    };
    rewrite(*draft.body, replace);
    if (draft.condition) rewrite(draft.condition, replace);
  }
}

}  // namespace spile::sema
