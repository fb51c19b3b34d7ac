// Programs of the kernel's object, each in a section of its own, and their bodies:
//
//   int program(void* context)        context: struct pt_regs, a tracepoint's record, or struct bpf_perf_event_data
//     Context* c = enter(probe)       takes a level of this CPU; null: the hit is not ours, or skipped
//     body(c, context)
//     leave(c)
//
// Loops are in bodies and in functions: a loop that the kernel ends ends these, and the level is given back all the same.

#include "codegen/ebpf/lower_arena.h"

#include "abi/kernel.h"
#include "codegen/ebpf/loadable.h"
#include "codegen/kernel_place.h"
#include "codegen/lowering.h"

namespace spile::codegen {

namespace {

class ArenaHandler {
 public:
  ArenaHandler(Unit& unit, const sema::Probe& probe, const std::string& section)
      : unit_(unit), probe_(probe), section_(section), context_(unit.module.context()) {}

  void lower() {
    llvm::Function* body = lower_body();
    auto* type = llvm::FunctionType::get(unit_.module.i32(), {unit_.module.ptr()}, false);
    // Section names are symbols too in LLVM's objects, so the function's name must be another.
    llvm::Function* program = unit_.module.add_function("run." + section_, type);
    program->setSection(section_);
    program->addFnAttr(kProgramAttribute);
    program->addFnAttr(llvm::Attribute::NoInline);
    unit_.module.export_function(program);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(context_, "entry", program));
    name_arena(b);
    llvm::BasicBlock *run = llvm::BasicBlock::Create(context_, "run", program), *end = llvm::BasicBlock::Create(context_, "end", program);
    llvm::Value* entered = unit_.module.call_runtime(b, "spile_rt_kernel_enter", unit_.module.ptr(), {b.getInt32(static_cast<uint32_t>(probe_.index))});
    b.CreateCondBr(b.CreateIsNull(entered), end, run);
    b.SetInsertPoint(run);
    static_assert(abi::kKernelStateOffset >= sizeof(abi::Context) && abi::kKernelStateOffset + sizeof(State) <= abi::kKernelPassOffset);
    b.CreateCall(body, {entered, program->getArg(0)});
    unit_.module.call_runtime(b, "spile_rt_kernel_leave", unit_.module.none(), {entered});
    b.CreateBr(end);
    b.SetInsertPoint(end);
    b.CreateRet(b.getInt32(0));
  }

 private:
  // The kernel lets a program use the arena that an instruction of it names.
  void name_arena(llvm::IRBuilder<>& b) {
    llvm::GlobalVariable* arena = map_symbol(unit_.module, abi::kKernelArenaMap);
    auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
    b.CreateCall(type, llvm::InlineAsm::get(type, "", "r", true), {arena});
  }

  llvm::Function* lower_body() {
    auto* type = llvm::FunctionType::get(unit_.module.none(), {unit_.module.ptr(), unit_.module.ptr()}, false);
    llvm::Function* function = unit_.module.add_function("body." + section_, type);
    function->addFnAttr(kBodyAttribute);
    function->addFnAttr(llvm::Attribute::NoInline);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(context_, "entry", function));
    llvm::Value* context = function->getArg(0);
    llvm::Value* state = b.CreateConstGEP1_64(b.getInt8Ty(), context, abi::kKernelStateOffset);
    Body body(unit_, b, context, state);
    body.site.program_context = function->getArg(1);
    body.probe = &probe_;
    Lowering lowering(body);
    lowering.store_site();
    if (probe_.only_accumulates) lowering.lower_light_probe(probe_, true);
    else lowering.lower_probe(probe_);
    b.CreateRetVoid();
    return function;
  }

  Unit& unit_;
  const sema::Probe& probe_;
  const std::string section_;
  llvm::LLVMContext& context_;
};

}  // namespace

Result<Layout> layout_for_kernel(const sema::Program& program, const LayoutOptions& options) {
  LayoutOptions over_maps = options;
  over_maps.kernel_cpus = 0;
  // Values of a function's entry are kept until its return in a map of the kernel.
  bool keeps_entries = std::ranges::any_of(program.probes, [](const sema::Probe& probe) {
    return probe.domain == sema::Domain::kKernel && !probe.entry_saves.empty();
  });
  if (options.kernel_cpus == 0 || keeps_entries) return make_layout(program, over_maps);
  TRY(Layout layout, make_layout(program, options));
  const ArenaLayout& arena = layout.arena;
  uint64_t rings = arena.kernel_slots / abi::kKernelLevels * (arena.kernel_ring_size + (abi::kKernelLevels - 1) * uint64_t{arena.kernel_small_ring_size});
  uint64_t memory = uint64_t{arena.kernel_slots} * arena.ring_offset + rings + arena.private_offset;
  if (memory > options.kernel_memory || arena.size > abi::kLargestKernelArena / 2) return make_layout(program, over_maps);
  return layout;
}

KernelCode lower_arena_handlers(Unit& unit, ArenaKernelPlace& place) {
  KernelCode code;
  code.over_arena = true;
  for (const sema::Probe& probe : unit.program.probes) {
    if (probe.domain != sema::Domain::kKernel) continue;
    std::string section = "probe." + std::to_string(probe.index);
    bool at_return = probe.kind == sema::ProbeKind::kFunctionReturn;
    place.set_at_return(at_return);
    ArenaHandler(unit, probe, section).lower();
    code.programs.push_back({section, probe.index, at_return});
  }
  return code;
}

}  // namespace spile::codegen
