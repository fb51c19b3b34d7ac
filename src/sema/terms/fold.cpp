#include "sema/terms/fold.h"

#include <limits>
#include <optional>

#include "sema/terms/elaboration.h"
#include "sema/terms/embedded_code.h"
#include "sema/terms/intrinsics.h"
#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

std::optional<int64_t> evaluate(Binary::Operator op, int64_t a, int64_t b) {
  // Wrapping, as the machine does it.
  auto ua = static_cast<uint64_t>(a);
  auto ub = static_cast<uint64_t>(b);
  unsigned shift = ub < 64 ? static_cast<unsigned>(ub) : 0;  // as the lowering does it
  switch (op) {
    case Binary::Operator::kAdd: return static_cast<int64_t>(ua + ub);
    case Binary::Operator::kSubtract: return static_cast<int64_t>(ua - ub);
    case Binary::Operator::kMultiply: return static_cast<int64_t>(ua * ub);
    case Binary::Operator::kDivide:
      if (b == 0) return std::nullopt;
      return b == -1 ? static_cast<int64_t>(0 - ua) : a / b;
    case Binary::Operator::kModulo:
      if (b == 0) return std::nullopt;
      return b == -1 ? 0 : a % b;
    case Binary::Operator::kShiftLeft: return static_cast<int64_t>(ua << shift);
    case Binary::Operator::kShiftRight: return a >> shift;
    case Binary::Operator::kShiftRightLogical: return static_cast<int64_t>(ua >> shift);
    case Binary::Operator::kAnd: return a & b;
    case Binary::Operator::kOr: return a | b;
    case Binary::Operator::kXor: return a ^ b;
  }
  return std::nullopt;
}

template <typename T>
bool compare(Compare::Operator op, const T& a, const T& b) {
  switch (op) {
    case Compare::Operator::kEqual: return a == b;
    case Compare::Operator::kNotEqual: return a != b;
    case Compare::Operator::kLess: return a < b;
    case Compare::Operator::kLessEqual: return a <= b;
    case Compare::Operator::kGreater: return a > b;
    case Compare::Operator::kGreaterEqual: return a >= b;
  }
  return false;
}

ExpressionPtr number(const Expression& from, int64_t value) {
  auto made = std::make_unique<Number>(from.range, value);
  made->type = ValueType::kLong;
  return made;
}

ExpressionPtr folded(const Unary& e) {
  auto* operand = as<Number>(e.operand);
  if (!operand) return nullptr;
  switch (e.op) {
    case Unary::Operator::kPlus: return number(e, operand->value);
    case Unary::Operator::kMinus: return number(e, static_cast<int64_t>(0 - static_cast<uint64_t>(operand->value)));
    case Unary::Operator::kNot: return number(e, operand->value == 0);
    case Unary::Operator::kBitNot: return number(e, ~operand->value);
  }
  return nullptr;
}

ExpressionPtr folded(const Binary& e) {
  auto* left = as<Number>(e.left);
  auto* right = as<Number>(e.right);
  if (!left || !right) return nullptr;
  auto value = evaluate(e.op, left->value, right->value);
  return value ? number(e, *value) : nullptr;
}

ExpressionPtr folded(const Compare& e) {
  if (auto *left = as<Number>(e.left), *right = as<Number>(e.right); left && right) {
    return number(e, compare(e.op, left->value, right->value));
  }
  // Longer ones may be cut off at MAXSTRINGLEN first, which is at least 16.
  constexpr size_t kNeverCut = 15;
  auto *left = as<String>(e.left), *right = as<String>(e.right);
  if (left && right && left->value.size() <= kNeverCut && right->value.size() <= kNeverCut) {
    return number(e, compare(e.op, left->value, right->value));
  }
  return nullptr;
}

ExpressionPtr folded(const Logical& e) {
  auto* left = as<Number>(e.left);
  if (!left) return nullptr;
  if (e.is_and ? left->value == 0 : left->value != 0) return number(e, !e.is_and);
  auto* right = as<Number>(e.right);
  return right ? number(e, right->value != 0) : nullptr;
}

ExpressionPtr folded(const Concatenation& e) {
  auto *left = as<String>(e.left), *right = as<String>(e.right);
  if (!left || !right) return nullptr;
  auto joined = std::make_unique<String>(e.range, left->value + right->value);
  joined->type = ValueType::kString;
  return joined;
}

void fold_one(ExpressionPtr& slot) {
  ExpressionPtr better;
  switch (slot->kind) {
    case ExpressionKind::kUnary: better = folded(*as<Unary>(slot)); break;
    case ExpressionKind::kBinary: better = folded(*as<Binary>(slot)); break;
    case ExpressionKind::kCompare: better = folded(*as<Compare>(slot)); break;
    case ExpressionKind::kLogical: better = folded(*as<Logical>(slot)); break;
    case ExpressionKind::kConcatenation: better = folded(*as<Concatenation>(slot)); break;
    case ExpressionKind::kTernary: {
      auto* ternary = as<Ternary>(slot);
      auto* condition = as<Number>(ternary->condition);
      if (condition) better = std::move(condition->value ? ternary->if_true : ternary->if_false);
      break;
    }
    default: return;
  }
  if (better) slot = std::move(better);
}

bool is_null(const StatementPtr& s) { return !s || s->kind == StatementKind::kNull; }

void fold_one(StatementPtr& slot) {
  auto null = [&] { return std::make_unique<Null>(slot->range); };
  if (auto* block = as<Block>(slot)) {
    std::erase_if(block->statements, is_null);
  } else if (auto* branch = as<If>(slot)) {
    auto* condition = as<Number>(branch->condition);
    if (!condition) return;
    StatementPtr taken = std::move(condition->value ? branch->then_branch : branch->else_branch);
    slot = taken ? std::move(taken) : null();
  } else if (auto* loop = as<While>(slot)) {
    auto* condition = as<Number>(loop->condition);
    if (condition && condition->value == 0) slot = null();
  } else if (auto* loop = as<For>(slot)) {
    auto* condition = as<Number>(loop->condition);
    if (!condition || condition->value != 0) return;
    if (!loop->init) {
      slot = null();
      return;
    }
    auto init = std::make_unique<ExpressionStatement>(loop->init->range);
    init->expression = std::move(loop->init);
    slot = std::move(init);
  }
}

}  // namespace

void fold(ExpressionPtr& slot) {
  rewrite(slot, [](ExpressionPtr& inner) { fold_one(inner); });
}

void fold(StatementPtr& slot) {
  rewrite(*slot, [](ExpressionPtr& inner) { fold_one(inner); });
  rewrite_statements(slot, [](StatementPtr& inner) { fold_one(inner); });
}

bool is_pure(const Expression& expression, const std::function<bool(const Call&)>& call_is_pure) {
  bool pure = true;
  for_each_expression(expression, [&](const Expression& e) {
    switch (e.kind) {
      case ExpressionKind::kIncrement:
      case ExpressionKind::kAssignment:
      case ExpressionKind::kHistogramIndex:
      case ExpressionKind::kRegex:  // matched() depends on it
        pure = false;
        return;
      case ExpressionKind::kBinary: {
        auto& binary = static_cast<const Binary&>(e);
        bool divides = binary.op == Binary::Operator::kDivide || binary.op == Binary::Operator::kModulo;
        auto* divisor = as<Number>(binary.right);
        if (divides && (!divisor || divisor->value == 0)) pure = false;
        return;
      }
      case ExpressionKind::kStatistic:
        // @avg and its like of an empty aggregate are script errors.
        if (static_cast<const Statistic&>(e).op != Statistic::Operator::kCount) pure = false;
        return;
      case ExpressionKind::kEmbedded:
        if (!embedded_traits(static_cast<const Embedded&>(e).code).pure) pure = false;
        return;
      case ExpressionKind::kPrint:
        if (static_cast<const Print&>(e).to_stream) pure = false;
        return;
      case ExpressionKind::kCall: {
        auto& call = static_cast<const Call&>(e);
        bool is_pure = call.intrinsic >= 0 ? intrinsics()[call.intrinsic].pure : call_is_pure && call_is_pure(call);
        if (!is_pure) pure = false;
        return;
      }
      default: return;
    }
  });
  return pure;
}

// fold-constants, the pass.
void fold_constants(Elaboration& e) {
  auto fold_body = [](std::unique_ptr<Block>& body) {
    StatementPtr slot = std::move(body);
    fold(slot);
    body.reset(static_cast<Block*>(slot.release()));  // a Block stays one
  };
  for (Probe& probe : e.program.probes) {
    fold_body(probe.body);
    if (probe.condition) fold(probe.condition);
    for (ExpressionPtr& save : probe.entry_saves) fold(save);
  }
  for (Function* function : e.program.functions) {
    if (function->body) fold(function->body);
  }
}

}  // namespace spile::sema
