#include "engine/rival_tracers.h"

#include <fmt/format.h>
#include <sys/ptrace.h>

#include <algorithm>

#include "base/processes/proc.h"
#include "engine/patch/dynamic_linker.h"
#include "engine/process/process_status.h"
#include "engine/space/breakpoints.h"

namespace spile::engine {
namespace {

constexpr uint64_t kShortFunction = 48;
// Requests of ptrace that begin to trace. Tracers make other requests by the thousand.
constexpr uint32_t kRequests[] = {PTRACE_TRACEME, PTRACE_ATTACH, PTRACE_SEIZE};
constexpr const char* kPtrace = "ptrace";
constexpr const char* kLeakCheck = "__lsan_do_leak_check";
constexpr const char* kRecoverableLeakCheck = "__lsan_do_recoverable_leak_check";

std::string name_of(pid_t pid) {
  const std::string name = process_name(pid);
  return name.empty() ? "?" : name;
}

// The thread that `caller` knows by this number.
Thread* find_named(Tracer& tracer, pid_t caller, pid_t number) {
  if (innermost_number(caller) == caller) return tracer.find_thread(number);
  for (auto& [pid, process] : tracer.processes()) {
    for (auto& [tid, thread] : process->threads) {
      if (innermost_number(tid) == number) return thread.get();
    }
  }
  return nullptr;
}

}  // namespace

const RivalTracers::Facts& RivalTracers::facts_of(const TargetMemory& memory, const Module& module) {
  auto [known, fresh] = known_.try_emplace({module.device, module.inode});
  Facts& facts = known->second;
  if (!fresh) return facts;
  auto names = read_dynamic_names(memory, module);
  if (!names.ok()) return facts;
  facts.imports = names->imported.contains(kPtrace);
  facts.needs_sanitizer = std::any_of(names->needed.begin(), names->needed.end(), [](const std::string& library) {
    return library.starts_with("libasan.") || library.starts_with("liblsan.") || library.starts_with("libhwasan.") ||
           library.starts_with("libclang_rt.");
  });
  auto function = [&](const char* name) -> std::optional<FileAddress> {
    auto found = names->functions.find(name);
    return found == names->functions.end() ? std::nullopt : std::optional(found->second);
  };
  facts.ptrace = function(kPtrace);
  // At the program's end the runtime calls the function that this one jumps to.
  if (auto check = function(kLeakCheck)) {
    std::vector<uint8_t> text(kShortFunction);
    text.resize(memory.read_some(Address(check->value + module.bias), text));
    auto target = native_architecture().first_branch_out(text, Address(check->value));
    facts.leak_checks.insert(target ? FileAddress(target->value) : *check);
  }
  if (auto check = function(kRecoverableLeakCheck)) facts.leak_checks.insert(*check);
  return facts;
}

bool RivalTracers::may_trace(const TargetMemory& memory, const Module& main_program) {
  const Facts& facts = facts_of(memory, main_program);
  return facts.imports || facts.needs_sanitizer || !facts.leak_checks.empty();
}

Result<void> RivalTracers::add_traps(SetupContext& own, AddressSpace& space, std::vector<PatchedSite>& sites) {
  bool imports = false;
  for (auto& [path, loaded] : space.modules) imports |= !loaded.module.is_vdso() && facts_of(space.memory, loaded.module).imports;
  for (auto& [path, loaded] : space.modules) {
    const Module& module = loaded.module;
    if (module.is_vdso()) continue;
    const Facts& facts = facts_of(space.memory, module);
    std::map<Address, TracingTrap::Call> wanted;
    if (imports && facts.ptrace) wanted[Address(facts.ptrace->value + module.bias)] = TracingTrap::kPtrace;
    for (FileAddress check : facts.leak_checks) wanted[Address(check.value + module.bias)] = TracingTrap::kLeakCheck;
    for (auto& [function, call] : wanted) {
      if (space.traps.has_tracing_trap(function)) continue;
      TRY(auto region, region_for(own, space, module, 1, 256 + breakpoint_room()));
      TracingTrap trap{.function = function, .call = call, .trap = {}, .site = {}};
      std::span<const uint32_t> only_for =
          call == TracingTrap::kPtrace ? std::span<const uint32_t>(kRequests) : std::span<const uint32_t>();
      TRY(PatchedSite site, build_trap(space, function, *region, only_for, &trap.trap));
      // Refused where the program handles SIGTRAP itself: then the trap works only while this spile lives.
      (void)guard_trap(own, space, *region, trap.trap);
      trap.site = site.begin;
      space.traps.add(trap);
      sites.push_back(site);
    }
  }
  return {};
}

TraceAttempt read_attempt(Tracer& tracer, const Thread& thread, TracingTrap::Call call) {
  pid_t pid = thread.process->pid;
  if (call == TracingTrap::kLeakCheck) return {pid, "LeakSanitizer looks for leaks in it"};
  ThreadRegisters registers;
  if (!native_architecture().read_registers(thread.tid, registers).ok()) return {};
  abi::Registers arguments = native_architecture().script_registers(registers);
  int request = static_cast<int>(abi::system_call_argument(arguments, 0));
  if (request == PTRACE_TRACEME) {
    pid_t parent = atoi(process_status(pid, "PPid").c_str());
    return {pid, fmt::format("process {} ({}) traces it", parent, name_of(parent))};
  }
  if (request != PTRACE_ATTACH && request != PTRACE_SEIZE) return {};
  Thread* target = find_named(tracer, thread.tid, static_cast<pid_t>(abi::system_call_argument(arguments, 1)));
  if (!target) return {};
  return {target->process->pid, fmt::format("process {} ({}) traces it", pid, name_of(pid))};
}

}  // namespace spile::engine
