#include "codegen/kernel/kernel_points.h"

#include <algorithm>
#include <numeric>

#include "abi/kernel.h"
#include "abi/machine.h"
#include "abi/system_calls.h"
#include "codegen/bodies/call_points.h"
#include "codegen/kernel/kernel_place.h"

namespace spile::codegen {

namespace {

using abi::kKernelLayout;

// The system calls that two threads leave: the one that has made them, with the new one's number, and the new one, with 0.
constexpr const char* kCallsThatMakeThreads[] = {"clone", "fork", "vfork", "clone3"};

bool makes_threads(int32_t system_call) {
  return std::ranges::any_of(kCallsThatMakeThreads,
                             [&](const char* name) { return abi::system_call_number(name) == system_call; });
}

std::vector<uint32_t> all_points(const sema::Probe& probe) {
  std::vector<uint32_t> all(probe.points.size());
  std::iota(all.begin(), all.end(), 0u);
  return all;
}

PointChoice in_calls(const char* suffix, bool at_exit, PointChoice::By by, std::vector<uint32_t> points) {
  PointChoice choice;
  choice.suffix = suffix;
  choice.raw_tracepoint = at_exit ? "raw_syscalls:sys_exit" : "raw_syscalls:sys_enter";
  choice.points = std::move(points);
  choice.by = by;
  choice.in_calls = true;
  choice.at_exit = at_exit;
  return choice;
}

std::vector<PointChoice> argument_choices(const sema::Probe& probe) {
  std::vector<PointChoice> choices(probe.points.size());
  for (uint32_t i = 0; i < choices.size(); ++i) {
    if (choices.size() > 1) choices[i].suffix = "." + std::to_string(i);
    choices[i].points = {i};
    choices[i].by = PointChoice::By::kOnly;
    choices[i].by_arguments = true;
  }
  return choices;
}

std::vector<PointChoice> tracepoint_choices(const sema::Probe& probe) {
  if (probe.points.front().site.by_arguments) return argument_choices(probe);
  PointChoice single;
  std::vector<uint32_t> entries, exits;
  // The record begins with fields of all tracepoints, which a raw tracepoint does not have.
  const bool reads_head = std::ranges::any_of(probe.bindings, [](const sema::Binding& binding) {
    return std::ranges::any_of(binding.ops, [](const location::Operation& op) {
      const auto* field = std::get_if<location::RecordField>(&op);
      return field && field->offset < 8;
    });
  });
  for (uint32_t i = 0; i < probe.points.size(); ++i) {
    const sema::Site& site = probe.points[i].site;
    const bool known = site.system_call >= 0;
    if (!known || reads_head) single.points.push_back(i);
    else (site.tracepoint.starts_with("syscalls:sys_enter_") ? entries : exits).push_back(i);
  }
  // Tracepoints of system calls by one raw tracepoint: theirs take the kernel three grace periods to remove, and each hit a copy
  // of the arguments. A call that is not probed costs the same with both.
  std::vector<PointChoice> choices;
  if (!single.points.empty()) choices.push_back(std::move(single));
  if (!entries.empty()) choices.push_back(in_calls(".calls", false, PointChoice::By::kCallNumber, std::move(entries)));
  if (!exits.empty()) choices.push_back(in_calls(".results", true, PointChoice::By::kCallNumber, std::move(exits)));
  return choices;
}

// process.begin and the like, of all processes. A thread's birth is seen in the thread itself, as it leaves the system call that
// made it.
std::vector<PointChoice> life_choices(const sema::Probe& probe) {
  using Kind = sema::ProbeKind;
  using By = PointChoice::By;
  if (sema::is_system_call(probe.kind)) {
    const By by = sema::is_for_some_calls(probe) ? By::kCallNumber : By::kProcess;
    PointChoice choice = in_calls("", probe.kind == Kind::kSystemCallReturn, by, all_points(probe));
    choice.of_any_kind = true;
    choice.not_births =
        choice.at_exit && (by != By::kCallNumber || std::ranges::any_of(probe.points, [](const sema::ResolvedPoint& point) {
                             return makes_threads(point.site.system_call);
                           }));
    return {std::move(choice)};
  }
  const bool of_process = probe.kind == Kind::kProcessBegin || probe.kind == Kind::kProcessEnd;
  auto sched = [&](const char* suffix, const char* raw_tracepoint) {
    PointChoice choice;
    choice.suffix = suffix;
    choice.raw_tracepoint = raw_tracepoint;
    choice.points = all_points(probe);
    choice.by = By::kProcess;
    return choice;
  };
  std::vector<PointChoice> choices;
  if (probe.kind == Kind::kProcessEnd || probe.kind == Kind::kThreadEnd) {
    choices.push_back(sched(".deaths", "sched:sched_process_exit"));
  } else {
    choices.push_back(in_calls(".births", true, By::kProcess, all_points(probe)));
    choices.back().only_births = choices.back().of_any_kind = true;
  }
  choices.back().thread = of_process ? PointChoice::Thread::kFirst : PointChoice::Thread::kOthers;
  if (of_process) {
    // The program that has ended is the one before.
    choices.push_back(sched(".execs", "sched:sched_process_exec"));
    choices.back().before_exec = probe.kind == Kind::kProcessEnd;
  }
  return choices;
}

}  // namespace

std::vector<PointChoice> point_choices(const sema::Probe& probe) {
  return probe.kind == sema::ProbeKind::kTracepoint ? tracepoint_choices(probe) : life_choices(probe);
}

uint32_t program_result(const sema::Probe& probe) { return probe.kind == sema::ProbeKind::kPacket ? 1 : 0; }

bool runs_in_traced_processes(const sema::Probe& probe) {
  const bool sampled_by_thread = probe.kind == sema::ProbeKind::kPerfSample;
  return probe.domain == sema::Domain::kKernel && probe.points.front().of_processes && !sampled_by_thread;
}

KernelMap map_of_targets() {
  KernelMap map;
  map.symbol = abi::kKernelTargetsMap;
  map.kind = KernelMap::Kind::kHash;
  map.key_size = map.value_size = 8;
  map.entries = abi::kMostKernelTargets;
  return map;
}

std::vector<std::string> followed_programs(const sema::Program& program) {
  std::vector<std::string> paths;
  for (const sema::Probe& probe : program.probes) {
    if (probe.domain != sema::Domain::kKernel || sema::info(probe.kind).source != sema::Source::kWatch) continue;
    for (const sema::ResolvedPoint& point : probe.points) {
      if (!point.site.module.empty() && std::ranges::find(paths, point.site.module) == paths.end())
        paths.push_back(point.site.module);
    }
  }
  return paths;
}

PointChooser::Chosen PointChooser::choose(const PointChoice& choice, bool reads_registers) {
  Chosen chosen;
  const bool by_call = choice.by == PointChoice::By::kCallNumber;
  // At the entry, the number is the second of the tracepoint's arguments: calls that no point is about go on at once.
  if (by_call && !choice.at_exit) {
    llvm::Value* number = b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt64Ty(), program_.getArg(0), 1));
    if (choice.of_any_kind) number = known_number(number);
    chosen.point = choose_call(choice.points, number);
  }
  if (choice.in_calls) {
    // Tracepoints of system calls are about calls of 64-bit code alone.
    if (!choice.of_any_kind) only_if(call("spile_rt_kernel_makes_native_call", b_.getInt1Ty(), {context_, saved_registers()}));
    const bool knows_call = by_call && !choice.at_exit;
    if (reads_registers) read_registers(kKernelLayout.pt_regs_call_begin);
    else if (choice.only_births || choice.not_births) read_registers(kKernelLayout.pt_regs[abi::kConvention.system_call_result]);
    else if (!knows_call) read_registers(kKernelLayout.pt_regs_call);
    if (choice.of_any_kind && registers_) know_call(reads_registers);
  }
  if (choice.only_births) only_if(is_born());
  if (choice.not_births) only_if(b_.CreateNot(is_born()));
  if (choice.thread != PointChoice::Thread::kAny) {
    llvm::Value* leads = call("spile_rt_kernel_leads", b_.getInt1Ty(), {context_});
    only_if(choice.thread == PointChoice::Thread::kFirst ? leads : b_.CreateNot(leads));
  }
  if (by_call && choice.at_exit) chosen.point = choose_call(choice.points, register_word(kKernelLayout.pt_regs_call));
  if (choice.by == PointChoice::By::kProcess) chosen.point = choose_process(choice.before_exec);
  if (choice.by == PointChoice::By::kOnly) chosen.point = b_.getInt64(choice.points.front());
  if (choice.in_calls && !choice.only_births) chosen.registers = registers_;
  return chosen;
}

llvm::Value* PointChooser::saved_registers() { return b_.CreateLoad(b_.getInt64Ty(), program_.getArg(0)); }

// What the call is known by that the kernel gives the number.
llvm::Value* PointChooser::known_number(llvm::Value* number) {
  return call("spile_rt_kernel_call_number", b_.getInt64Ty(), {context_, saved_registers(), number});
}

// The registers that have been read become those of the call that this one is known by. whole: they are all there; else only the
// number is changed.
void PointChooser::know_call(bool whole) {
  if (whole) {
    call("spile_rt_kernel_know_call", unit_.module.none(), {context_, saved_registers(), registers_});
    return;
  }
  llvm::Value* at = b_.CreateConstGEP1_64(b_.getInt8Ty(), registers_, kKernelLayout.pt_regs_call - registers_from_);
  b_.CreateStore(known_number(b_.CreateLoad(b_.getInt64Ty(), at)), at);
}

void PointChooser::only_if_traced() {
  only_if(call("spile_rt_kernel_is_traced", b_.getInt1Ty(), {map_symbol(unit_.module, abi::kKernelTargetsMap)}));
}

llvm::Value* PointChooser::call(const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments) {
  return unit_.module.call_runtime(b_, name, result, arguments);
}

void PointChooser::only_if(llvm::Value* condition) {
  llvm::BasicBlock *wanted = llvm::BasicBlock::Create(b_.getContext(), "wanted", &program_),
                   *other = llvm::BasicBlock::Create(b_.getContext(), "other", &program_);
  b_.CreateCondBr(condition, wanted, other);
  b_.SetInsertPoint(other);
  b_.CreateRet(b_.getInt32(program_result(probe_)));
  b_.SetInsertPoint(wanted);
}

// Reads the registers that struct pt_regs has from an offset on.
void PointChooser::read_registers(uint32_t from) {
  registers_from_ = from;
  const uint32_t size = kKernelLayout.pt_regs_call_end - from;
  llvm::BasicBlock& entry = program_.getEntryBlock();
  registers_ = llvm::IRBuilder<>(&entry, entry.begin())
                   .CreateAlloca(llvm::ArrayType::get(b_.getInt64Ty(), size / 8), nullptr, "registers");
  only_if(call("spile_rt_kernel_registers", b_.getInt1Ty(),
               {context_, b_.CreateAdd(saved_registers(), b_.getInt64(from)), b_.getInt32(size), registers_}));
}

// at: the offset in struct pt_regs
llvm::Value* PointChooser::register_word(uint32_t at) {
  return b_.CreateLoad(b_.getInt64Ty(), b_.CreateConstGEP1_64(b_.getInt8Ty(), registers_, at - registers_from_));
}

// The handler goes on for system calls of these points only.
llvm::Value* PointChooser::choose_call(const std::vector<uint32_t>& points, llvm::Value* number) {
  llvm::Value* point = point_of_call(unit_, b_, probe_, points, number);
  only_if(b_.CreateICmpNE(point, b_.getInt64(0)));
  return b_.CreateSub(point, b_.getInt64(1));
}

// Whether the running thread is one that the system call has just made.
llvm::Value* PointChooser::is_born() {
  llvm::Value* number = register_word(kKernelLayout.pt_regs_call);
  llvm::Value* makes_threads = b_.getInt1(false);
  for (const char* name : kCallsThatMakeThreads) {
    const int32_t known = abi::system_call_number(name);
    if (known >= 0)
      makes_threads = b_.CreateOr(makes_threads, b_.CreateICmpEQ(number, b_.getInt64(static_cast<uint64_t>(known))));
  }
  llvm::Value* result = register_word(kKernelLayout.pt_regs[abi::kConvention.system_call_result]);
  return b_.CreateAnd(makes_threads, b_.CreateICmpEQ(result, b_.getInt64(0)));
}

// The handler goes on in the processes that the probe's points name.
llvm::Value* PointChooser::choose_process(bool before_exec) {
  const std::vector<std::string> followed = followed_programs(unit_.program);
  llvm::Value* program = nullptr;
  llvm::Value* point = b_.getInt64(probe_.points.size());
  for (size_t i = probe_.points.size(); i-- > 0;) {
    llvm::Value* is_it = b_.getInt1(true);
    if (probe_.points[i].process != 0)
      is_it = b_.CreateICmpEQ(call("spile_rt_pid", b_.getInt64Ty(), {context_}),
                              b_.getInt64(static_cast<uint64_t>(probe_.points[i].process)));
    if (const std::string& path = probe_.points[i].site.module; !path.empty()) {
      if (!program) {
        llvm::Value* life =
            call("spile_rt_kernel_life", b_.getInt64Ty(), {context_, map_symbol(unit_.module, abi::kKernelLivesMap)});
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

}  // namespace spile::codegen
