// Programs of the kernel's object. Each is one function in a section of its own:
//
//   int program(void* context)        context: struct pt_regs, a tracepoint's record, or struct bpf_perf_event_data
//
//                                     raw tracepoints: an array of 64-bit arguments
//
//   light bodies only:    body
//   others:               enter -> body -> leave
//   entry values:         at the entry  enter -> values -> into a hash under (thread, CFA) -> leave
//                         at the return enter -> find them -> body -> remove them -> leave
//   system calls:         number of the call -> point of the probe, or none -> one of the first two

#include "codegen/lower_kernel.h"

#include <algorithm>

#include "abi/kernel.h"
#include "abi/machine.h"
#include "codegen/lower_native.h"
#include "codegen/lowering.h"

namespace spile::codegen {

namespace {

constexpr uint32_t kPendingReturns = 4096;
constexpr uint32_t kMostSaveBytes = 4096;  // half of the handler's scratch memory
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

  // The handler goes on for system calls of these points only. REQUIRES: called before lower_body, on a raw tracepoint of raw_syscalls.
  KernelPlace::Calls choose_call(const std::vector<uint32_t>& points, bool at_exit) {
    llvm::BasicBlock *native = block("native"), *probed = block("probed"), *other = block("other");
    llvm::Value* registers = b_.CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), (KernelPlace::kRegistersEnd - KernelPlace::kFirstRegister) / 8), nullptr, "registers");
    llvm::Value* saved = b_.CreateLoad(b_.getInt64Ty(), function_->getArg(0));
    llvm::Value* copied = call("spile_rt_kernel_registers", b_.getInt1Ty(),
                               {context_, b_.CreateAdd(saved, b_.getInt64(KernelPlace::kFirstRegister)),
                                b_.getInt32(KernelPlace::kRegistersEnd - KernelPlace::kFirstRegister), registers});
    auto word = [&](uint32_t at) {
      return b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt8Ty(), registers, at - KernelPlace::kFirstRegister));
    };
    // Tracepoints of system calls ignore those of 32-bit programs.
    llvm::Value* code = word(abi::kKernelLayout.pt_regs_code);
    b_.CreateCondBr(b_.CreateAnd(copied, b_.CreateICmpEQ(code, b_.getInt64(abi::kKernelLayout.native_code))), native, other);
    b_.SetInsertPoint(native);
    llvm::Value* number = word(abi::kKernelLayout.pt_regs_call);
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
    llvm::Value* ours = b_.CreateAnd(b_.CreateICmpEQ(index, number), b_.CreateICmpNE(point, b_.getInt64(0)));
    b_.CreateCondBr(ours, probed, other);
    b_.SetInsertPoint(other);
    b_.CreateRet(b_.getInt32(0));
    b_.SetInsertPoint(probed);
    return {b_.CreateSub(point, b_.getInt64(1)), registers, at_exit};
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
    call("spile_rt_kernel_return_enter", unit_.module.none(), {context_, map, place_.cfa(body), bytes});
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
    llvm::Value* cfa = place_.cfa(body);
    body.site.saves = call("spile_rt_kernel_return_find", unit_.module.ptr(), {context_, map, cfa});
    b_.CreateCondBr(b_.CreateIsNull(body.site.saves), done, found);
    b_.SetInsertPoint(found);
    lowering.lower_probe(probe_);
    call("spile_rt_kernel_return_exit", unit_.module.none(), {context_, map, cfa});
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    leave(end);
    b_.CreateRet(b_.getInt32(0));
  }

 private:
  llvm::Function* make_function(const std::string& section) {
    auto* type = llvm::FunctionType::get(unit_.module.i32(), {unit_.module.ptr()}, false);
    // Section names are symbols too in LLVM's objects, so the function's name must be another.
    llvm::Function* function = unit_.module.add_function("run." + section, type);
    function->setSection(section);
    unit_.module.export_function(function);
    return function;
  }
  llvm::Value* call(const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments) {
    return unit_.module.call_runtime(b_, name, result, arguments);
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

KernelProgram program_of(const std::string& section, const sema::Probe& probe, bool exit_side) {
  KernelProgram program;
  program.section = section;
  program.probe = probe.index;
  program.exit_side = exit_side;
  return program;
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

void lower_plain(Unit& unit, KernelPlace& place, const sema::Probe& probe, const std::string& section, KernelCode& code) {
  using Calls = KernelProgram::Calls;
  bool at_return = probe.kind == sema::ProbeKind::kFunctionReturn;
  place.set_at_return(at_return);
  Division division = divide(probe);
  auto lower = [&](const char* suffix, const std::vector<uint32_t>& points, Calls calls) {
    if (points.empty()) return;
    KernelHandler handler(unit, place, probe, section + suffix);
    if (calls == Calls::kNone) place.begin_handler({nullptr, nullptr, false});
    else place.begin_handler(handler.choose_call(points, calls == Calls::kExit));
    handler.lower_body();
    KernelProgram program = program_of(section + suffix, probe, at_return);
    program.reads_context = place.reads_context();
    if (points.size() < probe.points.size()) program.points = points;
    program.calls = calls;
    code.programs.push_back(std::move(program));
  };
  lower("", division.single, Calls::kNone);
  lower(".calls", division.entries, Calls::kEntry);
  lower(".results", division.exits, Calls::kExit);
  place.begin_handler({nullptr, nullptr, false});
}

}  // namespace

KernelCode lower_kernel(Unit& unit, KernelPlace& place) {
  KernelCode code;
  using Kind = KernelMap::Kind;
  code.maps = {array_map(abi::kKernelStateMap, Kind::kPerCpuArray, sizeof(abi::KernelState), 1),
               array_map(abi::kKernelScratchMap, Kind::kPerCpuArray, abi::kKernelScratchSize, abi::kKernelLevels),
               array_map(abi::kKernelRingMap, Kind::kRing, 0, abi::kDefaultKernelRing)};
  for (const sema::Probe& probe : unit.program.probes) {
    if (probe.domain != sema::Domain::kKernel) continue;
    if (probe.points.size() > kMostKernelPoints) {
      unit.refuse(probe.range, "a probe in the kernel can have 65536 places, and this one has " + std::to_string(probe.points.size()),
                  "divide the pattern among several probes");
      continue;
    }
    std::string section = "probe." + std::to_string(probe.index);
    bool at_return = probe.kind == sema::ProbeKind::kFunctionReturn;
    if (!at_return || probe.entry_saves.empty()) {
      lower_plain(unit, place, probe, section, code);
      continue;
    }
    if (save_bytes(unit.layout, probe) > kMostSaveBytes) {
      unit.refuse(
          probe.range,
          "more entry values than a handler in the kernel can keep: use fewer, or shorter strings (-D MAXSTRINGLEN=N)");
      continue;
    }
    code.maps.push_back(map_of_returns(unit, probe));
    llvm::Value* map = map_symbol(unit.module, code.maps.back().symbol);
    place.set_at_return(false);
    KernelHandler(unit, place, probe, section + ".entry").lower_saves(map);
    code.programs.push_back(program_of(section + ".entry", probe, false));
    place.set_at_return(true);
    KernelHandler(unit, place, probe, section).lower_body_with_saves(map);
    code.programs.push_back(program_of(section, probe, true));
  }
  lower_functions(unit);  // they may use more globals
  for (int index : place.globals()) {
    code.maps.push_back(map_of_global(unit, *unit.program.globals[static_cast<size_t>(index)]));
  }
  return code;
}

}  // namespace spile::codegen
