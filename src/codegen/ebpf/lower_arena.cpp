// Programs of the kernel's object, each in a section of its own, and their bodies:
//
//   int program(void* context)        context: struct pt_regs, a tracepoint's record, or struct bpf_perf_event_data
//     Context* c = enter(probe)       takes a level of this CPU; null: the hit is not ours, or skipped
//     body(c, context)
//     leave(c)
//
// A return probe with values of its function's entry has two: one at the entry, whose body stores the values into a frame that is found by the
// thread and the call (runtime/kernel/returns.cpp), and one at the return, whose body runs where that frame is found.
//
// A tracepoint's handler that does not look at the context runs on a raw tracepoint.
//
// Loops are in bodies and in functions: a loop that the kernel ends ends these, and the level is given back all the same.

#include "codegen/ebpf/lower_arena.h"

#include "abi/kernel.h"
#include "codegen/ebpf/loadable.h"
#include "codegen/kernel_place.h"
#include "codegen/lower_kernel.h"
#include "codegen/lowering.h"

namespace spile::codegen {

namespace {

class ArenaHandler {
 public:
  enum class Side { kWhole, kEntry, kReturn };  // kEntry and kReturn: of a return probe that keeps values of the entry
  ArenaHandler(Unit& unit, const sema::Probe& probe, const std::string& section, Side side)
      : unit_(unit), probe_(probe), section_(section), side_(side), context_(unit.module.context()) {}

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
    if (side_ == Side::kEntry) lower_saves(body, lowering);
    else if (side_ == Side::kReturn) lower_with_saves(body, lowering);
    else if (probe_.only_accumulates) lowering.lower_light_probe(probe_, true);
    else lowering.lower_probe(probe_);
    b.CreateRetVoid();
    return function;
  }

  llvm::Value* site_id(llvm::IRBuilder<>& b) { return b.getInt64(static_cast<uint64_t>(probe_.index)); }

  void lower_saves(Body& body, Lowering& lowering) {
    llvm::IRBuilder<>& b = body.b;
    Lowering::EntrySaves saves = lowering.lower_entry_saves(probe_);
    llvm::BasicBlock *keep = body.block("keep"), *store = body.block("store"), *done = body.block("done");
    b.CreateCondBr(saves.ok, keep, done);
    b.SetInsertPoint(keep);
    llvm::Value* place = body.call("spile_rt_kernel_return_enter", unit_.module.ptr(), {body.context, unit_.place.cfa(body), site_id(b)});
    b.CreateCondBr(b.CreateIsNull(place), done, store);
    b.SetInsertPoint(store);
    const std::vector<uint32_t>& offsets = unit_.layout.saves[static_cast<size_t>(probe_.index)];
    for (size_t i = 0; i < offsets.size(); ++i) {
      llvm::Value* to = b.CreateConstGEP1_64(b.getInt8Ty(), place, offsets[i]);
      if (saves.values[i]->getType()->isPointerTy()) body.call("spile_rt_string_copy", unit_.module.none(), {to, saves.values[i]});
      else b.CreateStore(saves.values[i], to);
    }
    b.CreateBr(done);
    b.SetInsertPoint(done);
  }

  // A return whose entry was before the probe was armed has no values: it is not ours.
  void lower_with_saves(Body& body, Lowering& lowering) {
    llvm::IRBuilder<>& b = body.b;
    llvm::BasicBlock *found = body.block("found"), *done = body.block("done");
    llvm::Value* saves = body.call("spile_rt_kernel_return_find", unit_.module.ptr(), {body.context, unit_.place.cfa(body), site_id(b)});
    b.CreateCondBr(b.CreateIsNull(saves), done, found);
    b.SetInsertPoint(found);
    body.site.saves = saves;
    lowering.lower_probe(probe_);
    body.call("spile_rt_kernel_return_exit", unit_.module.none(), {body.context, saves});
    b.CreateBr(done);
    b.SetInsertPoint(done);
  }

  Unit& unit_;
  const sema::Probe& probe_;
  const std::string section_;
  const Side side_;
  llvm::LLVMContext& context_;
};

}  // namespace

Result<Layout> layout_for_kernel(const sema::Program& program, const LayoutOptions& options) {
  LayoutOptions over_maps = options;
  over_maps.kernel_cpus = 0;
  if (options.kernel_cpus == 0 || needs_kernel_maps(program)) return make_layout(program, over_maps);
  TRY(Layout layout, make_layout(program, options));
  const ArenaLayout& arena = layout.arena;
  uint64_t rings = arena.kernel_slots / abi::kKernelLevels * (arena.kernel_ring_size + (abi::kKernelLevels - 1) * uint64_t{arena.kernel_small_ring_size});
  uint64_t memory = uint64_t{arena.kernel_slots} * arena.ring_offset + rings + arena.private_offset;
  if (memory > options.kernel_memory || arena.size > abi::kLargestKernelArena / 2) return make_layout(program, over_maps);
  return layout;
}

// Raw tracepoints have no cookies, by which programs know their points, so each point has a program.
static void lower_raw_tracepoints(Unit& unit, ArenaKernelPlace& place, const sema::Probe& probe, KernelCode& code) {
  for (uint32_t i = 0; i < probe.points.size(); ++i) {
    KernelProgram program;
    program.section = "probe." + std::to_string(probe.index) + (probe.points.size() > 1 ? "." + std::to_string(i) : "");
    program.probe = probe.index;
    program.by_arguments = true;
    program.points = {i};
    place.set_at_return(false);
    place.begin_handler(i);
    ArenaHandler(unit, probe, program.section, ArenaHandler::Side::kWhole).lower();
    code.programs.push_back(std::move(program));
  }
}

KernelCode lower_arena_handlers(Unit& unit, ArenaKernelPlace& place) {
  KernelCode code;
  code.over_arena = true;
  for (const sema::Probe& probe : unit.program.probes) {
    if (probe.domain != sema::Domain::kKernel) continue;
    using Side = ArenaHandler::Side;
    std::string section = "probe." + std::to_string(probe.index);
    if (probe.points.front().site.by_arguments) {
      lower_raw_tracepoints(unit, place, probe, code);
      continue;
    }
    bool at_return = probe.kind == sema::ProbeKind::kFunctionReturn, keeps = at_return && !probe.entry_saves.empty();
    if (keeps) {
      place.set_at_return(false);
      ArenaHandler(unit, probe, section + ".entry", Side::kEntry).lower();
      KernelProgram& entry = code.programs.emplace_back();
      entry.section = section + ".entry";
      entry.probe = probe.index;
    }
    place.set_at_return(at_return);
    place.begin_handler();
    ArenaHandler(unit, probe, section, keeps ? Side::kReturn : Side::kWhole).lower();
    KernelProgram program;
    program.section = section;
    program.probe = probe.index;
    program.exit_side = at_return;
    program.reads_context = place.reads_context();
    code.programs.push_back(std::move(program));
  }
  return code;
}

}  // namespace spile::codegen
