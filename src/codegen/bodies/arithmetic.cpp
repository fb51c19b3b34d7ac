#include "codegen/bodies/arithmetic.h"

namespace spile::codegen {

// The error of a division points at its operator.
SourceRange operator_range(SourceRange whole, const syntax::Expression& left, const syntax::Expression& right) {
  if (!whole || left.range.file != whole.file || right.range.file != whole.file) return whole;
  if (left.range.end > right.range.begin || left.range.end < whole.begin || right.range.begin > whole.end) return whole;
  std::string_view between = whole.file->text().substr(left.range.end, right.range.begin - left.range.end);
  size_t at = between.find_first_of("/%");
  if (at == between.npos) return whole;
  whole.begin = left.range.end + static_cast<uint32_t>(at);
  return whole;
}

llvm::Value* Arithmetic::binary(syntax::Binary::Operator op, llvm::Value* left, llvm::Value* right, SourceRange range) {
  using Operator = syntax::Binary::Operator;
  auto count = [&] { return b.CreateSelect(b.CreateICmpULT(right, number(64)), right, number(0)); };
  switch (op) {
    case Operator::kAdd: return b.CreateAdd(left, right);
    case Operator::kSubtract: return b.CreateSub(left, right);
    case Operator::kMultiply: return b.CreateMul(left, right);
    case Operator::kDivide: return divide(false, left, right, range);
    case Operator::kModulo: return divide(true, left, right, range);
    case Operator::kShiftLeft: return b.CreateShl(left, count());
    case Operator::kShiftRight: return b.CreateAShr(left, count());
    case Operator::kShiftRightLogical: return b.CreateLShr(left, count());
    case Operator::kAnd: return b.CreateAnd(left, right);
    case Operator::kOr: return b.CreateOr(left, right);
    case Operator::kXor: return b.CreateXor(left, right);
  }
  CHECK(false);
}

// Whether the operator that `range` begins with is that of an assignment: /= %=
static bool assigns(SourceRange range) { return range && range.text().size() > 1 && range.text()[1] == '='; }

// Division by zero is a script error. By -1 the machine would trap on the most negative number, so the result is a negation.
llvm::Value* Arithmetic::divide(bool modulo, llvm::Value* left, llvm::Value* right, SourceRange range) {
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(right); constant && !constant->isZero() && !constant->isMinusOne()) {
    return modulo ? b.CreateSRem(left, right) : b.CreateSDiv(left, right);
  }
  errors_.raise_if(b.CreateICmpEQ(right, number(0)), range,
                   std::string("division by 0 near operator '") + (modulo ? "%" : "/") + (assigns(range) ? "=" : "") + "'");
  llvm::Value* is_minus_one = b.CreateICmpEQ(right, number(-1));
  llvm::Value* safe = b.CreateSelect(is_minus_one, number(1), right);
  llvm::Value* by_minus_one = modulo ? number(0) : b.CreateNeg(left);
  return b.CreateSelect(is_minus_one, by_minus_one, modulo ? b.CreateSRem(left, safe) : b.CreateSDiv(left, safe));
}

llvm::Value* Arithmetic::widen_float(llvm::Value* bits) {
  constexpr int64_t kBiases = 1023 - 127, kLowest = 149;  // a float is a multiple of 2^-149
  llvm::Value* sign = b.CreateShl(b.CreateAnd(bits, number(0x80000000)), 32);
  llvm::Value* size = b.CreateAnd(bits, number(0x7fffffff));
  llvm::Value* shifted = b.CreateShl(size, 29);
  llvm::Value* normal = b.CreateAdd(shifted, number(kBiases << 52));
  llvm::Value* special = b.CreateOr(shifted, number(int64_t{0x7ff} << 52));  // infinite, or no number
  // Below the least normal float: the leading one becomes the implied bit, and its place the exponent.
  llvm::Value* zeros = b.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, b.CreateOr(size, number(1)), b.getFalse());
  llvm::Value* fraction = b.CreateAnd(b.CreateShl(size, b.CreateSub(zeros, number(11))), number((int64_t{1} << 52) - 1));
  llvm::Value* exponent = b.CreateShl(b.CreateSub(number(63 + 1023 - kLowest), zeros), 52);
  llvm::Value* subnormal = b.CreateSelect(b.CreateICmpEQ(size, number(0)), number(0), b.CreateOr(exponent, fraction));
  llvm::Value* value = b.CreateSelect(b.CreateICmpUGE(size, number(0x7f800000)), special, normal);
  return b.CreateOr(sign, b.CreateSelect(b.CreateICmpULT(size, number(0x800000)), subnormal, value));
}

}  // namespace spile::codegen
