// Programs of the kernel's object, each in a section of its own, and their bodies:
//
//   int program(void* context)        context: struct pt_regs, a tracepoint's record, struct bpf_perf_event_data, or an array of
//                                     arguments
//     which point was hit?            on some raw tracepoints only (kernel_points.h)
//     Context* c = enter(probe)       takes a level of this CPU; null: the hit is not ours, or skipped
//     body(c, context)
//     leave(c)
//
// A return probe with values of its function's entry has two: one at the entry, whose body stores the values into a frame that is
// found by the thread and the call (runtime/kernel/returns.cpp), and one at the return, whose body runs where that frame is
// found.
//
// A tracepoint's handler that does not look at the context runs on a raw tracepoint. Of a probe on the kernel's functions there
// are two of each program where the kernel describes arguments of some of them: for kprobes, and for fentry and fexit.
//
// Loops are in bodies and in functions: a loop that the kernel ends ends these, and the level is given back all the same.

#include "codegen/ebpf/lower_arena.h"

#include <algorithm>

#include "abi/kernel.h"
#include "abi/machine.h"
#include "codegen/bodies/lowering.h"
#include "codegen/ebpf/loadable.h"
#include "codegen/kernel/kernel_place.h"
#include "codegen/kernel/kernel_points.h"
#include "codegen/kernel/lower_kernel.h"
#include "sema/terms/intrinsics.h"

namespace spile::codegen {

namespace {

class ArenaHandler {
 public:
  enum class Side { kWhole, kEntry, kReturn };  // kEntry and kReturn: of a return probe that keeps values of the entry
  ArenaHandler(Unit& unit, ArenaKernelPlace& place, const sema::Probe& probe, const std::string& section, Side side)
      : unit_(unit), place_(place), probe_(probe), section_(section), side_(side), context_(unit.module.context()) {}

  void lower(const KernelSite::Context& given, const PointChoice& choice = {}) {
    place_.begin_handler(given);
    llvm::Function* body = body_ = lower_body(given, choice);
    auto* type = llvm::FunctionType::get(unit_.module.i32(), {unit_.module.ptr()}, false);
    // Section names are symbols too in LLVM's objects, so the function's name must be another.
    llvm::Function* program = program_ = unit_.module.add_function("run." + section_, type);
    program->setSection(section_);
    program->addFnAttr(kProgramAttribute);
    program->addFnAttr(llvm::Attribute::NoInline);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(context_, "entry", program));
    name_arena(b);
    PointChooser chooser(unit_, b, *program, probe_, llvm::ConstantPointerNull::get(unit_.module.ptr()));
    PointChooser::Chosen chosen = chooser.choose(choice, place_.reads_call_registers());
    if (runs_in_traced_processes(probe_)) chooser.only_if_traced();
    llvm::BasicBlock *run = llvm::BasicBlock::Create(context_, "run", program),
                     *end = llvm::BasicBlock::Create(context_, "end", program);
    llvm::Value* entered = unit_.module.call_runtime(b, "spile_rt_kernel_enter", unit_.module.ptr(),
                                                     {b.getInt32(static_cast<uint32_t>(probe_.index))});
    b.CreateCondBr(b.CreateIsNull(entered), end, run);
    b.SetInsertPoint(run);
    static_assert(abi::kKernelStateOffset >= sizeof(abi::Context) &&
                  abi::kKernelStateOffset + sizeof(State) <= abi::kKernelPointOffset);
    pass_on(b, chosen, entered);
    b.CreateCall(body, {entered, program->getArg(0)});
    unit_.module.call_runtime(b, "spile_rt_kernel_leave", unit_.module.none(), {entered});
    b.CreateBr(end);
    b.SetInsertPoint(end);
    b.CreateRet(b.getInt32(program_result(probe_)));
  }

  // The program goes into the object, or is removed. REQUIRES: lower() was called.
  void keep(bool kept) {
    if (kept) return unit_.module.export_function(program_);
    program_->eraseFromParent();
    body_->eraseFromParent();
  }

 private:
  static constexpr uint32_t kRegisterBytes = abi::kKernelLayout.pt_regs_call_end - abi::kKernelLayout.pt_regs_call_begin;
  static_assert(abi::kKernelRegistersOffset + kRegisterBytes <= abi::kKernelVariablesOffset);

  // The body finds in the frame what the program has found out.
  void pass_on(llvm::IRBuilder<>& b, const PointChooser::Chosen& chosen, llvm::Value* frame) {
    auto at = [&](llvm::Value* base, uint64_t offset) { return b.CreateConstGEP1_64(b.getInt8Ty(), base, offset); };
    if (chosen.point) b.CreateStore(chosen.point, at(frame, abi::kKernelPointOffset));
    for (uint32_t offset = 0; chosen.registers && place_.reads_call_registers() && offset < kRegisterBytes; offset += 8) {
      b.CreateStore(b.CreateLoad(b.getInt64Ty(), at(chosen.registers, offset)), at(frame, abi::kKernelRegistersOffset + offset));
    }
  }

  // The kernel lets a program use the arena that an instruction of it names.
  void name_arena(llvm::IRBuilder<>& b) {
    llvm::GlobalVariable* arena = map_symbol(unit_.module, abi::kKernelArenaMap);
    auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, false);
    b.CreateCall(type, llvm::InlineAsm::get(type, "", "r", true), {arena});
  }

  llvm::Function* lower_body(const KernelSite::Context& given, const PointChoice& choice) {
    auto* type = llvm::FunctionType::get(unit_.module.none(), {unit_.module.ptr(), unit_.module.ptr()}, false);
    llvm::Function* function = unit_.module.add_function("body." + section_, type);
    function->addFnAttr(kBodyAttribute);
    function->addFnAttr(llvm::Attribute::NoInline);
    llvm::IRBuilder<> b(llvm::BasicBlock::Create(context_, "entry", function));
    llvm::Value* context = function->getArg(0);
    llvm::Value* state = b.CreateConstGEP1_64(b.getInt8Ty(), context, abi::kKernelStateOffset);
    Body body(unit_, b, context, state);
    body.site.program_context = function->getArg(1);
    body.site.returns = given.at_return;
    if (choice.by != PointChoice::By::kAttachment) {
      body.site.point = b.CreateLoad(b.getInt64Ty(), b.CreateConstGEP1_64(b.getInt8Ty(), context, abi::kKernelPointOffset));
    }
    if (choice.in_calls && !choice.only_births) {
      body.site.call_registers = b.CreateConstGEP1_64(b.getInt8Ty(), context, abi::kKernelRegistersOffset);
    }
    body.probe = &probe_;
    if (!probe_.tables.empty() && probe_.points.size() > 1) body.site.site_id = place_.point_index(body);
    // Functions of the script find the point that was hit where those in processes have it.
    if (probe_.points.size() > 1 && unit_.functions_ask_for_site())
      b.CreateStore(place_.point_index(body), b.CreateConstGEP1_64(b.getInt8Ty(), context, offsetof(abi::Context, site_id)));
    Lowering lowering(body);
    lowering.store_site();
    if (unit_.program.needs & sema::kNeedsKernelStack) body.call("spile_rt_kernel_stack_forget", unit_.module.none(), {context});
    if (side_ == Side::kEntry) lower_saves(body, lowering);
    else if (side_ == Side::kReturn) lower_with_saves(body, lowering);
    else if (probe_.only_accumulates) lowering.lower_light_probe(probe_, true);
    else lowering.lower_probe(probe_);
    b.CreateRetVoid();
    return function;
  }

  // A function that another one ends with a jump to has the same frame, so of a program's functions the key has the point, too.
  llvm::Value* site_id(Body& body) {
    llvm::Value* probe = body.number(probe_.index);
    if (probe_.points.size() == 1 || probe_.points.front().site.kernel) return probe;
    return body.b.CreateOr(probe, body.b.CreateShl(place_.point_index(body), body.number(32)));
  }

  void lower_saves(Body& body, Lowering& lowering) {
    llvm::IRBuilder<>& b = body.b;
    Lowering::EntrySaves saves = lowering.lower_entry_saves(probe_);
    llvm::BasicBlock *keep = body.block("keep"), *store = body.block("store"), *done = body.block("done");
    b.CreateCondBr(saves.ok, keep, done);
    b.SetInsertPoint(keep);
    llvm::Value* place =
        body.call("spile_rt_kernel_return_enter", unit_.module.ptr(), {body.context, place_.call_key(body), site_id(body)});
    b.CreateCondBr(b.CreateIsNull(place), done, store);
    b.SetInsertPoint(store);
    const std::vector<uint32_t>& offsets = unit_.layout.saves[static_cast<size_t>(probe_.index)];
    for (size_t i = 0; i < offsets.size(); ++i) {
      llvm::Value* to = b.CreateConstGEP1_64(b.getInt8Ty(), place, offsets[i]);
      if (saves.values[i]->getType()->isPointerTy())
        body.call("spile_rt_string_copy", unit_.module.none(), {to, saves.values[i]});
      else b.CreateStore(saves.values[i], to);
    }
    b.CreateBr(done);
    b.SetInsertPoint(done);
  }

  // A return whose entry was before the probe was armed has no values: it is not ours.
  void lower_with_saves(Body& body, Lowering& lowering) {
    llvm::IRBuilder<>& b = body.b;
    llvm::BasicBlock *found = body.block("found"), *done = body.block("done");
    llvm::Value* saves =
        body.call("spile_rt_kernel_return_find", unit_.module.ptr(), {body.context, place_.call_key(body), site_id(body)});
    b.CreateCondBr(b.CreateIsNull(saves), done, found);
    b.SetInsertPoint(found);
    body.site.saves = saves;
    lowering.lower_probe(probe_);
    body.call("spile_rt_kernel_return_exit", unit_.module.none(), {body.context, saves});
    b.CreateBr(done);
    b.SetInsertPoint(done);
  }

  Unit& unit_;
  ArenaKernelPlace& place_;
  const sema::Probe& probe_;
  const std::string section_;
  const Side side_;
  llvm::LLVMContext& context_;
  llvm::Function* body_ = nullptr;
  llvm::Function* program_ = nullptr;
};

// Lowers the programs of all probes.
class ArenaProbes {
 public:
  ArenaProbes(Unit& unit, ArenaKernelPlace& place, KernelCode& code) : unit_(unit), place_(place), code_(code) {}

  void lower(const sema::Probe& probe) {
    if (probe.points.size() > kMostKernelPoints) {
      unit_.refuse(probe.range,
                   "a probe in the kernel can have 65536 places, and this one has " + std::to_string(probe.points.size()),
                   "divide the pattern among several probes");
      return;
    }
    if (probe.kind == sema::ProbeKind::kTracepoint || sema::info(probe.kind).source == sema::Source::kWatch) {
      for (const PointChoice& choice : point_choices(probe)) lower_points(probe, choice);
      return;
    }
    lower_programs(probe, -1);
    if (int arguments = described_arguments(probe); arguments >= 0) lower_programs(probe, arguments);
  }

 private:
  using Side = ArenaHandler::Side;

  static std::string section_of(const sema::Probe& probe) { return "probe." + std::to_string(probe.index); }

  KernelProgram& add(const std::string& section, const sema::Probe& probe) {
    KernelProgram& program = code_.programs.emplace_back();
    program.section = section;
    program.probe = probe.index;
    return program;
  }

  // arguments: of the functions, for fentry and fexit; -1: for all other mechanisms.
  void lower_programs(const sema::Probe& probe, int arguments) {
    const bool at_return = probe.kind == sema::ProbeKind::kFunctionReturn, keeps = at_return && !probe.entry_saves.empty();
    const std::string section = section_of(probe) + (arguments >= 0 ? ".traced" : "");
    KernelSite::Context given;
    given.arguments = arguments;
    bool kept = true;
    ArenaHandler entry(unit_, place_, probe, section + ".entry", Side::kEntry),
        handler(unit_, place_, probe, section, keeps ? Side::kReturn : Side::kWhole);
    if (keeps) {
      entry.lower(given);
      kept = !place_.asked_too_much();
    }
    given.at_return = at_return;
    handler.lower(given);
    kept &= !place_.asked_too_much();
    handler.keep(kept);
    if (keeps) entry.keep(kept);
    if (!kept) return;
    const bool reads_context = place_.reads_context();
    if (keeps) add(section + ".entry", probe).by_arguments = arguments >= 0;
    KernelProgram& program = add(section, probe);
    program.exit_side = at_return;
    program.by_arguments = arguments >= 0;
    program.reads_context = reads_context;
  }

  void lower_points(const sema::Probe& probe, const PointChoice& choice) {
    KernelSite::Context given;
    given.at_exit = choice.at_exit;
    ArenaHandler handler(unit_, place_, probe, section_of(probe) + choice.suffix, Side::kWhole);
    handler.lower(given, choice);
    handler.keep(true);
    KernelProgram& program = add(section_of(probe) + choice.suffix, probe);
    program.raw_tracepoint = choice.raw_tracepoint;
    program.by_arguments = choice.by_arguments;
    program.reads_context = place_.reads_context();
    if (choice.points.size() < probe.points.size() || choice.by_arguments) program.points = choice.points;
  }

  Unit& unit_;
  ArenaKernelPlace& place_;
  KernelCode& code_;
};

// Memory of so many bytes for each level of each CPU, for what helpers of the kernel write.
KernelMap level_map(const char* symbol, uint32_t bytes) {
  KernelMap map;
  map.symbol = symbol;
  map.kind = KernelMap::Kind::kPerCpuArray;
  map.key_size = sizeof(uint32_t);
  map.value_size = bytes;
  map.entries = abi::kKernelLevels;
  return map;
}

}  // namespace

namespace {
// Bytes that the slots of handlers in the kernel take, and that are touched besides.
uint64_t memory_of(const ArenaLayout& arena) {
  uint64_t rings = arena.kernel_slots / abi::kKernelLevels *
                   (arena.kernel_ring_size + (abi::kKernelLevels - 1) * uint64_t{arena.kernel_small_ring_size});
  uint64_t sparse = arena.tables_size + arena.kernel_code_size;
  return uint64_t{arena.kernel_slots} * arena.ring_offset + rings + arena.private_offset - sparse;
}

// Whether the machine has that memory, and one arena has room for it.
bool has_room(const ArenaLayout& arena, const LayoutOptions& options) {
  return memory_of(arena) <= options.kernel_memory && arena.size <= abi::kLargestKernelArena / 2;
}

LayoutOptions with_small_rings(LayoutOptions options) {
  options.kernel_ring = 1 << 20;
  return options;
}
}  // namespace

Result<Layouts> layouts_of(const sema::Program& program, const LayoutOptions& options) {
  LayoutOptions over_maps = options;
  over_maps.kernel_cpus = 0;
  Layouts layouts;
  if (is_mixed(program)) {
    CHECK(options.kernel_cpus > 0);  // sema::TargetInfo has asked for handlers in processes
    TRY(MixedLayout mixed, make_mixed_layout(program, options));
    if (!has_room(mixed.kernel.arena, options)) {
      TRY(mixed, make_mixed_layout(program, with_small_rings(options)));
    }
    if (!has_room(mixed.kernel.arena, options)) {
      return Error{
          "handlers in the kernel need more memory for the script's globals than they may take beside handlers in processes",
          "--runtime=bpf, which runs all of the script in the kernel"};
    }
    layouts.main = std::move(mixed.processes);
    layouts.kernel = std::move(mixed.kernel);
    layouts.copies = std::move(mixed.copies);
    return layouts;
  }
  // Which program a process executes is noted in a map of the kernel, by programs of the runtime over such maps.
  if (options.kernel_cpus > 0 && followed_programs(program).empty()) {
    TRY(layouts.main, make_layout(program, options));
    if (has_room(layouts.main.arena, options)) return layouts;
    TRY(layouts.main, make_layout(program, with_small_rings(options)));
    if (has_room(layouts.main.arena, options)) return layouts;
    layouts.memory_wanted = memory_of(layouts.main.arena);
  }
  TRY(layouts.main, make_layout(program, over_maps));
  return layouts;
}

bool works_over_arena(const sema::Program& program, const LayoutOptions& options) {
  Result<Layouts> layouts = layouts_of(program, options);
  return layouts.ok() && (layouts->kernel ? layouts->kernel->arena : layouts->main.arena).kernel_slots > 0;
}

KernelCode lower_arena_handlers(Unit& unit, ArenaKernelPlace& place) {
  KernelCode code;
  code.over_arena = true;
  if (std::ranges::any_of(unit.program.probes, runs_in_traced_processes)) code.maps.push_back(map_of_targets());
  ArenaProbes probes(unit, place, code);
  for (const sema::Probe& probe : unit.program.probes) {
    if (probe.domain == sema::Domain::kKernel) probes.lower(probe);
  }
  if (place.keeps_stacks()) {
    code.maps.push_back(level_map(abi::kKernelFramesMap,
                                  8 * (static_cast<uint32_t>(unit.program.limits.max_backtrace) + abi::kMostTracingFrames)));
  }
  if (unit.layout.arena.processes_offset != 0)
    code.maps.push_back(level_map(abi::kKernelCopyMap, abi::kUserStackPages * abi::kPageSize));
  return code;
}

}  // namespace spile::codegen
