// Expressions without side effects of their own: literals, variables, arithmetic, logic, comparison, concatenation.

#include "codegen/bodies/lowering.h"
#include "syntax/visitor.h"

namespace spile::codegen {

using syntax::ExpressionKind;

bool may_write(const syntax::Expression& expression) {
  bool writes = false;
  syntax::for_each_expression(expression, [&](const syntax::Expression& e) {
    const auto* call = syntax::as<syntax::Call>(e);
    writes |= e.kind == ExpressionKind::kAssignment || e.kind == ExpressionKind::kIncrement || (call && call->function);
  });
  return writes;
}

llvm::Value* Lowering::lower(const syntax::Expression& e) {
  switch (e.kind) {
    case ExpressionKind::kNumber: return number(syntax::as<syntax::Number>(e)->value);
    case ExpressionKind::kString: {
      std::string_view text = syntax::as<syntax::String>(e)->value;
      return unit.module.text(text.substr(0, unit.layout.string_limit - 1));
    }
    case ExpressionKind::kVariable: return lower_variable(*syntax::as<syntax::Variable>(e));
    case ExpressionKind::kIndex: return lower_element(*syntax::as<syntax::Index>(e));
    case ExpressionKind::kTargetVariable:
    case ExpressionKind::kAtOperation:
    case ExpressionKind::kDereference: return read_target(e);
    case ExpressionKind::kUnary: return lower_unary(*syntax::as<syntax::Unary>(e));
    case ExpressionKind::kIncrement: return lower_increment(*syntax::as<syntax::Increment>(e));
    case ExpressionKind::kBinary: return lower_binary(*syntax::as<syntax::Binary>(e));
    case ExpressionKind::kConcatenation: return lower_concatenation(*syntax::as<syntax::Concatenation>(e));
    case ExpressionKind::kTernary: return lower_ternary(*syntax::as<syntax::Ternary>(e));
    case ExpressionKind::kComma: lower(*syntax::as<syntax::Comma>(e)->left); return lower(*syntax::as<syntax::Comma>(e)->right);
    case ExpressionKind::kAssignment: return lower_assignment(*syntax::as<syntax::Assignment>(e));
    case ExpressionKind::kLogical:
    case ExpressionKind::kCompare:
    case ExpressionKind::kIn:
    case ExpressionKind::kRegex: return b.CreateZExt(lower_condition(e), b.getInt64Ty());
    case ExpressionKind::kCall: return lower_call(*syntax::as<syntax::Call>(e));
    case ExpressionKind::kPrint: return lower_print(*syntax::as<syntax::Print>(e));
    case ExpressionKind::kStatistic: return lower_statistic(*syntax::as<syntax::Statistic>(e));
    case ExpressionKind::kHistogramIndex: return lower_histogram_index(*syntax::as<syntax::HistogramIndex>(e));
    case ExpressionKind::kEntryValue: return target_.entry_value(*syntax::as<syntax::EntryValue>(e));
    case ExpressionKind::kEmbedded: return lower_embedded(*syntax::as<syntax::Embedded>(e));
    case ExpressionKind::kPerf: return lower_counter(*syntax::as<syntax::Perf>(e));
    case ExpressionKind::kHistogram: unit.refuse(e.range, "a histogram can only be printed, iterated or subscripted"); break;
    case ExpressionKind::kDefined: unit.refuse(e.range, "@defined was not resolved"); break;
    case ExpressionKind::kEntry: unit.refuse(e.range, "@entry is only possible in return probes"); break;
  }
  return e.type == ValueType::kString ? static_cast<llvm::Value*>(unit.module.text("")) : number(0);
}

llvm::Value* Lowering::lower_condition(const syntax::Expression& e) {
  if (const auto* compare = syntax::as<syntax::Compare>(e)) return lower_compare(*compare);
  if (const auto* logical = syntax::as<syntax::Logical>(e)) return lower_logical(*logical);
  if (const auto* in = syntax::as<syntax::In>(e)) return lower_in(*in);
  if (const auto* regex = syntax::as<syntax::Regex>(e)) return lower_regex(*regex);
  if (const auto* unary = syntax::as<syntax::Unary>(e); unary && unary->op == syntax::Unary::Operator::kNot) {
    return b.CreateNot(lower_condition(*unary->operand));
  }
  if (e.type == ValueType::kString) {  // true where it isn't empty
    llvm::Value* first = b.CreateLoad(b.getInt8Ty(), lower(e));
    return b.CreateICmpNE(first, b.getInt8(0));
  }
  return b.CreateICmpNE(lower(e), number(0));
}

llvm::Value* Lowering::lower_variable(const syntax::Variable& variable) {
  if (variable.local) {
    if (variable.local->type == ValueType::kString) return frame_.string_of(*variable.local);
    return b.CreateLoad(b.getInt64Ty(), frame_.long_of(*variable.local));
  }
  const syntax::Global& global = *variable.global;
  llvm::Value* handle = unit.place.global(body, global);
  if (global.type == ValueType::kString) return call("spile_rt_string_get", unit.module.ptr(), {context, handle});
  if (is_atomic(variable)) {
    llvm::LoadInst* load = b.CreateAlignedLoad(b.getInt64Ty(), handle, llvm::Align(8));
    load->setAtomic(llvm::AtomicOrdering::Monotonic);
    return load;
  }
  return call("spile_rt_long_get", unit.module.i64(), {context, handle});
}

llvm::Value* Lowering::lower_unary(const syntax::Unary& unary) {
  using Operator = syntax::Unary::Operator;
  if (unary.op == Operator::kNot) return b.CreateZExt(b.CreateNot(lower_condition(*unary.operand)), b.getInt64Ty());
  llvm::Value* operand = lower(*unary.operand);
  if (unary.op == Operator::kMinus) return b.CreateNeg(operand);
  return unary.op == Operator::kBitNot ? b.CreateNot(operand) : operand;
}

llvm::Value* Lowering::lower_binary(const syntax::Binary& binary) {
  llvm::Value* left = lower(*binary.left);
  llvm::Value* right = lower(*binary.right);
  return arithmetic_.binary(binary.op, left, right, operator_range(binary.range, *binary.left, *binary.right));
}

// i1; the right side is only evaluated where the left one doesn't decide.
llvm::Value* Lowering::lower_logical(const syntax::Logical& logical) {
  llvm::Value* left = lower_condition(*logical.left);
  llvm::BasicBlock* from_left = b.GetInsertBlock();
  llvm::BasicBlock* right_block = block("logical.right");
  llvm::BasicBlock* done = block("logical.done");
  if (logical.is_and) b.CreateCondBr(left, right_block, done);
  else b.CreateCondBr(left, done, right_block);
  b.SetInsertPoint(right_block);
  llvm::Value* right = lower_condition(*logical.right);
  llvm::BasicBlock* from_right = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* result = b.CreatePHI(b.getInt1Ty(), 2);
  result->addIncoming(b.getInt1(!logical.is_and), from_left);
  result->addIncoming(right, from_right);
  return result;
}

llvm::Value* Lowering::lower_compare(const syntax::Compare& compare) {
  using Operator = syntax::Compare::Operator;
  std::vector<llvm::Value*> sides = lower_operands({compare.left.get(), compare.right.get()});
  llvm::Value *left = sides[0], *right = sides[1];
  if (compare.left->type == ValueType::kString) {
    left = call("spile_rt_string_compare", unit.module.i32(), {left, right});
    right = b.getInt32(0);
  }
  switch (compare.op) {
    case Operator::kEqual: return b.CreateICmpEQ(left, right);
    case Operator::kNotEqual: return b.CreateICmpNE(left, right);
    case Operator::kLess: return b.CreateICmpSLT(left, right);
    case Operator::kLessEqual: return b.CreateICmpSLE(left, right);
    case Operator::kGreater: return b.CreateICmpSGT(left, right);
    case Operator::kGreaterEqual: return b.CreateICmpSGE(left, right);
  }
  CHECK(false);
}

llvm::Value* Lowering::lower_concatenation(const syntax::Concatenation& concatenation) {
  std::vector<llvm::Value*> sides = lower_operands({concatenation.left.get(), concatenation.right.get()});
  llvm::Value* out = frame_.temporary_string();
  call("spile_rt_string_concatenate", unit.module.none(), {out, sides[0], sides[1]});
  return out;
}

llvm::Value* Lowering::lower_ternary(const syntax::Ternary& ternary) {
  llvm::BasicBlock* if_true = block("ternary.true");
  llvm::BasicBlock* if_false = block("ternary.false");
  llvm::BasicBlock* done = block("ternary.done");
  b.CreateCondBr(lower_condition(*ternary.condition), if_true, if_false);
  b.SetInsertPoint(if_true);
  llvm::Value* true_value = lower(*ternary.if_true);
  llvm::BasicBlock* from_true = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(if_false);
  llvm::Value* false_value = lower(*ternary.if_false);
  llvm::BasicBlock* from_false = b.GetInsertBlock();
  b.CreateBr(done);
  b.SetInsertPoint(done);
  llvm::PHINode* result = b.CreatePHI(true_value->getType(), 2);
  result->addIncoming(true_value, from_true);
  result->addIncoming(false_value, from_false);
  return result;
}

std::vector<llvm::Value*> Lowering::lower_operands(llvm::ArrayRef<const syntax::Expression*> operands) {
  std::vector<llvm::Value*> values;
  for (size_t i = 0; i < operands.size(); ++i) {
    llvm::Value* value = lower(*operands[i]);
    bool overwritten_later = operands[i]->type == ValueType::kString && operands[i]->kind != ExpressionKind::kString &&
                             std::any_of(operands.begin() + i + 1, operands.end(), [](auto* e) { return may_write(*e); });
    values.push_back(overwritten_later ? frame_.copied(value) : value);
  }
  return values;
}

}  // namespace spile::codegen
