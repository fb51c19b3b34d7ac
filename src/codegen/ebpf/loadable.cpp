#include "codegen/ebpf/loadable.h"

#include <map>
#include <set>

#include "abi/kernel.h"

namespace spile::codegen {

namespace {

constexpr char kLargeBodies[] = "spile.large";  // metadata of a module whose inlining was limited

// Inlines what must be, and cleans up after that in functions of which `wanted` is true.
void inline_and_clean(llvm::Module& module, bool (*wanted)(const llvm::Function&)) {
  Analyses analyses;
  llvm::ModulePassManager inlining;
  inlining.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  inlining.addPass(llvm::GlobalDCEPass());
  inlining.run(module, analyses.modules);
  llvm::FunctionPassManager clean;
  clean.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  clean.addPass(llvm::EarlyCSEPass(true));
  clean.addPass(llvm::InstCombinePass());
  clean.addPass(llvm::SimplifyCFGPass());
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && wanted(function)) clean.run(function, analyses.functions);
  }
}

bool has_back_edge(llvm::Function& function) {
  llvm::SmallVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, 8> edges;
  llvm::FindFunctionBackedges(function, edges);
  return !edges.empty();
}

bool has_own_memory(llvm::Function& function) {
  return std::ranges::any_of(llvm::instructions(function), [](llvm::Instruction& i) {
    auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&i);
    return variable && !is_helper_buffer(*variable);
  });
}

// A body without a loop and without a frame becomes a part of its program, which saves a call.
void inline_simple_bodies(llvm::Module& module) {
  bool any = false;
  for (llvm::Function& function : module) {
    if (!function.hasFnAttribute(kBodyAttribute) || has_back_edge(function) || has_own_memory(function)) continue;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
    any = true;
  }
  if (any) inline_and_clean(module, [](const llvm::Function& function) { return function.hasFnAttribute(kProgramAttribute); });
}

}  // namespace

Analyses::Analyses() {
  llvm::PassBuilder builder;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
}

bool is_program_context(const llvm::Value* value) {
  const auto* argument = llvm::dyn_cast<llvm::Argument>(value);
  if (!argument) return false;
  const llvm::Function* function = argument->getParent();
  return (function->hasFnAttribute(kProgramAttribute) && argument->getArgNo() == 0) ||
         (function->hasFnAttribute(kBodyAttribute) && argument->getArgNo() == 1);
}

bool is_helper_buffer(const llvm::AllocaInst& variable) {
  return std::ranges::any_of(variable.users(), [](const llvm::User* user) {
    const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
    return call && !call->getCalledFunction() && !call->isInlineAsm();
  });
}

// Instructions of a function with those of all functions that it calls, once for each call: what would be left if all calls were
// inlined.
using ExpandedSizes = std::map<const llvm::Function*, uint64_t>;
static uint64_t expanded_size(const llvm::Function& function, ExpandedSizes& known) {
  const auto [entry, is_new] = known.emplace(&function, 0);  // 0: a call of itself counts once
  if (!is_new) return entry->second;
  uint64_t size = function.getInstructionCount();
  for (const llvm::Instruction& instruction : llvm::instructions(function)) {
    const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
    if (callee && !callee->isDeclaration()) size += expanded_size(*callee, known);
  }
  return known[&function] = size;
}

static bool has_large_body(const llvm::Module& module) {
  constexpr unsigned kLargeBody = 1'000;       // instructions, most of which are calls that become ten or a hundred
  constexpr unsigned kLargeExpanded = 20'000;  // a body of 23,000 had more values than the stack of eBPF has room for
  ExpandedSizes sizes;
  return std::ranges::any_of(module, [&](const llvm::Function& function) {
    const bool is_body = function.hasFnAttribute(kBodyAttribute);
    // A script's function that is called once would be inlined into its caller, whatever its size.
    const bool of_script = is_body || function.getName().starts_with("script.");
    return (of_script && function.getInstructionCount() > kLargeBody) ||
           (is_body && expanded_size(function, sizes) > kLargeExpanded);
  });
}

static bool is_called_once_by_body(const llvm::Function& function) {
  if (!function.getName().starts_with("script.") || !function.hasOneUse()) return false;
  const auto* call = llvm::dyn_cast<llvm::CallBase>(*function.user_begin());
  return call && call->getFunction()->hasFnAttribute(kBodyAttribute);
}

// A function that handlers call once each is a part of each: what the verifier follows in a function of its own depends on
// nothing that a caller knows, and conditions of which many follow one another are more than it takes.
static void inline_into_bodies(llvm::Module& module) {
  constexpr unsigned kMostInlined = 1'000, kMostCallers = 8;  // instructions; handlers
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || !function.getName().starts_with("script.") || function.getInstructionCount() > kMostInlined)
      continue;
    std::set<const llvm::Function*> callers;
    const bool once_each = std::ranges::all_of(function.users(), [&](const llvm::User* user) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(user);
      return call && call->getFunction()->hasFnAttribute(kBodyAttribute) && callers.insert(call->getFunction()).second;
    });
    if (!once_each || callers.size() < 2 || callers.size() > kMostCallers) continue;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

void limit_inlining(ScriptModule& script) {
  constexpr unsigned kWorthCalling = 24;
  llvm::Module& module = script.module();
  if (!has_large_body(module)) return inline_into_bodies(module);
  module.getOrInsertNamedMetadata(kLargeBodies);
  for (llvm::Function& function : module) {
    // These take the program's own argument, or are a part of the program.
    bool belongs_to_program = function.getName().starts_with("spile_rt_kernel_");
    if (function.isDeclaration() || function.hasSection() || belongs_to_program ||
        function.getInstructionCount() <= kWorthCalling)
      continue;
    if (is_called_once_by_body(function)) continue;  // calls nest at most 8 deep
    function.removeFnAttr(llvm::Attribute::AlwaysInline);
    function.addFnAttr(llvm::Attribute::NoInline);
  }
}

// How many functions are active at most: with the function itself, from a program down to it and from it down.
struct CallDepth {
  unsigned above = 1, below = 1;
};
using CallDepths = std::map<llvm::Function*, CallDepth>;

// Visits the functions with code that a function calls, each as often as it is called.
static void for_each_callee(llvm::Function& function, llvm::function_ref<void(llvm::Function&)> visit) {
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
    if (callee && !callee->isDeclaration()) visit(*callee);
  }
}

static CallDepths call_depths(llvm::Module& module) {
  std::vector<llvm::Function*> callees_first;
  llvm::CallGraph graph(module);
  for (auto component = llvm::scc_begin(&graph); !component.isAtEnd(); ++component) {
    for (llvm::CallGraphNode* node : *component) {
      if (node->getFunction() && !node->getFunction()->isDeclaration()) callees_first.push_back(node->getFunction());
    }
  }
  CallDepths depths;
  for (llvm::Function* function : callees_first) {
    CallDepth& depth = depths[function];
    for_each_callee(*function, [&](llvm::Function& callee) { depth.below = std::max(depth.below, depths[&callee].below + 1); });
  }
  for (auto function = callees_first.rbegin(); function != callees_first.rend(); ++function) {
    for_each_callee(**function, [&](llvm::Function& callee) {
      depths[&callee].above = std::max(depths[&callee].above, depths[*function].above + 1);
    });
  }
  return depths;
}

void shorten_calls(llvm::Module& module, unsigned deepest) {
  constexpr uint64_t kMostMoved = 20'000;  // instructions
  for (;;) {
    llvm::Function* shortest = nullptr;
    uint64_t least = kMostMoved;
    for (auto& [function, depth] : call_depths(module)) {
      if (depth.above + depth.below - 1 <= deepest || function->hasFnAttribute(kProgramAttribute) ||
          function->hasFnAttribute(kBodyAttribute))
        continue;
      const bool only_called = std::ranges::all_of(function->users(), [&](const llvm::User* user) {
        const auto* call = llvm::dyn_cast<llvm::CallInst>(user);
        return call && call->getCalledFunction() == function;
      });
      const uint64_t moved = uint64_t{function->getInstructionCount()} * function->getNumUses();
      if (function->use_empty() || !only_called || moved >= least) continue;
      least = moved;
      shortest = function;
    }
    if (!shortest) return;
    shortest->removeFnAttr(llvm::Attribute::NoInline);
    shortest->removeFnAttr(llvm::Attribute::OptimizeNone);
    shortest->addFnAttr(llvm::Attribute::AlwaysInline);
    shortest->setLinkage(llvm::GlobalValue::InternalLinkage);
    inline_and_clean(module, [](const llvm::Function&) { return false; });
  }
}

void define_values(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      for (llvm::Use& operand : instruction.operands()) {
        const bool is_word = operand->getType()->isIntegerTy() || operand->getType()->isPointerTy();
        if (is_word && llvm::isa<llvm::UndefValue>(operand.get())) operand.set(llvm::Constant::getNullValue(operand->getType()));
      }
    }
  }
}

void inline_what_must_be(llvm::Module& module) {
  for (llvm::Function& function : module) {
    const bool takes_structure = std::ranges::any_of(
        function.args(), [](const llvm::Argument& a) { return a.getType()->isAggregateType() || a.hasByValAttr(); });
    if (function.isDeclaration() || (!function.getReturnType()->isAggregateType() && !takes_structure)) continue;
    function.removeFnAttr(llvm::Attribute::NoInline);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
  }
  inline_and_clean(module, [](const llvm::Function&) { return true; });
}

Result<void> make_loadable(ScriptModule& script, const LoadableOptions& options) {
  llvm::Module& module = script.module();
  llvm::removeFromUsedLists(module, [](llvm::Constant*) { return true; });
  inline_what_must_be(module);
  if (module.getNamedMetadata(kLargeBodies) || has_large_body(module)) pass_contexts(module);
  simplify_signatures(module);
  expand_memory(module);
  unroll_recursion(module, options.deepest);
  // Accesses of shared memory will call a function.
  shorten_calls(module, options.shares ? kMostActive - 1 : kMostActive);
  TRY_DO(move_frames(module));
  hide_program_context(module);
  inline_simple_bodies(module);
  share_helper_buffers(module);
  move_constants(module, options.constants_offset);
  bound_loops(module);
  define_values(module);
  TRY_DO(cast_pointers(module, options.shares));
  // Jumps of eBPF reach 32,768 instructions, and the code generator ends the program where one would have to reach further.
  constexpr unsigned kLargestFunction = 50'000;
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    // A program has the bodies that inline_simple_bodies() has made a part of it.
    if (function.getInstructionCount() > kLargestFunction) {
      return Error{"a handler is too large for the kernel", "split the probe, or do a part of it in a timer or end probe"};
    }
    if (function.hasFnAttribute(kProgramAttribute)) continue;
    bool is_body = function.hasFnAttribute(kBodyAttribute);
    std::string name = function.getName().str();
    function.setName("run." + name);
    function.setSection(is_body ? abi::kKernelBodyPrefix + name
                                : abi::kKernelFunctionPrefix + std::to_string(function.arg_size()) + "." + name);
    function.setLinkage(llvm::GlobalValue::ExternalLinkage);
    function.setVisibility(llvm::GlobalValue::HiddenVisibility);
  }
  return {};
}

}  // namespace spile::codegen
