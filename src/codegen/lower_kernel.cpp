// Programs of the kernel's object. Each is one function in a section of its own:
//
//   int program(void* context)        context: struct pt_regs, a tracepoint's record, or struct bpf_perf_event_data;
//                                     raw tracepoints: an array of 64-bit arguments; fentry and fexit: the function's arguments
//
// Of a probe on the kernel's functions there are two of each program where the kernel describes arguments of some of them: one with struct
// pt_regs, for kprobes, and one with the arguments, for fentry and fexit. The loader takes one of them for each function.
//
//   light bodies only:    body
//   others:               enter -> body -> leave
//   entry values:         at the entry  enter -> values -> into a hash under (thread, CFA) -> leave
//                         at the return enter -> find them -> body -> remove them -> leave
//   system calls:         number of the call -> point of the probe, if it has one -> one of the first two
//   lives of processes:   is it a birth, an exec, a death, of a process or a thread? -> point, by pid() and program -> one of the first two
//
// Which program a process executes is noted in a map at its birth and its execs, by programs that run before those of the probes: as it ends,
// it can't be found out any more.

#include "codegen/lower_kernel.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "abi/kernel.h"
#include "abi/machine.h"
#include "abi/system_calls.h"
#include "codegen/lower_native.h"
#include "codegen/lowering.h"

namespace spile::codegen {

namespace {

constexpr uint32_t kPendingReturns = 4096;
constexpr uint32_t kMostSaveBytes = 4096;  // half of the handler's scratch memory
constexpr uint32_t kMostLives = 1 << 16;   // processes of followed programs, and those that ended with several threads
constexpr size_t kSystemCalls = 512;       // numbers, a power of two
// So many tracepoints of system calls are attached one by one: each takes some 50 ms to come and go, but calls that are not probed pass it
// without running a program.
constexpr size_t kFewCalls = 4;

class KernelHandler {
 public:
  KernelHandler(Unit& unit, KernelPlace& place, const sema::Probe& probe, const std::string& section)
      : unit_(unit),
        place_(place),
        probe_(probe),
        function_(make_function(section)),
        b_(llvm::BasicBlock::Create(unit.module.context(), "entry", function_)) {
    context_ = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), sizeof(abi::Context) / 8), nullptr, "context");
    state_ = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), sizeof(State) / 8), nullptr, "state");
    b_.CreateStore(function_->getArg(0), field(offsetof(abi::Context, kernel_context)));
    b_.CreateStore(b_.getInt32(static_cast<uint32_t>(probe.index)), field(offsetof(abi::Context, probe)));
  }

  // The handler goes on in threads that make a system call, and run 64-bit code (as tracepoints of system calls do). Returns their registers,
  // as KernelPlace::Calls has them. REQUIRES: this and the next two are called before lower_body, on a raw tracepoint of raw_syscalls.
  llvm::Value* read_registers() {
    constexpr uint32_t kSize = abi::kKernelLayout.pt_regs_call_end - abi::kKernelLayout.pt_regs_call_begin;
    registers_ = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), kSize / 8), nullptr, "registers");
    llvm::Value* saved = b_.CreateLoad(b_.getInt64Ty(), function_->getArg(0));
    only_if(call("spile_rt_kernel_registers", b_.getInt1Ty(),
                 {context_, b_.CreateAdd(saved, b_.getInt64(abi::kKernelLayout.pt_regs_call_begin)), b_.getInt32(kSize), registers_}));
    only_if(b_.CreateICmpEQ(register_word(abi::kKernelLayout.pt_regs_code), b_.getInt64(abi::kKernelLayout.native_code)));
    return registers_;
  }

  // The handler goes on for system calls of these points only. Returns the point. REQUIRES: read_registers was called.
  llvm::Value* choose_call(const std::vector<uint32_t>& points) {
    llvm::Value* number = register_word(abi::kKernelLayout.pt_regs_call);
    llvm::Value* index = b_.CreateAnd(number, b_.getInt64(kSystemCalls - 1));
    // 16 bits for each number: 1 + the index of its point.
    std::string table(2 * kSystemCalls, '\0');
    for (uint32_t point : points) {
      auto at = 2 * static_cast<size_t>(probe_.points[point].site.system_call);
      table[at] = static_cast<char>((point + 1) & 0xff);
      table[at + 1] = static_cast<char>((point + 1) >> 8);
    }
    llvm::Value* place = b_.CreateGEP(b_.getInt16Ty(), unit_.module.text(table), index);
    llvm::Value* point = b_.CreateZExt(b_.CreateAlignedLoad(b_.getInt16Ty(), place, llvm::Align(1)), b_.getInt64Ty());
    only_if(b_.CreateAnd(b_.CreateICmpEQ(index, number), b_.CreateICmpNE(point, b_.getInt64(0))));
    return b_.CreateSub(point, b_.getInt64(1));
  }

  // The handler goes on in a thread that a system call has just made: it leaves the call with 0. REQUIRES: read_registers was called.
  void only_if_born() {
    llvm::Value* number = register_word(abi::kKernelLayout.pt_regs_call);
    llvm::Value* makes_threads = b_.getInt1(false);
    for (const char* name : {"clone", "fork", "vfork", "clone3"}) {
      const int32_t known = abi::system_call_number(name);
      if (known >= 0) makes_threads = b_.CreateOr(makes_threads, b_.CreateICmpEQ(number, b_.getInt64(static_cast<uint64_t>(known))));
    }
    llvm::Value* result = register_word(abi::kKernelLayout.pt_regs[abi::kConvention.system_call_result]);
    only_if(b_.CreateAnd(makes_threads, b_.CreateICmpEQ(result, b_.getInt64(0))));
  }

  // The handler goes on in the first threads of processes, or in all others.
  void only_if_first(bool first) {
    llvm::Value* leads = call("spile_rt_kernel_leads", b_.getInt1Ty(), {context_});
    only_if(first ? leads : b_.CreateNot(leads));
  }

  // The handler goes on in the processes that the probe's points name. followed: paths of programs, as KernelCode has them. before_exec: the program
  // is meant that the process executed until now. Returns the point.
  llvm::Value* choose_process(const std::vector<std::string>& followed, bool before_exec) {
    llvm::Value* point = b_.getInt64(probe_.points.size());
    llvm::Value* program = nullptr;
    for (size_t i = probe_.points.size(); i-- > 0;) {
      llvm::Value* is_it = b_.getInt1(true);
      if (probe_.points[i].process != 0)
        is_it = b_.CreateICmpEQ(call("spile_rt_pid", b_.getInt64Ty(), {context_}), b_.getInt64(static_cast<uint64_t>(probe_.points[i].process)));
      if (const std::string& path = probe_.points[i].site.module; !path.empty()) {
        if (!program) {
          llvm::Value* life = call("spile_rt_kernel_life", b_.getInt64Ty(), {context_, map_symbol(unit_.module, abi::kKernelLivesMap)});
          program = before_exec ? b_.CreateLShr(life, b_.getInt64(32)) : b_.CreateAnd(life, b_.getInt64(0xffffffff));
        }
        const auto number = static_cast<uint64_t>(std::ranges::find(followed, path) - followed.begin()) + 1;
        is_it = b_.CreateAnd(is_it, b_.CreateICmpEQ(program, b_.getInt64(number)));
      }
      point = b_.CreateSelect(is_it, b_.getInt64(i), point);
    }
    only_if(b_.CreateICmpNE(point, b_.getInt64(probe_.points.size())));
    return point;
  }

  // All of a program that keeps abi::kKernelLivesMap. REQUIRES: for a birth, read_registers was called.
  enum class Event : uint8_t { kBirth, kExec, kDeath };
  void lower_life(Event event) {
    llvm::Value* map = map_symbol(unit_.module, abi::kKernelLivesMap);
    if (event == Event::kBirth) only_if_born();
    if (event != Event::kExec) only_if_first(true);
    if (event == Event::kDeath) call("spile_rt_kernel_forget_life", unit_.module.none(), {context_, map});
    else call("spile_rt_kernel_note_life", unit_.module.none(), {context_, map, b_.getInt32(event == Event::kExec)});
    b_.CreateRet(b_.getInt32(0));
  }

  void lower_body() {
    bool light = probe_.only_accumulates;
    llvm::BasicBlock* end = enter(light ? "spile_rt_enter_light" : "spile_rt_enter");
    Body body(unit_, b_, context_, state_);
    Lowering lowering(body);
    if (light)
      lowering.lower_light_probe(probe_, true);
    else
      lowering.lower_probe(probe_);
    leave(end, light ? "spile_rt_leave_light" : "spile_rt_leave");
    b_.CreateRet(b_.getInt32(0));
  }

  void lower_saves(llvm::Value* map) {
    llvm::BasicBlock* end = enter();
    llvm::BasicBlock *evaluate = block("evaluate"), *keep = block("keep"), *done = block("done");
    llvm::Value* bytes =
        call("spile_rt_frame", unit_.module.ptr(), {context_, b_.getInt32(save_bytes(unit_.layout, probe_))});
    b_.CreateCondBr(b_.CreateIsNull(bytes), done, evaluate);
    b_.SetInsertPoint(evaluate);
    Body body(unit_, b_, context_, state_);
    Lowering lowering(body);
    Lowering::EntrySaves saves = lowering.lower_entry_saves(probe_);
    b_.CreateCondBr(saves.ok, keep, done);
    b_.SetInsertPoint(keep);
    const std::vector<uint32_t>& offsets = unit_.layout.saves[static_cast<size_t>(probe_.index)];
    for (size_t i = 0; i < offsets.size(); ++i) {
      llvm::Value* to = b_.CreateConstGEP1_64(b_.getInt8Ty(), bytes, offsets[i]);
      if (saves.values[i]->getType()->isPointerTy())
        call("spile_rt_string_copy", unit_.module.none(), {to, saves.values[i]});
      else
        b_.CreateStore(saves.values[i], to);
    }
    call("spile_rt_kernel_return_enter", unit_.module.none(), {context_, map, place_.call_key(body), bytes});
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    leave(end);
    b_.CreateRet(b_.getInt32(0));
  }

  // A return whose entry was before we were armed has no values: it is not ours.
  void lower_body_with_saves(llvm::Value* map) {
    llvm::BasicBlock *found = block("found"), *done = block("done");
    llvm::BasicBlock* end = enter();
    Body body(unit_, b_, context_, state_);
    Lowering lowering(body);
    llvm::Value* key = place_.call_key(body);
    body.site.saves = call("spile_rt_kernel_return_find", unit_.module.ptr(), {context_, map, key});
    b_.CreateCondBr(b_.CreateIsNull(body.site.saves), done, found);
    b_.SetInsertPoint(found);
    lowering.lower_probe(probe_);
    call("spile_rt_kernel_return_exit", unit_.module.none(), {context_, map, key});
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    leave(end);
    b_.CreateRet(b_.getInt32(0));
  }

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
  // The program ends here where the condition does not hold.
  void only_if(llvm::Value* condition) {
    llvm::BasicBlock *wanted = block("wanted"), *other = block("other");
    b_.CreateCondBr(condition, wanted, other);
    b_.SetInsertPoint(other);
    b_.CreateRet(b_.getInt32(0));
    b_.SetInsertPoint(wanted);
  }
  // at: the offset in struct pt_regs
  llvm::Value* register_word(uint32_t at) {
    return b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt8Ty(), registers_, at - abi::kKernelLayout.pt_regs_call_begin));
  }
  llvm::Value* field(size_t offset) { return b_.CreateConstGEP1_64(b_.getInt8Ty(), context_, offset); }
  llvm::BasicBlock* block(const char* name) { return llvm::BasicBlock::Create(b_.getContext(), name, function_); }
  // Returns where control goes without the level.
  llvm::BasicBlock* enter(const char* function = "spile_rt_enter") {
    llvm::BasicBlock *run = block("run"), *end = block("end");
    b_.CreateCondBr(call(function, b_.getInt1Ty(), {context_}), run, end);
    b_.SetInsertPoint(run);
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
  llvm::Value* registers_ = nullptr;
};

KernelMap array_map(const char* symbol, KernelMap::Kind kind, size_t value_size, uint32_t entries) {
  KernelMap map;
  map.symbol = symbol;
  map.kind = kind;
  map.key_size = 4;
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
  if (global.is_array) {
    map.kind = map.sharded ? KernelMap::Kind::kPerCpuHash : KernelMap::Kind::kHash;
    map.key_size = layout.map.key_size;
    map.value_size = layout.map.value_size;
    map.entries = layout.map.capacity;
    map.key_count = layout.map.key_count;
    map.string_keys = layout.map.string_keys;
    map.string_size = unit.layout.string_size;
  } else {
    map.kind = map.sharded ? KernelMap::Kind::kPerCpuArray : KernelMap::Kind::kArray;
    map.key_size = 4;
    map.value_size = static_cast<uint32_t>(layout.size);
    map.entries = map.sharded ? abi::kKernelShards : 1;
  }
  return map;
}

KernelMap map_of_returns(const Unit& unit, const sema::Probe& probe) {
  KernelMap map;
  map.symbol = "spile_map_returns_" + std::to_string(probe.index);
  map.kind = KernelMap::Kind::kLruHash;
  map.key_size = 16;
  map.value_size = save_bytes(unit.layout, probe);
  map.entries = kPendingReturns;
  return map;
}

// Which points of a probe go to which program: one by one, or by the number of the system call.
struct Division {
  std::vector<uint32_t> single, entries, exits;
};

Division divide(const sema::Probe& probe) {
  Division division;
  // The record begins with fields of all tracepoints, which a raw tracepoint does not have.
  bool reads_head = std::ranges::any_of(probe.bindings, [](const sema::Binding& binding) {
    return std::ranges::any_of(binding.ops, [](const location::Operation& op) {
      const auto* field = std::get_if<location::RecordField>(&op);
      return field && field->offset < 8;
    });
  });
  for (uint32_t i = 0; i < probe.points.size(); ++i) {
    const sema::Site& site = probe.points[i].site;
    bool known = probe.kind == sema::ProbeKind::kTracepoint && site.system_call >= 0 && static_cast<size_t>(site.system_call) < kSystemCalls;
    if (!known || reads_head) division.single.push_back(i);
    else (site.tracepoint.starts_with("syscalls:sys_enter_") ? division.entries : division.exits).push_back(i);
  }
  if (division.entries.size() + division.exits.size() <= kFewCalls) {
    division = {};
    for (uint32_t i = 0; i < probe.points.size(); ++i) division.single.push_back(i);
  }
  return division;
}

// Lowers the programs of all probes.
class ProbeLowering {
 public:
  ProbeLowering(Unit& unit, KernelPlace& place, KernelCode& code) : unit_(unit), place_(place), code_(code) {}

  void lower(const sema::Probe& probe) {
    if (probe.points.size() > kMostKernelPoints) {
      unit_.refuse(probe.range, "a probe in the kernel can have 65536 places, and this one has " + std::to_string(probe.points.size()),
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
    if (probe.kind == sema::ProbeKind::kTracepoint) return lower_tracepoints(probe);
    if (sema::info(probe.kind).source == sema::Source::kWatch) return lower_life(probe);
    lower_programs(probe, saves, false);
    if (has_arguments(probe)) lower_programs(probe, saves, true);
  }

  // REQUIRES: after lower() of all probes.
  void finish() {
    auto follows = [](const sema::Probe& probe) { return probe.domain == sema::Domain::kKernel && sema::info(probe.kind).source == sema::Source::kWatch; };
    auto any = std::ranges::find_if(unit_.program.probes, follows);
    if (any != unit_.program.probes.end()) keep_lives(*any);
  }

 private:
  static bool is_described(const sema::ResolvedPoint& point) { return point.site.kernel && point.site.kernel->description != 0; }
  // Whether the kernel describes the arguments of any of its functions.
  static bool has_arguments(const sema::Probe& probe) { return !probe.needs_registers && std::ranges::any_of(probe.points, is_described); }

  static KernelPlace::Context context_of(const sema::Probe& probe, bool at_return, bool by_arguments) {
    KernelPlace::Context context;
    context.at_return = at_return;
    if (!by_arguments) return context;
    uint32_t arguments = ~0u;
    for (const sema::ResolvedPoint& point : probe.points) {
      if (is_described(point)) arguments = std::min(arguments, point.site.kernel->arguments);
    }
    context.arguments = static_cast<int>(arguments);
    return context;
  }

  static std::string section_of(const sema::Probe& probe) { return "probe." + std::to_string(probe.index); }

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
    std::optional<KernelHandler> entry;
    bool kept = true;
    if (saves) {
      place_.begin_handler(context_of(probe, false, by_arguments));
      entry.emplace(unit_, place_, probe, section + ".entry").lower_saves(saves);
      kept = !place_.asked_too_much();
    }
    place_.begin_handler(context_of(probe, at_return, by_arguments));
    KernelHandler handler(unit_, place_, probe, section);
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

  // A program without entry values. prepare: emits what comes before the body, and returns what it has found out.
  using Prepare = std::function<KernelPlace::Calls(KernelHandler&)>;
  void lower_points(const sema::Probe& probe, const char* suffix, const std::string& raw_tracepoint, const std::vector<uint32_t>& points,
                    const Prepare& prepare) {
    if (points.empty()) return;
    const std::string section = section_of(probe) + suffix;
    KernelHandler handler(unit_, place_, probe, section);
    KernelPlace::Context context;
    context.calls = prepare(handler);
    place_.begin_handler(context);
    handler.lower_body();
    handler.keep(true);
    KernelProgram& program = add(section, probe);
    program.raw_tracepoint = raw_tracepoint;
    if (points.size() < probe.points.size()) program.points = points;
  }

  // Raw tracepoints have no cookies, by which programs know their points, so each point has a program.
  void lower_raw_tracepoints(const sema::Probe& probe) {
    for (uint32_t i = 0; i < probe.points.size(); ++i) {
      const std::string suffix = probe.points.size() > 1 ? "." + std::to_string(i) : "";
      lower_points(probe, suffix.c_str(), "", {i}, [i, this](KernelHandler&) {
        return KernelPlace::Calls{llvm::ConstantInt::get(llvm::Type::getInt64Ty(unit_.module.context()), i), nullptr, false};
      });
      code_.programs.back().by_arguments = true;
      code_.programs.back().points = {i};
    }
  }

  void lower_tracepoints(const sema::Probe& probe) {
    if (probe.points.front().site.by_arguments) return lower_raw_tracepoints(probe);
    const Division division = divide(probe);
    auto choose = [](const std::vector<uint32_t>& points, bool at_exit) -> Prepare {
      return [&points, at_exit](KernelHandler& handler) {
        llvm::Value* registers = handler.read_registers();
        return KernelPlace::Calls{handler.choose_call(points), registers, at_exit};
      };
    };
    lower_points(probe, "", "", division.single, [](KernelHandler&) { return KernelPlace::Calls(); });
    lower_points(probe, ".calls", "raw_syscalls:sys_enter", division.entries, choose(division.entries, false));
    lower_points(probe, ".results", "raw_syscalls:sys_exit", division.exits, choose(division.exits, true));
  }

  // Programs that note which of the followed programs a process executes come first, and the one that forgets it last: programs on one
  // tracepoint run in the order in which they were attached.
  void keep_lives(const sema::Probe& any) {
    using Event = KernelHandler::Event;
    if (code_.followed.empty()) return;
    code_.maps.push_back({.symbol = abi::kKernelLivesMap, .kind = KernelMap::Kind::kLruHash, .key_size = 8, .value_size = sizeof(abi::KernelLife), .entries = kMostLives});
    auto make = [&](const char* section, const char* raw_tracepoint, Event event) {
      KernelHandler handler(unit_, place_, any, section);
      if (event == Event::kBirth) handler.read_registers();
      handler.lower_life(event);
      handler.keep(true);
      KernelProgram program;
      program.section = section;
      program.probe = any.index;
      program.raw_tracepoint = raw_tracepoint;
      program.keeps_lives = true;
      return program;
    };
    code_.programs.insert(code_.programs.begin(), {make("lives.births", "raw_syscalls:sys_exit", Event::kBirth),
                                                   make("lives.execs", "sched:sched_process_exec", Event::kExec)});
    code_.programs.push_back(make("lives.deaths", "sched:sched_process_exit", Event::kDeath));
  }

  // process.begin and the like, of all processes. A thread's birth is seen in the thread itself, as it leaves the system call that made it.
  void lower_life(const sema::Probe& probe) {
    using Kind = sema::ProbeKind;
    std::vector<uint32_t> all(probe.points.size());
    std::iota(all.begin(), all.end(), 0u);
    for (const sema::ResolvedPoint& point : probe.points) {
      if (!point.site.module.empty() && std::ranges::find(code_.followed, point.site.module) == code_.followed.end()) code_.followed.push_back(point.site.module);
    }
    if (code_.followed.size() > abi::kMostKernelPrograms) {
      return unit_.refuse(probe.range, "probes on the lives of all processes can be for 64 programs, and these are for " + std::to_string(code_.followed.size()),
                          "use a pattern that fewer files match");
    }
    const bool of_process = probe.kind == Kind::kProcessBegin || probe.kind == Kind::kProcessEnd;
    if (sema::is_system_call(probe.kind)) {
      const bool at_exit = probe.kind == Kind::kSystemCallReturn;
      return lower_points(probe, "", at_exit ? "raw_syscalls:sys_exit" : "raw_syscalls:sys_enter", all, [&](KernelHandler& handler) {
        llvm::Value* registers = handler.read_registers();
        return KernelPlace::Calls{handler.choose_process(code_.followed, false), registers, at_exit};
      });
    }
    if (probe.kind == Kind::kProcessEnd || probe.kind == Kind::kThreadEnd) {
      lower_points(probe, ".deaths", "sched:sched_process_exit", all, [&](KernelHandler& handler) {
        handler.only_if_first(of_process);
        return KernelPlace::Calls{handler.choose_process(code_.followed, false), nullptr, false};
      });
    } else {
      lower_points(probe, ".births", "raw_syscalls:sys_exit", all, [&](KernelHandler& handler) {
        handler.read_registers();
        handler.only_if_born();
        handler.only_if_first(of_process);
        return KernelPlace::Calls{handler.choose_process(code_.followed, false), nullptr, false};
      });
    }
    if (of_process) {
      // The program that has ended is the one before.
      const bool before = probe.kind == Kind::kProcessEnd;
      lower_points(probe, ".execs", "sched:sched_process_exec", all, [&](KernelHandler& handler) {
        return KernelPlace::Calls{handler.choose_process(code_.followed, before), nullptr, false};
      });
    }
  }

  Unit& unit_;
  KernelPlace& place_;
  KernelCode& code_;
};

}  // namespace

bool is_served_by_number(const sema::Probe& probe) {
  return divide(probe).single.size() < probe.points.size();
}

KernelCode lower_kernel(Unit& unit, KernelPlace& place) {
  KernelCode code;
  using Kind = KernelMap::Kind;
  code.maps = {array_map(abi::kKernelStateMap, Kind::kPerCpuArray, sizeof(abi::KernelState), 1),
               array_map(abi::kKernelScratchMap, Kind::kPerCpuArray, abi::kKernelScratchSize, abi::kKernelLevels),
               array_map(abi::kKernelRingMap, Kind::kRing, 0, abi::kDefaultKernelRing)};
  ProbeLowering probes(unit, place, code);
  for (const sema::Probe& probe : unit.program.probes) {
    if (probe.domain == sema::Domain::kKernel) probes.lower(probe);
  }
  probes.finish();
  place.begin_handler({});
  lower_functions(unit);  // they may use more globals
  for (int index : place.globals()) {
    code.maps.push_back(map_of_global(unit, *unit.program.globals[static_cast<size_t>(index)]));
  }
  return code;
}

}  // namespace spile::codegen
