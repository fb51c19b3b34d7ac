// eBPF has eight frames of calls at most, and its verifier follows no function into itself. So functions that call each other in
// a circle become one function with a stack of its own in the arena:
//
//   run(context, entry, arguments)          arguments: those of the first call, eight bytes each
//     push a frame {resume: entry, arguments}
//   turn:                                   of the top frame
//     switch (frame.resume)                 a function's beginning, or behind a call
//       ... call f(x):  frame.resume = behind the call; push {resume: f's beginning, x}; goto turn
//       ... return v:   result = v; pop; no frame is left: return v; else goto turn
//
// All that a function keeps from one block to another lies in its frame, and its variables do: so their addresses stay valid
// while its callees run. How deep the calls go is bounded by the functions themselves, which count MAXNESTING.

#include <algorithm>
#include <map>

#include "codegen/ebpf/loadable.h"

namespace spile::codegen {

namespace {

class Circle {
 public:
  Circle(llvm::Module& module, std::vector<llvm::Function*> functions, uint32_t deepest)
      : module_(module),
        layout_(module.getDataLayout()),
        context_(module.getContext()),
        functions_(std::move(functions)),
        deepest_(deepest),
        i64_(llvm::Type::getInt64Ty(context_)),
        pointer_(llvm::PointerType::getUnqual(context_)) {}

  // Functions have been made ones of numbers (simplify_signatures).
  void run() {
    for (llvm::Function* function : functions_) {
      most_arguments_ = std::max<uint64_t>(most_arguments_, function->arg_size());
      split_calls(*function);
    }
    demote();
    place_variables();
    make_function();
    const std::vector<llvm::Instruction*> special = special_instructions();
    for (llvm::Function* function : functions_) take_in(*function);
    for (llvm::Instruction* instruction : special) rewrite(*instruction);
    redirect_callers();
    for (llvm::Function* function : functions_) function->eraseFromParent();
  }

 private:
  struct Call {
    llvm::CallInst* call;
    llvm::BasicBlock* behind;
    llvm::Instruction* result;  // the load that stands for it
  };

  bool is_in_circle(const llvm::Function* function) const { return std::ranges::find(functions_, function) != functions_.end(); }

  // Each call within the circle becomes the last instruction of its block but for a branch.
  void split_calls(llvm::Function& function) {
    std::vector<llvm::CallInst*> calls;
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (!call || !is_in_circle(call->getCalledFunction())) continue;
      CHECK(call->getArgOperand(0) == function.getArg(0));
      calls.push_back(call);
    }
    for (llvm::CallInst* call : calls) {
      llvm::BasicBlock* behind = call->getParent()->splitBasicBlock(call->getNextNode(), "behind");
      llvm::IRBuilder<> b(&behind->front());
      // A stand-in for the result's place, which is not made yet.
      llvm::Instruction* result = b.CreateLoad(i64_, llvm::ConstantPointerNull::get(pointer_), true, "result");
      call->replaceAllUsesWith(result);
      calls_.push_back({call, behind, result});
    }
  }

  // Afterwards no value passes from one block to another.
  void demote() {
    Analyses analyses;
    for (llvm::Function* function : functions_) llvm::RegToMemPass().run(*function, analyses.functions);
  }

  // A frame: where it goes on, arguments, variables.
  void place_variables() {
    for (llvm::Function* function : functions_) {
      uint64_t at = 8 + 8 * most_arguments_;
      for (llvm::Instruction& instruction : llvm::instructions(*function)) {
        auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
        if (!variable || is_helper_buffer(*variable)) continue;
        auto size = variable->getAllocationSize(layout_);
        CHECK(size && !size->isScalable());
        at = llvm::alignTo(at, std::max<uint64_t>(8, variable->getAlign().value()));
        places_[variable] = at;
        at += size->getFixedValue();
      }
      frame_size_ = std::max(frame_size_, llvm::alignTo(at, 16));
    }
  }

  void make_function() {
    auto* type = llvm::FunctionType::get(i64_, {pointer_, i64_, pointer_}, false);
    made_ = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, functions_.front()->getName(), module_);
    made_->copyAttributesFrom(functions_.front());
    made_->setAttributes({});
    made_->addFnAttr(llvm::Attribute::NoInline);
    made_->setDSOLocal(true);
    llvm::BasicBlock* entry = llvm::BasicBlock::Create(context_, "entry", made_);
    turn_ = llvm::BasicBlock::Create(context_, "turn", made_);
    llvm::IRBuilder<> b(entry);
    stack_ = b.CreateAlloca(llvm::ArrayType::get(b.getInt8Ty(), frame_size_ * (deepest_ + 2)), nullptr, "stack");
    stack_->setAlignment(llvm::Align(16));
    top_ = b.CreateAlloca(i64_, nullptr, "top");
    result_ = b.CreateAlloca(i64_, nullptr, "result");
    b.CreateStore(b.getInt64(0), top_);
    b.CreateStore(b.getInt64(0), result_);
    b.CreateStore(made_->getArg(1), in_frame(b, 0));
    for (uint64_t i = 0; i < most_arguments_; ++i) {
      llvm::Value* argument = b.CreateLoad(i64_, b.CreateConstGEP1_64(b.getInt8Ty(), made_->getArg(2), 8 * i));
      b.CreateStore(argument, in_frame(b, 8 + 8 * i));
    }
    b.CreateBr(turn_);
    // Nothing goes on where no frame says.
    llvm::BasicBlock* nowhere = llvm::BasicBlock::Create(context_, "nowhere", made_);
    llvm::IRBuilder<>(nowhere).CreateRet(llvm::ConstantInt::get(i64_, 0));
    b.SetInsertPoint(turn_);
    next_ = b.CreateSwitch(b.CreateLoad(i64_, in_frame(b, 0)), nowhere);
    for (llvm::Function* function : functions_) add_resume(function, &function->getEntryBlock());
    for (const Call& call : calls_) call_numbers_[call.call] = add_resume(nullptr, call.behind);
  }

  uint64_t add_resume(llvm::Function* beginning, llvm::BasicBlock* block) {
    uint64_t number = next_->getNumCases() + 1;
    next_->addCase(llvm::ConstantInt::get(llvm::Type::getInt64Ty(context_), number), block);
    if (beginning) beginnings_[beginning] = number;
    return number;
  }

  // An address in the top frame.
  llvm::Value* in_frame(llvm::IRBuilder<>& b, uint64_t offset) {
    llvm::Value* frame = b.CreateGEP(b.getInt8Ty(), stack_, b.CreateLoad(i64_, top_));
    return b.CreateConstGEP1_64(b.getInt8Ty(), frame, offset);
  }

  template <typename Emit>
  void replace_uses(llvm::Value& value, Emit&& emit) {
    for (llvm::Use& use : llvm::make_early_inc_range(value.uses())) {
      auto* user = llvm::cast<llvm::Instruction>(use.getUser());
      CHECK(!llvm::isa<llvm::PHINode>(user));
      llvm::IRBuilder<> b(user);
      use.set(emit(b));
    }
  }

  // Before anything is erased: a new instruction may get the address of an erased one, and would be taken for it.
  std::vector<llvm::Instruction*> special_instructions() {
    std::vector<llvm::Instruction*> special;
    for (llvm::Function* function : functions_) {
      for (llvm::Instruction& instruction : llvm::instructions(*function)) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
        if (llvm::isa<llvm::AllocaInst>(instruction) || llvm::isa<llvm::ReturnInst>(instruction) ||
            (call && call_numbers_.contains(call)) || std::ranges::find(calls_, &instruction, &Call::result) != calls_.end()) {
          special.push_back(&instruction);
        }
      }
    }
    return special;
  }

  void take_in(llvm::Function& function) {
    for (llvm::Argument& argument : function.args()) {
      if (argument.getArgNo() == 0) {
        argument.replaceAllUsesWith(made_->getArg(0));  // the context, the same in all calls
        continue;
      }
      replace_uses(argument, [&](llvm::IRBuilder<>& b) {
        return b.CreateLoad(argument.getType(), in_frame(b, 8 + 8 * argument.getArgNo()));
      });
    }
    made_->splice(made_->end(), &function);
  }

  void rewrite(llvm::Instruction& instruction) {
    llvm::IRBuilder<> b(&instruction);
    if (auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction); variable && !places_.contains(variable)) {
      variable->moveBefore(stack_);  // on the stack of eBPF, for one call of a helper
    } else if (variable) {
      replace_uses(*variable, [&](llvm::IRBuilder<>& at) { return in_frame(at, places_.at(variable)); });
      variable->eraseFromParent();
    } else if (auto* end = llvm::dyn_cast<llvm::ReturnInst>(&instruction)) {
      leave(b, *end);
    } else if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction); call && call_numbers_.contains(call)) {
      enter(b, *call);
    } else {
      instruction.replaceAllUsesWith(b.CreateLoad(i64_, result_));
      instruction.eraseFromParent();
    }
  }

  void leave(llvm::IRBuilder<>& b, llvm::ReturnInst& end) {
    llvm::Value* value = end.getReturnValue();
    b.CreateStore(value, result_);
    llvm::Value* top = b.CreateLoad(i64_, top_);
    b.CreateStore(b.CreateSub(top, b.getInt64(frame_size_)), top_);
    llvm::BasicBlock* last = llvm::BasicBlock::Create(context_, "last", made_);
    b.CreateCondBr(b.CreateICmpEQ(top, b.getInt64(0)), last, turn_);
    end.eraseFromParent();
    llvm::IRBuilder<> at(last);
    at.CreateRet(at.CreateLoad(i64_, result_));
  }

  void enter(llvm::IRBuilder<>& b, llvm::CallInst& call) {
    b.CreateStore(b.getInt64(call_numbers_.at(&call)), in_frame(b, 0));
    b.CreateStore(b.getInt64(beginnings_.at(call.getCalledFunction())), in_frame(b, frame_size_));
    for (unsigned i = 1; i < call.arg_size(); ++i) b.CreateStore(call.getArgOperand(i), in_frame(b, frame_size_ + 8 + 8 * i));
    b.CreateStore(b.CreateAdd(b.CreateLoad(i64_, top_), b.getInt64(frame_size_)), top_);
    b.CreateBr(turn_);
    call.getParent()->getTerminator()->eraseFromParent();  // it has led behind the call
    call.eraseFromParent();
  }

  void redirect_callers() {
    for (llvm::Function* function : functions_) {
      for (llvm::User* user : llvm::make_early_inc_range(function->users())) {
        auto* call = llvm::cast<llvm::CallInst>(user);
        llvm::BasicBlock& entry = call->getFunction()->getEntryBlock();
        auto* arguments =
            new llvm::AllocaInst(llvm::ArrayType::get(i64_, most_arguments_), 0, "arguments", &*entry.getFirstInsertionPt());
        llvm::IRBuilder<> b(call);
        for (unsigned i = 1; i < call->arg_size(); ++i) {
          b.CreateStore(call->getArgOperand(i), b.CreateConstGEP1_64(b.getInt8Ty(), arguments, 8ull * i));
        }
        llvm::Value* made = b.CreateCall(made_, {call->getArgOperand(0), b.getInt64(beginnings_.at(function)), arguments});
        call->replaceAllUsesWith(made);
        call->eraseFromParent();
      }
    }
  }

  llvm::Module& module_;
  const llvm::DataLayout& layout_;
  llvm::LLVMContext& context_;
  const std::vector<llvm::Function*> functions_;
  const uint32_t deepest_;
  llvm::Type* i64_;
  llvm::PointerType* pointer_;
  uint64_t most_arguments_ = 0, frame_size_ = 0;
  std::vector<Call> calls_;
  std::map<llvm::AllocaInst*, uint64_t> places_;  // in the frame
  llvm::Function* made_ = nullptr;
  llvm::BasicBlock* turn_ = nullptr;
  llvm::AllocaInst *stack_ = nullptr, *top_ = nullptr, *result_ = nullptr;
  llvm::SwitchInst* next_ = nullptr;
  std::map<llvm::Function*, uint64_t> beginnings_;
  std::map<llvm::CallInst*, uint64_t> call_numbers_;
};

}  // namespace

void unroll_recursion(llvm::Module& module, uint32_t deepest) {
  std::vector<std::vector<llvm::Function*>> circles;
  llvm::CallGraph graph(module);
  for (auto component = llvm::scc_begin(&graph); !component.isAtEnd(); ++component) {
    if (!component.hasCycle()) continue;
    std::vector<llvm::Function*>& circle = circles.emplace_back();
    for (llvm::CallGraphNode* node : *component) {
      if (llvm::Function* function = node->getFunction(); function && !function->isDeclaration()) circle.push_back(function);
    }
  }
  for (std::vector<llvm::Function*>& circle : circles) {
    if (!circle.empty()) Circle(module, std::move(circle), deepest).run();
  }
}

}  // namespace spile::codegen
