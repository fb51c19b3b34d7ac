#include "codegen/module/kernel_loops.h"

#include <linux/bpf.h>

#include <algorithm>
#include <map>

#include "abi/kernel.h"
#include "base/check.h"
#include "syntax/visitor.h"

namespace spile::codegen {

namespace {

using Blocks = llvm::SetVector<llvm::BasicBlock*>;

// What can be reached from `from` without passing through `stop`. from: may be null.
std::set<const llvm::BasicBlock*> reach(llvm::BasicBlock* from, const llvm::BasicBlock* stop) {
  std::set<const llvm::BasicBlock*> seen;
  std::vector<llvm::BasicBlock*> queue;
  auto visit = [&](llvm::BasicBlock* block) {
    if (block != stop && seen.insert(block).second) queue.push_back(block);
  };
  if (from) visit(from);
  while (!queue.empty()) {
    llvm::BasicBlock* block = queue.back();
    queue.pop_back();
    for (llvm::BasicBlock* next : llvm::successors(block)) visit(next);
  }
  return seen;
}

class Outliner {
 public:
  // loops: the one to outline, and those that follow.
  Outliner(llvm::Module& module, std::span<const ScriptLoop> loops, llvm::Value* turns, unsigned number)
      : module_(module),
        context_(module.getContext()),
        loops_(loops),
        loop_(loops.front()),
        turns_(turns),
        parent_(*loop_.head->getParent()),
        number_(number),
        i64_(llvm::Type::getInt64Ty(context_)),
        pointer_(llvm::PointerType::getUnqual(context_)) {}

  void run() {
    find_region();
    if (region_.empty()) return;
    sort_values();
    make_function();
    call_it();
  }

 private:
  bool inside(const llvm::Value* value) const {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    return instruction && region_.contains(const_cast<llvm::BasicBlock*>(instruction->getParent()));
  }

  // All blocks that are only reached through the head, and not through the loop's end: ways that lead out of the loop, to an
  // error, are among them as far as they are the loop's own.
  void find_region() {
    const auto before = reach(&parent_.getEntryBlock(), loop_.head);
    auto after = reach(loop_.done, loop_.head);
    // Nothing leads there yet.
    for (const ScriptLoop& loop : loops_) {
      if (loop.exhausted->getParent() == &parent_) after.merge(reach(loop.exhausted, loop_.head));
    }
    const auto within = reach(loop_.head, loop_.done);
    if (!reach(&parent_.getEntryBlock(), nullptr).contains(loop_.head)) return;  // it never runs
    for (llvm::BasicBlock& block : parent_) {
      if (within.contains(&block) && !after.contains(&block) && !before.contains(&block)) region_.insert(&block);
    }
    for (llvm::Instruction& instruction : *loop_.head) {
      if (!place_) place_ = instruction.getDebugLoc();
    }
  }

  // Divides what the region uses of the code around it into its own variables, variables that it only reads, and values.
  void sort_values() {
    passed_.push_back(loop_.exit);
    values_.insert(loop_.exit);
    for (llvm::BasicBlock* block : region_) {
      for (llvm::Instruction& instruction : *block) {
        for (llvm::User* user : instruction.users()) CHECK(inside(user));
        for (llvm::Value* operand : instruction.operands()) {
          const bool is_value = llvm::isa<llvm::Argument>(operand) || (llvm::isa<llvm::Instruction>(operand) && !inside(operand));
          if (is_value) values_.insert(operand);
        }
      }
    }
    for (llvm::Value* value : values_) {
      if (value == loop_.exit) continue;
      auto* variable = llvm::dyn_cast<llvm::AllocaInst>(value);
      if (!variable) passed_.push_back(value);
      else if (std::ranges::all_of(variable->users(), [&](llvm::User* user) { return inside(user); })) own_.push_back(variable);
      else if (only_read(*variable)) read_.push_back(variable);
      else {
        CHECK(variable->getAllocatedType()->isArrayTy());  // abi::Context and State
        passed_.push_back(value);
      }
    }
  }

  bool only_read(llvm::AllocaInst& variable) const {
    return std::ranges::all_of(variable.users(), [&](llvm::User* user) {
      const auto* store = llvm::dyn_cast<llvm::StoreInst>(user);
      return llvm::isa<llvm::LoadInst>(user) || (store && store->getPointerOperand() == &variable && !inside(store));
    });
  }

  void make_function() {
    auto* type = llvm::FunctionType::get(i64_, {pointer_, pointer_, pointer_, pointer_}, false);
    const std::string name = "loop." + std::to_string(number_);
    function_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, name, module_);
    function_->setDSOLocal(true);
    // Functions of a section of their own are not inlined (prepare_for_kernel).
    function_->setSection(abi::kKernelCallbackPrefix + name);
    function_->addFnAttr(llvm::Attribute::NoInline);
    llvm::BasicBlock* entry = llvm::BasicBlock::Create(context_, "entry", function_);
    for (llvm::BasicBlock* block : region_) {
      block->removeFromParent();
      block->insertInto(function_);
    }
    for (llvm::AllocaInst* variable : own_) variable->moveBefore(*entry, entry->end());
    llvm::IRBuilder<>(entry).CreateBr(loop_.head);
    uint64_t place = 0;
    for (llvm::Value* value : passed_) replace_uses(*value, place++);
    for (llvm::AllocaInst* variable : read_) replace_loads(*variable, place++);
    lead_out();
  }

  llvm::Type* type_in_memory(llvm::Type* type) const { return type->isPointerTy() ? static_cast<llvm::Type*>(pointer_) : i64_; }

  llvm::Value* load_value(llvm::IRBuilder<>& b, uint64_t place, llvm::Type* type) {
    llvm::Value* value = b.CreateLoad(type_in_memory(type), b.CreateConstGEP1_64(i64_, function_->getArg(3), place));
    return type->isIntegerTy() && type != i64_ ? b.CreateTrunc(value, type) : value;
  }

  // Each use loads the value: in a register of the function it would take a place on the stack of eBPF, across calls.
  void replace_uses(llvm::Value& value, uint64_t place) {
    for (llvm::Use& use : llvm::make_early_inc_range(value.uses())) {
      auto* user = llvm::cast<llvm::Instruction>(use.getUser());
      if (!inside(user)) continue;
      auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
      llvm::IRBuilder<> b(phi ? phi->getIncomingBlock(use)->getTerminator() : user);
      use.set(load_value(b, place, value.getType()));
    }
  }

  void replace_loads(llvm::AllocaInst& variable, uint64_t place) {
    for (llvm::User* user : llvm::make_early_inc_range(variable.users())) {
      if (!inside(user)) continue;
      auto* load = llvm::cast<llvm::LoadInst>(user);
      llvm::IRBuilder<> b(load);
      load->replaceAllUsesWith(load_value(b, place, load->getType()));
      load->eraseFromParent();
    }
  }

  // Ways out of the region become returns; the next turn, too.
  void lead_out() {
    llvm::BasicBlock* again = llvm::BasicBlock::Create(context_, "again", function_);
    llvm::IRBuilder<>(again).CreateRet(llvm::ConstantInt::get(i64_, 0));
    std::map<llvm::BasicBlock*, llvm::BasicBlock*> ways;
    for (llvm::BasicBlock* block : region_) {
      llvm::Instruction* end = block->getTerminator();
      for (unsigned i = 0; i < end->getNumSuccessors(); ++i) {
        llvm::BasicBlock* next = end->getSuccessor(i);
        if (next == loop_.head) end->setSuccessor(i, again);
        else if (!region_.contains(next)) end->setSuccessor(i, way_to(next, ways));
      }
    }
  }

  llvm::BasicBlock* way_to(llvm::BasicBlock* target, std::map<llvm::BasicBlock*, llvm::BasicBlock*>& ways) {
    llvm::BasicBlock*& way = ways[target];
    if (way) return way;
    CHECK(target->phis().empty());
    targets_.push_back(target);
    way = llvm::BasicBlock::Create(context_, "leave", function_);
    llvm::IRBuilder<> b(way);
    b.CreateStore(b.getInt64(targets_.size()), load_value(b, 0, pointer_));
    b.CreateRet(b.getInt64(1));
    return way;
  }

  // Where the code around jumped to the head, it calls the function and goes on by what that has left.
  void call_it() {
    llvm::BasicBlock* block = llvm::BasicBlock::Create(context_, "loop.call", &parent_);
    for (llvm::BasicBlock& other : parent_) {
      if (&other != block && other.getTerminator()) other.getTerminator()->replaceSuccessorWith(loop_.head, block);
    }
    llvm::IRBuilder<> at_entry(&parent_.getEntryBlock(), parent_.getEntryBlock().begin());
    llvm::Value* values = at_entry.CreateAlloca(llvm::ArrayType::get(i64_, passed_.size() + read_.size()), nullptr, "values");
    llvm::IRBuilder<> b(block);
    b.SetCurrentDebugLocation(place_);
    uint64_t place = 0;
    auto pass = [&](llvm::Value* value) {
      if (value->getType()->isIntegerTy()) value = b.CreateZExt(value, i64_);
      b.CreateStore(value, b.CreateConstGEP1_64(i64_, values, place++));
    };
    for (llvm::Value* value : passed_) pass(value);
    for (llvm::AllocaInst* variable : read_) pass(b.CreateLoad(variable->getAllocatedType(), variable));
    b.CreateStore(b.getInt64(0), loop_.exit);
    auto* type = llvm::FunctionType::get(i64_, {pointer_, pointer_, pointer_, i64_}, false);
    llvm::Value* helper = llvm::ConstantExpr::getIntToPtr(b.getInt64(BPF_FUNC_for_each_map_elem), pointer_);
    b.CreateCall(type, helper, {turns_, function_, values, b.getInt64(0)});
    llvm::SwitchInst* choice =
        b.CreateSwitch(b.CreateLoad(i64_, loop_.exit), loop_.exhausted, static_cast<unsigned>(targets_.size()));
    for (size_t i = 0; i < targets_.size(); ++i) choice->addCase(b.getInt64(i + 1), targets_[i]);
  }

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  std::span<const ScriptLoop> loops_;
  const ScriptLoop& loop_;
  llvm::Value* turns_;
  llvm::Function& parent_;
  unsigned number_;
  llvm::Type* i64_;
  llvm::PointerType* pointer_;
  Blocks region_;
  llvm::SetVector<llvm::Value*> values_;
  std::vector<llvm::Value*> passed_;
  std::vector<llvm::AllocaInst*> own_, read_;
  std::vector<llvm::BasicBlock*> targets_;
  llvm::Function* function_ = nullptr;
  llvm::DebugLoc place_;
};

// Empties blocks that nothing leads to (statements behind `next`): they may lead into a loop, and use its values.
void empty_dead_blocks(llvm::Function& function, std::span<const ScriptLoop> loops) {
  std::set<const llvm::BasicBlock*> alive = reach(&function.getEntryBlock(), nullptr);
  for (const ScriptLoop& loop : loops) {
    if (loop.exhausted->getParent() == &function) alive.merge(reach(loop.exhausted, nullptr));
  }
  for (llvm::BasicBlock& block : function) {
    if (alive.contains(&block)) continue;
    for (llvm::BasicBlock* next : llvm::successors(&block)) next->removePredecessor(&block);
    while (!block.empty()) {
      llvm::Instruction& last = block.back();
      last.replaceAllUsesWith(llvm::PoisonValue::get(last.getType()));
      last.eraseFromParent();
    }
    new llvm::UnreachableInst(function.getContext(), &block);
  }
}

class Walk {
 public:
  void statement(const syntax::Statement& s) {
    statements(s);
    syntax::for_each_expression(s, [&](const syntax::Expression& e) { expression(e); });
  }
  void expression(const syntax::Expression& e) {
    if (const auto* in = syntax::as<syntax::In>(e)) {
      if (std::ranges::any_of(in->indexes, [](auto& index) { return !index; })) visits(*in->array);
    } else if (const auto* call = syntax::as<syntax::Call>(e); call && follows_calls) {
      for (const syntax::Function* fallback : call->fallbacks) function(*fallback);
      if (call->function) function(*call->function);
    }
  }

  Repetitions found;
  bool follows_calls = true;

 private:
  void statements(const syntax::Statement& s) {
    using Kind = syntax::StatementKind;
    found.any |= s.kind == Kind::kWhile || s.kind == Kind::kFor || s.kind == Kind::kForeach;
    if (const auto* loop = syntax::as<syntax::Foreach>(s); loop && loop->array) visits(*loop->array);
    if (const auto* removal = syntax::as<syntax::Delete>(s)) {
      const auto* element = syntax::as<syntax::Index>(removal->target);
      if (element && std::ranges::any_of(element->indexes, [](auto& index) { return !index; })) visits(*element->array);
    }
    syntax::for_each_statement(s, [&](const syntax::Statement& inner) { statements(inner); });
  }
  void visits(const syntax::Variable& array) {
    found.any = true;
    if (array.global) found.visited.insert(array.global);
  }
  void function(const syntax::Function& callee) {
    if (seen_.insert(&callee).second && callee.body) statement(*callee.body);
  }

  std::set<const syntax::Function*> seen_;
};

}  // namespace

void outline_loops(llvm::Module& module, std::span<const ScriptLoop> loops, llvm::Value* turns) {
  std::set<llvm::Function*> functions;
  for (const ScriptLoop& loop : loops) functions.insert(loop.head->getParent());
  for (llvm::Function* function : functions) empty_dead_blocks(*function, loops);
  for (size_t i = 0; i < loops.size(); ++i) Outliner(module, loops.subspan(i), turns, static_cast<unsigned>(i)).run();
}

Repetitions repetitions_of(const sema::Probe& probe) {
  Walk walk;
  walk.statement(*probe.body);
  if (probe.condition)
    syntax::for_each_expression(static_cast<const syntax::Expression&>(*probe.condition),
                                [&](const syntax::Expression& e) { walk.expression(e); });
  for (const auto& save : probe.entry_saves) {
    syntax::for_each_expression(static_cast<const syntax::Expression&>(*save),
                                [&](const syntax::Expression& e) { walk.expression(e); });
  }
  return std::move(walk.found);
}

bool has_loop(const syntax::Statement& statement) {
  Walk walk;
  walk.follows_calls = false;
  walk.statement(statement);
  return walk.found.any;
}

}  // namespace spile::codegen
