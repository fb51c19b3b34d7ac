// =~ and !~, and the functions that ask what the last match was. A pattern is compiled here (sema has seen that it can
// be) into constants of the module; the runtime walks them. Where the script never asks for groups, only a table is used.

#include "codegen/bodies/lowering.h"

namespace spile::codegen {

// Makes the body's memory of matches, empty.
void Lowering::prepare_match_memory() {
  if (!state) return;
  llvm::Value* memory = llvm::ConstantPointerNull::get(unit.module.ptr());
  if (unit.remembers_matches()) {
    memory = frame_.temporary_bytes(abi::kMatchHead + unit.layout.string_size);
    call("spile_rt_match_clear", unit.module.none(), {memory});
  }
  b.CreateStore(memory, at_offset(state, offsetof(State, match)));
}

llvm::Value* Lowering::match_memory() {
  if (!state || !unit.remembers_matches()) return llvm::ConstantPointerNull::get(unit.module.ptr());
  return b.CreateLoad(unit.module.ptr(), at_offset(state, offsetof(State, match)));
}

// i1
llvm::Value* Lowering::lower_regex(const syntax::Regex& expression) {
  const Unit::RegexConstants& constants = unit.regex(expression);
  llvm::Value* subject = lower(*expression.subject);
  if (!unit.remembers_matches() && !constants.table->isNullValue()) {
    llvm::Value* matched = call("spile_rt_regex_test", unit.module.i1(), {constants.table, subject});
    return expression.negated ? b.CreateNot(matched) : matched;
  }
  if (!unit.place.remembers_matches()) {
    unit.refuse(expression.range, "this pattern is too large for a handler that runs in the kernel",
                "keep the string in a global, and match it in a timer or end probe");
    return b.getFalse();
  }
  llvm::Value* found =
      call("spile_rt_regex_search", b.getInt32Ty(), {context, constants.table, constants.program, subject, match_memory()});
  errors_.raise_if(b.CreateICmpSLT(found, b.getInt32(0)), expression.range, "no scratch memory is left to match a pattern");
  return expression.negated ? b.CreateICmpEQ(found, b.getInt32(0)) : b.CreateICmpNE(found, b.getInt32(0));
}

// matched(n), matched_str(), ngroups()
llvm::Value* Lowering::lower_match_question(const syntax::Call& question) {
  llvm::Value* memory = match_memory();
  llvm::Value* group = question.arguments.empty() ? number(0) : lower(*question.arguments[0]);
  llvm::Value* groups = call("spile_rt_match_groups", b.getInt64Ty(), {memory});
  errors_.raise_if(b.CreateICmpEQ(groups, number(0)), question.range,
                   "no string has been matched by the last =~ near identifier '" + question.name + "'");
  if (question.name == "ngroups") return groups;
  errors_.raise_if(b.CreateICmpUGE(group, groups), question.range,
                   "the last pattern has no subexpression %d near identifier '" + question.name + "'", {group});
  llvm::Value* out = frame_.temporary_string();
  call("spile_rt_match_text", unit.module.none(), {memory, group, out});
  return out;
}

}  // namespace spile::codegen
