// Programs of the kernel's object. Each is one function in a section of its own:
//
//   int program(void* context)        context: struct pt_regs, a tracepoint's record, or struct bpf_perf_event_data;
//                                     raw tracepoints: an array of 64-bit arguments; fentry and fexit: the function's arguments
//
// Of a probe on the kernel's functions there are two of each program where the kernel describes arguments of some of them: one
// with struct pt_regs, for kprobes, and one with the arguments, for fentry and fexit. The loader takes one of them for each
// function.
//
//   light bodies only:    body
//   others:               enter -> body -> leave
//   entry values:         at the entry  enter -> values -> into a table under (thread, CFA) -> leave
//                         at the return enter -> find them -> body -> remove them -> leave
//   raw tracepoints:      which point was hit (kernel_points.h) -> one of the first two

#include "codegen/kernel/lower_kernel.h"

#include <algorithm>
#include <optional>

#include "abi/kernel.h"
#include "abi/thread_cells.h"
#include "codegen/bodies/lowering.h"
#include "codegen/kernel/kernel_points.h"
#include "codegen/process/lower_native.h"

namespace spile::codegen {

namespace {

constexpr uint32_t kMostLives = 1 << 16;   // processes of followed programs, and those that ended with several threads
constexpr uint32_t kMostSaveBytes = 4096;  // half of the handler's scratch memory

class KernelHandler {
 public:
  KernelHandler(Unit& unit, KernelPlace& place, const sema::Probe& probe, const std::string& section)
      : unit_(unit),
        place_(place),
        probe_(probe),
        function_(make_function(section)),
        b_(llvm::BasicBlock::Create(unit.module.context(), "entry", function_)) {
    // As much of both as is used here: eBPF has 512 bytes of stack, with those of functions that are called.
    context_ = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), offsetof(abi::Context, user_pc) / 8), nullptr, "context");
    state_ = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), offsetof(State, knowledge) / 8), nullptr, "state");
    b_.CreateStore(function_->getArg(0), field(offsetof(abi::Context, kernel_context)));
    b_.CreateStore(b_.getInt32(static_cast<uint32_t>(probe.index)), field(offsetof(abi::Context, probe)));
  }

  // The handler goes on where a point was hit. REQUIRES: called before lower_body.
  void choose_point(const PointChoice& choice) { chosen_ = PointChooser(unit_, b_, *function_, probe_, context_).choose(choice); }

  // The handler goes on in the traced processes. REQUIRES: called before lower_body.
  void only_if_traced() { PointChooser(unit_, b_, *function_, probe_, context_).only_if_traced(); }

  // All of a program that keeps abi::kKernelLivesMap.
  enum class Event : uint8_t { kBirth, kExec, kDeath };
  void lower_life(Event event) {
    PointChoice choice;
    choice.in_calls = choice.only_births = event == Event::kBirth;
    if (event != Event::kExec) choice.thread = PointChoice::Thread::kFirst;
    choose_point(choice);
    llvm::Value* map = map_symbol(unit_.module, abi::kKernelLivesMap);
    if (event == Event::kDeath) call("spile_rt_kernel_forget_life", unit_.module.none(), {context_, map});
    else call("spile_rt_kernel_note_life", unit_.module.none(), {context_, map, b_.getInt32(event == Event::kExec)});
    b_.CreateRet(b_.getInt32(0));
  }

  void lower_body() {
    bool light = probe_.only_accumulates;
    llvm::BasicBlock* end = enter(light ? "spile_rt_enter_light" : "spile_rt_enter");
    Body body(unit_, b_, context_, state_);
    body.site.point = chosen_.point;
    body.site.call_registers = chosen_.registers;
    Lowering lowering(body);
    if (light) lowering.lower_light_probe(probe_, true);
    else lowering.lower_probe(probe_);
    leave(end, light ? "spile_rt_leave_light" : "spile_rt_leave");
    b_.CreateRet(b_.getInt32(program_result(probe_)));
  }

  void lower_saves(llvm::Value* map) {
    llvm::BasicBlock* end = enter();
    llvm::BasicBlock *keep = block("keep"), *store = block("store"), *done = block("done");
    Body body(unit_, b_, context_, state_);
    Lowering lowering(body);
    Lowering::EntrySaves saves = lowering.lower_entry_saves(probe_);
    b_.CreateCondBr(saves.ok, keep, done);
    b_.SetInsertPoint(keep);
    llvm::Value* place =
        call("spile_rt_kernel_return_enter", unit_.module.ptr(), {context_, map, place_.call_key(body), size_of_saves()});
    b_.CreateCondBr(b_.CreateIsNull(place), done, store);
    b_.SetInsertPoint(store);
    const std::vector<uint32_t>& offsets = unit_.layout.saves[static_cast<size_t>(probe_.index)];
    for (size_t i = 0; i < offsets.size(); ++i) {
      llvm::Value* to = b_.CreateConstGEP1_64(b_.getInt8Ty(), place, offsets[i]);
      if (saves.values[i]->getType()->isPointerTy()) call("spile_rt_string_copy", unit_.module.none(), {to, saves.values[i]});
      else b_.CreateStore(saves.values[i], to);
    }
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    leave(end);
    b_.CreateRet(b_.getInt32(program_result(probe_)));
  }

  // A return whose entry was before we were armed has no values: it is not ours.
  void lower_body_with_saves(llvm::Value* map) {
    llvm::BasicBlock *found = block("found"), *done = block("done");
    llvm::BasicBlock* end = enter();
    Body body(unit_, b_, context_, state_);
    Lowering lowering(body);
    llvm::Value* saves =
        call("spile_rt_kernel_return_find", unit_.module.ptr(), {context_, map, place_.call_key(body), size_of_saves()});
    body.site.saves = saves;
    b_.CreateCondBr(b_.CreateIsNull(saves), done, found);
    b_.SetInsertPoint(found);
    lowering.lower_probe(probe_);
    call("spile_rt_kernel_return_exit", unit_.module.none(), {context_, saves});
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    leave(end);
    b_.CreateRet(b_.getInt32(program_result(probe_)));
  }

  // The place is attached by kprobes, of which Linux before 6.7 does not count the hits that they miss.
  void is_at_kprobe() { at_kprobe_ = true; }

  // The function goes into the object, or is removed.
  void keep(bool kept) {
    if (kept) unit_.module.export_function(function_);
    else function_->eraseFromParent();
  }

 private:
  llvm::Function* make_function(const std::string& section) {
    auto* type = llvm::FunctionType::get(unit_.module.i32(), {unit_.module.ptr()}, false);
    // Section names are symbols too in LLVM's objects, so the function's name must be another.
    llvm::Function* function = unit_.module.add_function("run." + section, type);
    function->setSection(section);
    return function;
  }
  llvm::Value* call(const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments) {
    return unit_.module.call_runtime(b_, name, result, arguments);
  }
  llvm::Value* size_of_saves() { return b_.getInt32(save_bytes(unit_.layout, probe_)); }
  llvm::Value* field(size_t offset) { return b_.CreateConstGEP1_64(b_.getInt8Ty(), context_, offset); }
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  // Returns where control goes without the level.
  llvm::BasicBlock* enter(const char* function = "spile_rt_enter") {
    llvm::BasicBlock *run = block("run"), *end = block("end");
    b_.CreateCondBr(call(function, b_.getInt1Ty(), {context_}), run, end);
    b_.SetInsertPoint(run);
    if (at_kprobe_) call("spile_rt_kernel_note_interrupt", unit_.module.none(), {});
    return end;
  }
  void leave(llvm::BasicBlock* end, const char* function = "spile_rt_leave") {
    call(function, unit_.module.none(), {context_});
    b_.CreateBr(end);
    b_.SetInsertPoint(end);
  }

  Unit& unit_;
  KernelPlace& place_;
  const sema::Probe& probe_;
  llvm::Function* function_;
  llvm::IRBuilder<> b_;
  llvm::Value* context_;
  llvm::Value* state_;
  PointChooser::Chosen chosen_;
  bool at_kprobe_ = false;
};

KernelMap simple_map(const char* symbol, KernelMap::Kind kind, size_t value_size, uint32_t entries, uint32_t key_size = 4) {
  KernelMap map;
  map.symbol = symbol;
  map.kind = kind;
  map.key_size = key_size;
  map.value_size = static_cast<uint32_t>(value_size);
  map.entries = entries;
  return map;
}

KernelMap map_of_global(const Unit& unit, const syntax::Global& global) {
  const GlobalLayout& layout = unit.layout_of(global);
  KernelMap map;
  map.symbol = global_symbol(global);
  map.global = global.index;
  map.sharded = unit.sharing_of(global) == sema::Sharing::kSharded;
  if (map.sharded) map.merge = global.type == ValueType::kStats ? KernelMap::Merge::kAggregate : KernelMap::Merge::kSum;
  if (unit.sharing_of(global) == sema::Sharing::kThreadCells) {
    // spile does not read it
    map = simple_map(map.symbol.c_str(), KernelMap::Kind::kArray, sizeof(abi::ThreadCellSet), layout.map.buckets);
  } else if (global.is_array) {
    // The kernel has no maps that give up their oldest elements, but those that are not used.
    const bool wraps = global.array_kind == syntax::ArrayKind::kWrapping;
    map.kind = map.sharded ? KernelMap::Kind::kPerCpuHash : wraps ? KernelMap::Kind::kLruHash : KernelMap::Kind::kHash;
    map.key_size = layout.map.key_size;
    map.value_size = layout.map.value_size;
    map.entries = layout.map.capacity;
    map.key_count = layout.map.key_count;
    map.string_keys = layout.map.string_keys;
    map.string_size = layout.name_size ? layout.name_size : unit.layout.string_size;
  } else {
    map.kind = map.sharded ? KernelMap::Kind::kPerCpuArray : KernelMap::Kind::kArray;
    map.key_size = 4;
    map.value_size = static_cast<uint32_t>(layout.size);
    map.entries = map.sharded ? abi::kKernelShards : 1;
  }
  return map;
}

KernelMap map_of_returns(const Unit& unit, const sema::Probe& probe) {
  const std::string symbol = "spile_map_returns_" + std::to_string(probe.index);
  return simple_map(symbol.c_str(), KernelMap::Kind::kArray,
                    abi::kPendingWays * (abi::kPendingHead + save_bytes(unit.layout, probe)), abi::kPendingSets);
}

// Lowers the programs of all probes.
class ProbeLowering {
 public:
  ProbeLowering(Unit& unit, KernelPlace& place, KernelCode& code) : unit_(unit), place_(place), code_(code) {}

  void lower(const sema::Probe& probe) {
    if (probe.points.size() > kMostKernelPoints) {
      unit_.refuse(probe.range,
                   "a probe in the kernel can have 65536 places, and this one has " + std::to_string(probe.points.size()),
                   "divide the pattern among several probes");
      return;
    }
    llvm::Value* saves = nullptr;
    if (!probe.entry_saves.empty()) {
      if (save_bytes(unit_.layout, probe) > kMostSaveBytes) {
        unit_.refuse(
            probe.range,
            "more entry values than a handler in the kernel can keep: use fewer, or shorter strings (-D MAXSTRINGLEN=N)");
        return;
      }
      code_.maps.push_back(map_of_returns(unit_, probe));
      saves = map_symbol(unit_.module, code_.maps.back().symbol);
    }
    if (probe.kind == sema::ProbeKind::kTracepoint || sema::info(probe.kind).source == sema::Source::kWatch) {
      for (const PointChoice& choice : point_choices(probe)) lower_points(probe, choice);
      return;
    }
    lower_programs(probe, saves, false);
    if (described_arguments(probe) >= 0) lower_programs(probe, saves, true);
  }

  // REQUIRES: after lower() of all probes.
  void finish() {
    code_.followed = followed_programs(unit_.program);
    if (code_.followed.empty()) return;
    auto follows = [](const sema::Probe& probe) {
      return probe.domain == sema::Domain::kKernel && sema::info(probe.kind).source == sema::Source::kWatch;
    };
    const sema::Probe& any = *std::ranges::find_if(unit_.program.probes, follows);
    if (code_.followed.size() > abi::kMostKernelPrograms) {
      return unit_.refuse(any.range,
                          "probes on the lives of all processes can be for 64 programs, and these are for " +
                              std::to_string(code_.followed.size()),
                          "use a pattern that fewer files match");
    }
    keep_lives(any);
  }

 private:
  static std::string section_of(const sema::Probe& probe) { return "probe." + std::to_string(probe.index); }

  static KernelSite::Context context_of(const sema::Probe& probe, bool at_return, bool by_arguments) {
    KernelSite::Context context;
    context.at_return = at_return;
    if (by_arguments) context.arguments = described_arguments(probe);
    return context;
  }

  KernelProgram& add(const std::string& section, const sema::Probe& probe) {
    KernelProgram& program = code_.programs.emplace_back();
    program.section = section;
    program.probe = probe.index;
    program.reads_context = place_.reads_context();
    return program;
  }

  // saves: the map of entry values; null: absent.
  void lower_programs(const sema::Probe& probe, llvm::Value* saves, bool by_arguments) {
    const std::string section = section_of(probe) + (by_arguments ? ".traced" : "");
    const bool at_return = probe.kind == sema::ProbeKind::kFunctionReturn;
    const bool at_kprobe = !by_arguments && probe.points.front().site.kernel;
    std::optional<KernelHandler> entry;
    bool kept = true;
    if (saves) {
      place_.begin_handler(context_of(probe, false, by_arguments));
      entry.emplace(unit_, place_, probe, section + ".entry");
      if (at_kprobe) entry->is_at_kprobe();
      entry->lower_saves(saves);
      kept = !place_.asked_too_much();
    }
    place_.begin_handler(context_of(probe, at_return, by_arguments));
    KernelHandler handler(unit_, place_, probe, section);
    if (at_kprobe) handler.is_at_kprobe();
    if (runs_in_traced_processes(probe)) handler.only_if_traced();
    if (saves) handler.lower_body_with_saves(saves);
    else handler.lower_body();
    kept &= !place_.asked_too_much();
    handler.keep(kept);
    if (entry) entry->keep(kept);
    if (!kept) return;
    if (entry) add(section + ".entry", probe).by_arguments = by_arguments;
    KernelProgram& program = add(section, probe);
    program.exit_side = at_return;
    program.by_arguments = by_arguments;
  }

  // Programs that note which of the followed programs a process executes come first, and the one that forgets it last: programs
  // on one tracepoint run in the order in which they were attached. As a process ends, its program can't be found out any more.
  void keep_lives(const sema::Probe& any) {
    code_.maps.push_back(simple_map(abi::kKernelLivesMap, KernelMap::Kind::kLruHash, sizeof(abi::KernelLife), kMostLives, 8));
    auto make = [&](const char* section, const char* raw_tracepoint, KernelHandler::Event event) {
      KernelHandler handler(unit_, place_, any, section);
      handler.lower_life(event);
      handler.keep(true);
      KernelProgram program;
      program.section = section;
      program.probe = any.index;
      program.raw_tracepoint = raw_tracepoint;
      program.keeps_lives = true;
      return program;
    };
    using Event = KernelHandler::Event;
    code_.programs.insert(code_.programs.begin(), {make("lives.births", "raw_syscalls:sys_exit", Event::kBirth),
                                                   make("lives.execs", "sched:sched_process_exec", Event::kExec)});
    code_.programs.push_back(make("lives.deaths", "sched:sched_process_exit", Event::kDeath));
  }

  // A program without entry values.
  void lower_points(const sema::Probe& probe, const PointChoice& choice) {
    const std::string section = section_of(probe) + choice.suffix;
    KernelHandler handler(unit_, place_, probe, section);
    handler.choose_point(choice);
    if (runs_in_traced_processes(probe)) handler.only_if_traced();
    KernelSite::Context context;
    context.at_exit = choice.at_exit;
    place_.begin_handler(context);
    handler.lower_body();
    handler.keep(true);
    KernelProgram& program = add(section, probe);
    program.raw_tracepoint = choice.raw_tracepoint;
    program.by_arguments = choice.by_arguments;
    if (choice.points.size() < probe.points.size() || choice.by_arguments) program.points = choice.points;
  }

  Unit& unit_;
  KernelPlace& place_;
  KernelCode& code_;
};

// What loops and handlers that wait for locks repeat over, and what statements that visit elements keep of them.
void add_maps_of_loops(const Unit& unit, const KernelPlace& place, KernelCode& code) {
  const bool waits = std::ranges::any_of(unit.layout.globals, [](const GlobalLayout& global) { return global.lock != 0; });
  if (unit.loops.empty() && !waits) return;
  constexpr int64_t kMostTurns = 1 << 20, kPassesOfSort = 64;
  constexpr int64_t kTurnsOfWaiting = 8192;  // a pause takes some microseconds, patience ends after 10 ms
  int64_t turns = std::clamp<int64_t>(unit.program.limits.max_action, kPassesOfSort, kMostTurns);
  if (waits) turns = std::max(turns, kTurnsOfWaiting);
  for (const auto& [statement, visits] : place.all_visits()) {
    const abi::MapShape& shape = unit.layout_of(*visits.global).map;
    const uint32_t text = visits.global->type == ValueType::kString ? unit.layout.string_size : 0;
    code.maps.push_back(simple_map(visits.symbol.c_str(), KernelMap::Kind::kArray, abi::kKernelVisitEntry + shape.key_size + text,
                                   shape.capacity));
    turns = std::max<int64_t>(turns, shape.capacity);
  }
  // The turn that ends a loop, besides: nothing is left of MAXACTION, or no element.
  code.maps.push_back(simple_map(abi::kKernelTurnsMap, KernelMap::Kind::kArray, 8, static_cast<uint32_t>(turns + 1)));
}

}  // namespace

int described_arguments(const sema::Probe& probe) {
  if (probe.needs_registers) return -1;
  int least = -1;
  for (const sema::ResolvedPoint& point : probe.points) {
    const auto& function = point.site.kernel;
    if (!function || function->description == 0) continue;
    const auto arguments = static_cast<int>(function->arguments);
    least = least < 0 ? arguments : std::min(least, arguments);
  }
  return least;
}

KernelCode lower_kernel(Unit& unit, KernelPlace& place) {
  KernelCode code;
  using Kind = KernelMap::Kind;
  code.maps = {simple_map(abi::kKernelStateMap, Kind::kPerCpuArray, sizeof(abi::KernelState), 1),
               simple_map(abi::kKernelScratchMap, Kind::kPerCpuArray, abi::kKernelScratchSize, abi::kKernelLevels),
               simple_map(abi::kKernelRingMap, Kind::kRing, 0, abi::kDefaultKernelRing)};
  if (std::ranges::any_of(unit.program.probes, runs_in_traced_processes)) code.maps.push_back(map_of_targets());
  ProbeLowering probes(unit, place, code);
  for (const sema::Probe& probe : unit.program.probes) {
    if (probe.domain == sema::Domain::kKernel) probes.lower(probe);
  }
  probes.finish();
  place.begin_handler({});
  lower_functions(unit);  // they may use more globals
  add_maps_of_loops(unit, place, code);
  for (int index : place.globals()) {
    code.maps.push_back(map_of_global(unit, *unit.program.globals[static_cast<size_t>(index)]));
  }
  return code;
}

}  // namespace spile::codegen
