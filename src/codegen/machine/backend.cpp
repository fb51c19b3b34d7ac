#include "codegen/machine/backend.h"

#include <elf.h>
#include <link.h>
#include <llvm/CodeGen/SchedulerRegistry.h>
#include <llvm/CodeGen/SelectionDAGISel.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include <cstring>

#include "base/check.h"
#include "codegen/machine/native_target.h"
#include "codegen/terms/llvm_option.h"

namespace spile::codegen {

namespace {

// Empty: this process compiles.
OutsideCompiler& outside_compiler() {
  static OutsideCompiler compiler;
  return compiler;
}

// The order of instructions within a basic block. LLVM's own takes time by the square of a block's size: seconds for a handler of
// 3,000 statements without a branch. Large blocks of eBPF, which has no flags that an order must keep, get one that is made in
// one pass.
llvm::ScheduleDAGSDNodes* make_scheduler(llvm::SelectionDAGISel* selection, llvm::CodeGenOptLevel level) {
  constexpr size_t kLargeBlock = 4'000;
  const bool is_large = selection->TM.getTargetTriple().isBPF() && selection->CurDAG->allnodes_size() > kLargeBlock;
  return is_large ? llvm::createFastDAGScheduler(selection, level) : llvm::createDefaultScheduler(selection, level);
}
void use_own_scheduler() {
  static const bool used = [] {
    static llvm::RegisterScheduler own("spile", "by the size of the block", make_scheduler);
    set_llvm_option("pre-RA-sched", "spile");
    return true;
  }();
  static_cast<void>(used);
}

bool is_quick(int level) { return level == kQuick || level == kQuickOnLittleStack; }

// Functions name no machine of their own (ScriptModule::unify_machine), so that this one is theirs.
Result<std::unique_ptr<llvm::TargetMachine>> make_machine(Machine machine, int level) {
  const bool is_native = machine == Machine::kNative;
  std::string triple = is_native ? kNativeTarget.triple : "bpfel";
  std::string complaint;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, complaint);
  if (!target) return Error{"compile: " + complaint, ""};
  llvm::TargetOptions options;
  options.EnableFastISel = is_quick(level);
  auto optimization = level == 0 || level == kQuick                ? llvm::CodeGenOptLevel::None
                      : level == 1 || level == kQuickOnLittleStack ? llvm::CodeGenOptLevel::Less
                                                                   : llvm::CodeGenOptLevel::Default;
  std::unique_ptr<llvm::TargetMachine> made(target->createTargetMachine(triple,
                                                                        is_native                  ? kNativeTarget.processor
                                                                        : machine == Machine::kBpf ? "v3"
                                                                                                   : "v4",
                                                                        is_native ? kNativeTarget.features : "", options,
                                                                        llvm::Reloc::PIC_, llvm::CodeModel::Small, optimization));
  if (!made) return Error{"compile: LLVM has no code generator for " + triple, ""};
  return made;
}

// Runs passes over functions of ordinary size. Passes that put variables into registers take time by the product of a
// function's variables and blocks: a handler of thousands of statements is compiled as it stands. (In spile itself only: it
// has a large stack frame then.)
struct WhereItPays : llvm::PassInfoMixin<WhereItPays> {
  explicit WhereItPays(llvm::FunctionPassManager wanted) : passes(std::move(wanted)) {}
  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    constexpr unsigned kLargest = 20'000;
    if (function.getInstructionCount() > kLargest) return llvm::PreservedAnalyses::all();
    return passes.run(function, analyses);
  }
  static bool isRequired() { return true; }
  llvm::FunctionPassManager passes;
};

// The runtime has been optimized when it was compiled, so what is left to do is to inline it and to clean up after that.
// LLVM's own O2 pipeline does three times the work for the same code.
llvm::ModulePassManager make_pipeline() {
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  llvm::FunctionPassManager early;
  early.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  early.addPass(llvm::EarlyCSEPass(true));
  early.addPass(llvm::SimplifyCFGPass());
  early.addPass(llvm::InstCombinePass());
  llvm::ModuleInlinerWrapperPass inliner(llvm::getInlineParams(225));
  inliner.getPM().addPass(llvm::createCGSCCToFunctionPassAdaptor(std::move(early)));
  passes.addPass(std::move(inliner));
  passes.addPass(llvm::GlobalDCEPass());
  llvm::FunctionPassManager late;
  late.addPass(llvm::SROAPass(llvm::SROAOptions::ModifyCFG));
  late.addPass(llvm::JumpThreadingPass());
  late.addPass(llvm::SimplifyCFGPass());
  late.addPass(llvm::GVNPass());
  late.addPass(llvm::DSEPass());
  late.addPass(llvm::InstCombinePass());
  late.addPass(llvm::ADCEPass());
  late.addPass(llvm::SimplifyCFGPass(llvm::SimplifyCFGOptions().hoistCommonInsts(true).sinkCommonInsts(true)));
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(late)));
  return passes;
}

// Small functions of the runtime are inlined where they fold away or cost less than their call; large ones, that fold
// in full optimization, are called.
llvm::ModulePassManager make_quick_pipeline(llvm::Module& module) {
  constexpr unsigned kWorthCalling = 24;
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && function.getInstructionCount() > kWorthCalling)
      function.removeFnAttr(llvm::Attribute::AlwaysInline);
  }
  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass(/*InsertLifetime=*/false));
  llvm::FunctionPassManager clean;
  clean.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
  clean.addPass(llvm::EarlyCSEPass());
  clean.addPass(llvm::SimplifyCFGPass());
  passes.addPass(llvm::createModuleToFunctionPassAdaptor(WhereItPays(std::move(clean))));
  return passes;
}

// Returns a copy of what lowering has added: of the runtime's functions, which are not read in yet, those that it calls have
// declarations there.
std::unique_ptr<llvm::Module> script_part(const llvm::Module& module) {
  llvm::ValueToValueMapTy copies;
  std::unique_ptr<llvm::Module> part = llvm::CloneModule(module, copies, [](const llvm::GlobalValue* value) {
    const auto* function = llvm::dyn_cast<llvm::Function>(value);
    return !function || !function->isMaterializable();
  });
  for (llvm::Function& function : llvm::make_early_inc_range(*part)) {
    if (function.isDeclaration() && function.use_empty()) function.eraseFromParent();
  }
  return part;
}

// The build-id that the linker gave to this program: of everything that is linked into it.
std::string own_build_id() {
  std::string id;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& header = info->dlpi_phdr[i];
          if (header.p_type != PT_NOTE) continue;
          const char* at = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
          const char* end = at + header.p_memsz;
          while (static_cast<size_t>(end - at) >= sizeof(ElfW(Nhdr))) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const char* name = at + sizeof note;
            const char* description = name + ((note.n_namesz + 3) & ~3u);
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
              static_cast<std::string*>(result)->assign(description, note.n_descsz);
            }
            at = description + ((note.n_descsz + 3) & ~3u);
          }
        }
        return 1;  // the first is the program itself
      },
      &id);
  return id;
}

}  // namespace

void initialize_machines() {
  static const bool done = [] {
    initialize_native_target();
    LLVMInitializeBPFTargetInfo();
    LLVMInitializeBPFTarget();
    LLVMInitializeBPFTargetMC();
    LLVMInitializeBPFAsmPrinter();
    LLVMInitializeBPFAsmParser();
    return true;
  }();
  static_cast<void>(done);
}

void set_outside_compiler(OutsideCompiler compiler) { outside_compiler() = std::move(compiler); }

Result<void> optimize(ScriptModule& script, Machine machine, int level) {
  if (const OutsideCompiler& outside = outside_compiler()) {
    TRY(std::string optimized, outside({CompileRequest::kOptimize, machine, level, script.bitcode()}));
    return script.replace(optimized);
  }
  TRY(auto target, make_machine(machine, level));
  llvm::Module& module = script.module();
  module.setTargetTriple(target->getTargetTriple().str());
  module.setDataLayout(target->createDataLayout());
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = false;
  tuning.LoopVectorization = false;
  tuning.SLPVectorization = false;
  llvm::PassBuilder builder(target.get(), tuning);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::ModulePassManager passes = is_quick(level) ? make_quick_pipeline(module)
                                   : level == 0    ? builder.buildO0DefaultPipeline(llvm::OptimizationLevel::O0)
                                                   : make_pipeline();
  passes.addPass(llvm::GlobalDCEPass());
  passes.run(module, modules);
  return {};
}

std::string module_key(const ScriptModule& script, Machine machine, std::string_view how) {
  static const std::string build = own_build_id();
  if (build.empty()) return {};
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  stream << build << LLVM_VERSION_STRING << static_cast<int>(machine) << ' ' << llvm::StringRef(how) << '\n';
  llvm::WriteBitcodeToFile(*script_part(script.module()), stream);
  return llvm::toHex(llvm::BLAKE3::hash<>({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}), true);
}

Result<std::string> emit_object(ScriptModule& script, Machine machine, int level) {
  if (const OutsideCompiler& outside = outside_compiler()) {
    return outside({CompileRequest::kEmit, machine, level, script.bitcode()});
  }
  use_own_scheduler();
  TRY(auto target, make_machine(machine, level));
  std::string complaint;
  script.module().getContext().setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo* diagnostic, void* text) {
        if (diagnostic->getSeverity() != llvm::DS_Error) return;
        llvm::raw_string_ostream stream(*static_cast<std::string*>(text));
        llvm::DiagnosticPrinterRawOStream printer(stream);
        diagnostic->print(printer);
      },
      &complaint);
  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream stream(object);
  llvm::legacy::PassManager passes;
  if (target->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile, true)) {
    return Error{"compile: LLVM can't emit an object here", ""};
  }
  passes.run(script.module());
  // What the code generator has no instructions for is a mistake of ours, but for the room that a handler needs.
  if (complaint.find("stack limit") != std::string::npos) {
    return Error{"a handler is too large for the kernel: its values need more than the 512 bytes of stack that eBPF has",
                 "split the probe, or do a part of it in a timer or end probe"};
  }
  if (!complaint.empty())
    return Error{"compile: internal error: " + complaint, "this is a mistake in spile; please report it with the script"};
  return std::string(object.data(), object.size());
}

}  // namespace spile::codegen
