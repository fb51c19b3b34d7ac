// The stack of eBPF has 512 bytes for all functions that are active, and no address on it may meet one of the arena at the same
// instruction. So variables that are not in registers lie in the frame of the handler's slot (abi/kernel.h), each function's
// behind those of all its callers: no function calls itself.
//
// A function finds the frame by its abi::Context, which lies at the frame's start. Which of its arguments is the context follows
// from its callers: a body's first one is. A function that has variables and no context becomes part of its callers.

#include <algorithm>
#include <map>
#include <ranges>

#include "abi/kernel.h"
#include "codegen/ebpf/loadable.h"

namespace spile::codegen {

namespace {

using ContextArguments = std::map<llvm::Function*, llvm::Argument*>;

// The argument that is the context at every call; null: absent.
llvm::Argument* context_argument(llvm::Function& function, const ContextArguments& known) {
  for (llvm::Argument& argument : function.args()) {
    if (!argument.getType()->isPointerTy() || function.use_empty()) continue;
    bool always = std::ranges::all_of(function.users(), [&](llvm::User* user) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(user);
      if (!call || call->getCalledFunction() != &function) return false;
      auto caller = known.find(call->getFunction());
      return caller != known.end() && caller->second == call->getArgOperand(argument.getArgNo());
    });
    if (always) return &argument;
  }
  return nullptr;
}

ContextArguments find_contexts(llvm::Module& module) {
  ContextArguments known;
  for (llvm::Function& function : module) {
    if (function.hasFnAttribute(kBodyAttribute)) known.emplace(&function, function.getArg(0));
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (llvm::Function& function : module) {
      if (function.isDeclaration() || known.contains(&function)) continue;
      if (llvm::Argument* context = context_argument(function, known)) {
        known.emplace(&function, context);
        changed = true;
      }
    }
  }
  return known;
}

std::vector<llvm::AllocaInst*> variables_of(llvm::Function& function) {
  std::vector<llvm::AllocaInst*> variables;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
    if (variable && !is_helper_buffer(*variable)) variables.push_back(variable);
  }
  return variables;
}

// The address is computed anew at each use: one that is kept would take a place on the stack of eBPF.
void replace_variable(llvm::AllocaInst& variable, llvm::Argument& context, uint64_t offset) {
  for (llvm::Use& use : llvm::make_early_inc_range(variable.uses())) {
    auto* user = llvm::cast<llvm::Instruction>(use.getUser());
    auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
    llvm::IRBuilder<> b(phi ? phi->getIncomingBlock(use)->getTerminator() : user);
    use.set(b.CreateConstGEP1_64(b.getInt8Ty(), &context, offset));
  }
}

// REQUIRES: no function calls itself, directly or through others.
std::vector<llvm::Function*> callers_first(llvm::Module& module) {
  std::vector<llvm::Function*> functions;
  llvm::CallGraph graph(module);
  for (auto component = llvm::scc_begin(&graph); !component.isAtEnd(); ++component) {
    for (llvm::CallGraphNode* node : *component) {
      if (node->getFunction() && !node->getFunction()->isDeclaration()) functions.push_back(node->getFunction());
    }
  }
  std::ranges::reverse(functions);
  return functions;
}

// Where the variables of all its callers end.
uint64_t end_of_callers(llvm::Function& function, const std::map<llvm::Function*, uint64_t>& ends) {
  uint64_t end = abi::kKernelVariablesOffset;
  for (llvm::User* user : function.users()) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(user);
    auto caller = call ? ends.find(call->getFunction()) : ends.end();
    if (caller != ends.end()) end = std::max(end, caller->second);
  }
  return end;
}

void inline_always(llvm::Module& module) {
  Analyses analyses;
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::SROAPass(llvm::SROAOptions::ModifyCFG)));
  passes.addPass(llvm::GlobalDCEPass());
  passes.run(module, analyses.modules);
}

// Places in the program's own argument, and in what helpers write to, can't be kept in memory, which gives back numbers that mean
// the arena: each use computes its own.
void compute_at_uses(llvm::Function& function) {
  const llvm::DataLayout& layout = function.getParent()->getDataLayout();
  std::vector<llvm::GetElementPtrInst*> places;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (auto* place = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) places.push_back(place);
  }
  // A place that is computed from another one comes before it.
  for (llvm::GetElementPtrInst* place : std::views::reverse(places)) {
    llvm::APInt offset(64, 0);
    llvm::Value* base = place->stripAndAccumulateConstantOffsets(layout, offset, true);
    auto* variable = llvm::dyn_cast<llvm::AllocaInst>(base);
    if (!is_program_context(base) && !(variable && is_helper_buffer(*variable))) continue;
    for (llvm::Use& use : llvm::make_early_inc_range(place->uses())) {
      auto* user = llvm::cast<llvm::Instruction>(use.getUser());
      auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
      llvm::IRBuilder<> b(phi ? phi->getIncomingBlock(use)->getTerminator() : user);
      use.set(b.CreateConstGEP1_64(b.getInt8Ty(), base, offset.getZExtValue()));
    }
    place->eraseFromParent();
  }
}

// Values that a large body keeps from one block to another would not all find room on the stack of eBPF. They become variables.
void keep_values_in_memory(llvm::Module& module) {
  constexpr size_t kManyBlocks = 64;
  Analyses analyses;
  for (llvm::Function& function : module) {
    if (!function.hasFnAttribute(kBodyAttribute) || function.size() <= kManyBlocks) continue;
    compute_at_uses(function);
    llvm::RegToMemPass().run(function, analyses.functions);
  }
}

// Functions that need the context of their callers and do not have it.
class ContextPassing {
 public:
  explicit ContextPassing(llvm::Module& module) : module_(module), contexts_(find_contexts(module)) {}

  void run() {
    for (bool again = true; again;) {
      again = false;
      for (llvm::Function& function : module_)
        again |= !made_.contains(&function) && may_have_one(function) && needs_one(function) &&
                 made_.insert({&function, nullptr}).second;
    }
    for (auto& [function, made] : made_) made = remake(*function);
    for (auto& [function, made] : made_) {
      for (llvm::User* user : llvm::make_early_inc_range(function->users()))
        rewrite_call(*llvm::cast<llvm::CallInst>(user), *made);
      std::string name = function->getName().str();
      function->eraseFromParent();
      made->setName(name);
    }
  }

 private:
  bool may_have_one(llvm::Function& function) const {
    if (function.isDeclaration() || function.hasFnAttribute(kProgramAttribute) ||
        function.hasFnAttribute(llvm::Attribute::AlwaysInline) || contexts_.contains(&function))
      return false;
    return std::ranges::all_of(function.users(), [&](llvm::User* user) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(user);
      return call && call->getCalledFunction() == &function && !call->getFunction()->hasFnAttribute(kProgramAttribute);
    });
  }

  bool needs_one(llvm::Function& function) const {
    constexpr unsigned kRegisters = 5;  // of arguments
    if (!variables_of(function).empty()) return true;
    return std::ranges::any_of(llvm::instructions(function), [&](llvm::Instruction& instruction) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
      return callee && (made_.contains(callee) || (!callee->isDeclaration() && callee->arg_size() > kRegisters));
    });
  }

  // Returns the function with one argument more, and the body of `function`.
  llvm::Function* remake(llvm::Function& function) {
    std::vector<llvm::Type*> types = {llvm::PointerType::getUnqual(module_.getContext())};
    for (llvm::Argument& argument : function.args()) types.push_back(argument.getType());
    llvm::Function* made = take_body(function, llvm::FunctionType::get(function.getReturnType(), types, false));
    for (llvm::Argument& argument : function.args()) argument.replaceAllUsesWith(made->getArg(argument.getArgNo() + 1));
    contexts_[made] = made->getArg(0);
    return made;
  }

  void rewrite_call(llvm::CallInst& call, llvm::Function& made) {
    std::vector<llvm::Value*> arguments = {contexts_.at(call.getFunction())};
    arguments.insert(arguments.end(), call.arg_begin(), call.arg_end());
    llvm::CallInst* other = llvm::IRBuilder<>(&call).CreateCall(&made, arguments);
    call.replaceAllUsesWith(other);
    call.eraseFromParent();
  }

  llvm::Module& module_;
  ContextArguments contexts_;
  llvm::MapVector<llvm::Function*, llvm::Function*> made_;  // in place of the first
};

}  // namespace

void pass_contexts(llvm::Module& module) { ContextPassing(module).run(); }

Result<void> move_frames(llvm::Module& module) {
  ContextArguments contexts = find_contexts(module);
  for (bool again = true; again;) {
    again = false;
    for (llvm::Function& function : module) {
      if (function.isDeclaration() || function.hasFnAttribute(kProgramAttribute) || contexts.contains(&function) ||
          function.hasFnAttribute(llvm::Attribute::AlwaysInline) || variables_of(function).empty()) {
        continue;
      }
      function.removeFnAttr(llvm::Attribute::NoInline);
      function.addFnAttr(llvm::Attribute::AlwaysInline);
      again = true;
    }
    if (again) inline_always(module);
    contexts = find_contexts(module);
  }
  keep_values_in_memory(module);
  const llvm::DataLayout& layout = module.getDataLayout();
  std::map<llvm::Function*, uint64_t> ends;
  uint64_t most = 0;
  for (llvm::Function* called : callers_first(module)) {
    llvm::Function& function = *called;
    uint64_t& at = ends[&function] = end_of_callers(function, ends);
    std::vector<llvm::AllocaInst*> variables = variables_of(function);
    if (variables.empty()) continue;
    auto context = contexts.find(&function);
    CHECK(context != contexts.end());
    for (llvm::AllocaInst* variable : variables) {
      auto size = variable->getAllocationSize(layout);
      CHECK(size && !size->isScalable());
      at = llvm::alignTo(at, std::max<uint64_t>(8, variable->getAlign().value()));
      replace_variable(*variable, *context->second, at);
      at += size->getFixedValue();
      variable->eraseFromParent();
    }
    at = llvm::alignTo(at, 8);
    most = std::max(most, at);
  }
  if (most > abi::kKernelFrameSize)
    return Error{"a handler is too large for the kernel: its values take more than 64 KiB",
                 "split the probe, or do a part of it in a timer or end probe"};
  return {};
}

}  // namespace spile::codegen
