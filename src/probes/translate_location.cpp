#include "probes/translate_location.h"

#include "abi/machine.h"
#include "base/check.h"

namespace spile::probes {

namespace {

using debuginfo::Opcode;
using sema::LocationOp;
using Kind = LocationOp::Kind;

// One operation of debug information as operations of a binding. Both are stack machines, and nearly the same one.
class Translator {
 public:
  Translator(Moment moment, FileAddress function, bool other_module)
      : moment_(moment), function_(function), bias_(other_module ? Kind::kModuleBias : Kind::kLoadBias) {}

  std::vector<LocationOp> translate(const debuginfo::Operations& operations) {
    for (const debuginfo::Operation& operation : operations) add(operation);
    return std::move(ops_);
  }

 private:
  void push(Kind kind, int64_t value = 0, uint8_t size = 8, bool is_signed = false) {
    ops_.push_back({kind, value, size, is_signed});
  }

  void add(const debuginfo::Operation& operation) {
    switch (operation.opcode) {
      case Opcode::kRegister:
        add_register(operation.value);
        return;
      case Opcode::kConstant:
        push(Kind::kConstant, operation.value);
        return;
      case Opcode::kAddress:
        push(bias_);
        add_constant(operation.value);
        return;
      case Opcode::kIndex:
        push(Kind::kIndex, operation.value);
        return;
      case Opcode::kThreadPointer:
        push(Kind::kThreadPointer);
        return;
      case Opcode::kThreadBlock:
        push(Kind::kThreadBlock);
        return;
      case Opcode::kThreadLocal:  // none is left
        CHECK(false);
        return;
      case Opcode::kEntryValue:
        push(Kind::kEntryValue, static_cast<int64_t>(function_.value), static_cast<uint8_t>(operation.value));
        return;
      case Opcode::kOffset:
        add_constant(operation.value);
        return;
      case Opcode::kDeref:
        push(Kind::kLoad, 0, operation.size, operation.is_signed);
        return;
      case Opcode::kExtend:
        push(Kind::kExtend, 0, operation.size, operation.is_signed);
        return;
      case Opcode::kExtract:
        push(Kind::kBitField, operation.value, operation.size, operation.is_signed);
        return;
      case Opcode::kAdd:
        push(Kind::kAdd);
        return;
      case Opcode::kSub:
        push(Kind::kSubtract);
        return;
      case Opcode::kMul:
        push(Kind::kMultiply);
        return;
      case Opcode::kDiv:
        push(Kind::kDivide);
        return;
      case Opcode::kMod:
        push(Kind::kModulo);
        return;
      case Opcode::kAnd:
        push(Kind::kAnd);
        return;
      case Opcode::kOr:
        push(Kind::kOr);
        return;
      case Opcode::kXor:
        push(Kind::kXor);
        return;
      case Opcode::kShl:
        push(Kind::kShiftLeft);
        return;
      case Opcode::kShr:
        push(Kind::kShiftRight);
        return;
      case Opcode::kShra:
        push(Kind::kShiftRightArithmetic);
        return;
      case Opcode::kEq:
        push(Kind::kEqual);
        return;
      case Opcode::kNe:
        push(Kind::kNotEqual);
        return;
      case Opcode::kLt:
        push(Kind::kLess);
        return;
      case Opcode::kLe:
        push(Kind::kLessEqual);
        return;
      case Opcode::kGt:
        push(Kind::kGreater);
        return;
      case Opcode::kGe:
        push(Kind::kGreaterEqual);
        return;
      case Opcode::kNeg:
        push(Kind::kNegate);
        return;
      case Opcode::kNot:
        push(Kind::kNot);
        return;
      case Opcode::kAbs:
        push(Kind::kAbsolute);
        return;
      case Opcode::kDup:
        push(Kind::kDuplicate);
        return;
      case Opcode::kDrop:
        push(Kind::kDrop);
        return;
      case Opcode::kSwap:
        push(Kind::kSwap);
        return;
      case Opcode::kRot:
        push(Kind::kRotate);
        return;
      case Opcode::kPick:
        push(Kind::kPick, operation.value);
        return;
      case Opcode::kWiden:
        push(Kind::kWiden);
        return;
    }
  }

  // The stack pointer follows from the CFA on both sides of a function: nothing needs saving for it.
  void add_register(int64_t number) {
    if (number != abi::kConvention.stack_pointer) {
      push(Kind::kRegister, number);
      return;
    }
    if (moment_ == Moment::kInside || moment_ == Moment::kCall) push(Kind::kRegister, number);
    else push(Kind::kCfa);
    // The call that is about to be made will push the return address.
    if (moment_ == Moment::kEntry || moment_ == Moment::kCall) add_constant(-abi::kConvention.entry_cfa);
  }

  void add_constant(int64_t value) {
    if (value == 0) return;
    bool folds = !ops_.empty() && ops_.back().kind == Kind::kAdd && ops_.size() >= 2 &&
                 ops_[ops_.size() - 2].kind == Kind::kConstant;
    if (folds) {
      ops_[ops_.size() - 2].value += value;
      return;
    }
    push(Kind::kConstant, value);
    push(Kind::kAdd);
  }

  Moment moment_;
  FileAddress function_;
  Kind bias_;
  std::vector<LocationOp> ops_;
};

}  // namespace

Moment moment_of(const sema::ResolvedPoint& point, bool at_entry) {
  if (point.site.callee.value != 0 && !point.site.tail_call) return Moment::kCall;
  if (point.kind == sema::ProbeKind::kStatement) return Moment::kInside;
  return at_entry ? Moment::kEntry : Moment::kReturn;
}

std::vector<LocationOp> translate(const debuginfo::Operations& operations, Moment moment, FileAddress function,
                                  bool other_module) {
  return Translator(moment, function, other_module).translate(operations);
}

}  // namespace spile::probes
