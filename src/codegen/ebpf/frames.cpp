// The stack of eBPF has 512 bytes for all functions that are active, and no address on it may meet one of the arena at the same
// instruction. So variables that are not in registers lie in the frame of the handler's slot (abi/kernel.h), each function's at a place of its
// own: no function calls itself.
//
// A function finds the frame by its abi::Context, which lies at the frame's start. Which of its arguments is the context follows from
// its callers: a body's first one is. A function that has variables and no context becomes part of its callers.

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

void inline_always(llvm::Module& module) {
  Analyses analyses;
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(llvm::SROAPass(llvm::SROAOptions::ModifyCFG)));
  passes.addPass(llvm::GlobalDCEPass());
  passes.run(module, analyses.modules);
}

// An address in the program's argument, or on the stack of eBPF, must not become a variable: read back, it would be taken for one in the arena.
// It is computed anew at each use.
void keep_addresses_in_blocks(llvm::Function& function) {
  std::vector<llvm::GetElementPtrInst*> addresses;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction);
    if (!address) continue;
    const llvm::Value* object = llvm::getUnderlyingObject(address, 0);
    if (is_program_context(object) || llvm::isa<llvm::AllocaInst>(object)) addresses.push_back(address);
  }
  // An address in an address comes before it, and is used by its copies.
  for (llvm::GetElementPtrInst* address : std::views::reverse(addresses)) {
    for (llvm::Use& use : llvm::make_early_inc_range(address->uses())) {
      auto* user = llvm::cast<llvm::Instruction>(use.getUser());
      auto* phi = llvm::dyn_cast<llvm::PHINode>(user);
      llvm::Instruction* copy = address->clone();
      copy->insertBefore(phi ? phi->getIncomingBlock(use)->getTerminator() : user);
      use.set(copy);
    }
    address->eraseFromParent();
  }
}

// Values that a large body keeps from one block to another would not all find room on the stack of eBPF. They become variables.
void keep_values_in_memory(llvm::Module& module) {
  constexpr size_t kManyBlocks = 64;
  Analyses analyses;
  for (llvm::Function& function : module) {
    if (!function.hasFnAttribute(kBodyAttribute) || function.size() <= kManyBlocks) continue;
    keep_addresses_in_blocks(function);
    llvm::RegToMemPass().run(function, analyses.functions);
  }
}

}  // namespace

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
  uint64_t at = abi::kKernelVariablesOffset;
  for (llvm::Function& function : module) {
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
  }
  if (at > abi::kKernelFrameSize) return Error{"a handler is too large for the kernel: its values take more than 64 KiB", "split the probe, or do a part of it in a timer or end probe"};
  return {};
}

}  // namespace spile::codegen
