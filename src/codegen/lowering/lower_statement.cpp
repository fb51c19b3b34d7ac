// Statements but foreach and delete, which have files of their own.

#include "codegen/bodies/lowering.h"
#include "syntax/visitor.h"

namespace spile::codegen {

using syntax::StatementKind;

void Lowering::lower(const syntax::Statement& s) {
  if (terminated()) start_dead_block();
  LineScope line(unit.script_lines(), b, s.range);
  switch (s.kind) {
    case StatementKind::kBlock: {
      const auto& statements = *syntax::as<syntax::Block>(s);
      llvm::BasicBlock *outer = next_, *end = statements.ends_at_next ? block("next.end") : nullptr;
      if (end) next_ = end;
      for (const auto& inner : statements.statements) lower(*inner);
      next_ = outer;
      if (!end) return;
      branch_if_open(end);
      b.SetInsertPoint(end);
      return;
    }
    case StatementKind::kExpression: {
      Frame::Temporaries temporaries(frame_);
      lower(*syntax::as<syntax::ExpressionStatement>(s)->expression);
      return;
    }
    case StatementKind::kNull: return;
    case StatementKind::kIf: return lower_if(*syntax::as<syntax::If>(s));
    case StatementKind::kWhile: {
      const auto& loop = *syntax::as<syntax::While>(s);
      return lower_loop(loop.condition.get(), nullptr, *loop.body);
    }
    case StatementKind::kFor: {
      const auto& loop = *syntax::as<syntax::For>(s);
      if (loop.init) {
        Frame::Temporaries temporaries(frame_);
        lower(*loop.init);
      }
      return lower_loop(loop.condition.get(), loop.step.get(), *loop.body);
    }
    case StatementKind::kForeach: return lower_foreach(*syntax::as<syntax::Foreach>(s));
    case StatementKind::kReturn: return lower_return(*syntax::as<syntax::Return>(s));
    case StatementKind::kDelete: {
      Frame::Temporaries temporaries(frame_);
      return lower_delete(*syntax::as<syntax::Delete>(s));
    }
    case StatementKind::kNext:
      errors_.leave_tries(0);
      b.CreateBr(fall_through_ ? fall_through_ : next_);
      return;
    case StatementKind::kBreak:
    case StatementKind::kContinue:
      if (loops_.empty()) return unit.refuse(s.range, "this is only possible in a loop");
      errors_.leave_tries(loops_.back().tries);
      b.CreateBr(s.kind == StatementKind::kBreak ? loops_.back().on_break : loops_.back().on_continue);
      return;
    case StatementKind::kTry: return lower_try(*syntax::as<syntax::Try>(s));
    case StatementKind::kEmbedded: return lower_embedded(*syntax::as<syntax::EmbeddedStatement>(s));
  }
  CHECK(false);
}

void Lowering::lower_if(const syntax::If& statement) {
  llvm::BasicBlock *then_block = block("then"), *done = block("if.done");
  llvm::BasicBlock* else_block = statement.else_branch ? block("else") : done;
  {
    Frame::Temporaries temporaries(frame_);
    b.CreateCondBr(lower_condition(*statement.condition), then_block, else_block);
  }
  b.SetInsertPoint(then_block);
  lower(*statement.then_branch);
  branch_if_open(done);
  if (statement.else_branch) {
    b.SetInsertPoint(else_block);
    lower(*statement.else_branch);
    branch_if_open(done);
  }
  b.SetInsertPoint(done);
}

// while and for: condition and step may be null.
void Lowering::lower_loop(const syntax::Expression* condition, const syntax::Expression* step,
                          const syntax::Statement& repeated) {
  Frame::Temporaries of_loop(frame_);
  llvm::BasicBlock *head = block("loop"), *work = block("loop.body"), *next = block("loop.step"), *done = block("loop.done");
  llvm::Value* exit = frame_.loop_exit();
  b.CreateBr(head);
  b.SetInsertPoint(head);
  if (condition) {
    Frame::Temporaries temporaries(frame_);
    b.CreateCondBr(lower_condition(*condition), work, done);
  } else {
    b.CreateBr(work);
  }
  b.SetInsertPoint(work);
  spend_actions(repeated, repeated.range, condition ? 1 : 0);  // it counts as a statement; the step does not
  loops_.push_back({done, next, errors_.open_tries()});
  lower(repeated);
  loops_.pop_back();
  branch_if_open(next);
  b.SetInsertPoint(next);
  if (step) {
    Frame::Temporaries temporaries(frame_);
    lower(*step);
  }
  b.CreateBr(head);
  b.SetInsertPoint(done);
  maps_.note_loop(head, done, exit, repeated.range);
}

// try { body } catch (message) { handler }
void Lowering::lower_try(const syntax::Try& statement) {
  Frame::Temporaries temporaries(frame_);
  llvm::Value* buffer = frame_.temporary_string();
  llvm::Value* mark = frame_.mark();
  llvm::BasicBlock *caught = block("catch"), *done = block("try.done");
  llvm::Value* outer = errors_.open_try(caught, buffer);
  lower(*statement.body);
  errors_.close_try();
  branch_if_open(done);

  b.SetInsertPoint(caught);
  frame_.release_to(mark);
  errors_.set_message(outer);
  if (statement.message) store_variable(*statement.message, buffer);
  if (statement.handler) lower(*statement.handler);
  branch_if_open(done);
  b.SetInsertPoint(done);
}

void Lowering::lower_return(const syntax::Return& statement) {
  if (statement.value && result_) {
    Frame::Temporaries temporaries(frame_);
    llvm::Value* value = lower(*statement.value);
    if (body.script_function->type == ValueType::kString) call("spile_rt_string_copy", unit.module.none(), {result_, value});
    else b.CreateStore(value, result_);
  }
  errors_.leave_tries(0);
  b.CreateBr(next_);
}

namespace {

// Whether what follows the statement may be left out.
bool may_leave(const syntax::Statement& s) {
  if (s.kind == StatementKind::kReturn || s.kind == StatementKind::kNext || s.kind == StatementKind::kBreak ||
      s.kind == StatementKind::kContinue)
    return true;
  bool leaves = false;
  syntax::for_each_statement(s, [&](const syntax::Statement& inner) { leaves |= may_leave(inner); });
  return leaves;
}

// Statements that one run of a loop's or function's body executes, at least: those of inner loops count there, and of
// two branches it is the shorter one.
int64_t count_statements(const syntax::Statement& s) {
  if (s.kind == StatementKind::kNull) return 0;
  if (const auto* choice = syntax::as<syntax::If>(s)) {
    int64_t otherwise = choice->else_branch ? count_statements(*choice->else_branch) : 0;
    return 1 + std::min(count_statements(*choice->then_branch), otherwise);
  }
  if (const auto* attempt = syntax::as<syntax::Try>(s)) return attempt->body ? count_statements(*attempt->body) : 0;
  if (const auto* inner = syntax::as<syntax::Block>(s)) {
    int64_t sum = 0;
    for (const auto& statement : inner->statements) {
      sum += count_statements(*statement);
      if (may_leave(*statement)) break;
    }
    return sum;
  }
  int64_t count = 1;
  if (s.kind == StatementKind::kWhile || s.kind == StatementKind::kFor || s.kind == StatementKind::kForeach) return count;
  syntax::for_each_statement(s, [&](const syntax::Statement& inner) { count += count_statements(inner); });
  return count;
}

}  // namespace

// Takes what the body costs from the handler's budget (MAXACTION).
void Lowering::spend_actions(const syntax::Statement& statements, SourceRange range, int64_t more) {
  llvm::Value* place = actions_left();
  int64_t cost = std::max<int64_t>(count_statements(statements) + more, 1);
  llvm::Value* left = b.CreateSub(b.CreateLoad(b.getInt32Ty(), place), b.getInt32(static_cast<uint32_t>(cost)));
  b.CreateStore(left, place);
  errors_.raise_final_if(b.CreateICmpSLT(left, b.getInt32(0)), range, "MAXACTION exceeded");
}

}  // namespace spile::codegen
