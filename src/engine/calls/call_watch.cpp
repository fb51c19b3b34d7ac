#include "engine/calls/call_watch.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <algorithm>
#include <fstream>

#include "abi/arena.h"
#include "abi/watched_calls.h"
#include "engine/process/call_restriction.h"
#include "engine/process/function_table.h"
#include "engine/process/refusal.h"
#include "engine/space/space_calls.h"
#include "engine/space/space_setup.h"
#include "engine/space/thread_identities.h"

namespace spile::engine {
namespace {

constexpr const char* kVdso = "[vdso]";
constexpr const char* kMayBeMissed = "system calls of code that it adds may be missed";
constexpr int kCancelSignal = 32;
constexpr int64_t kCallSize = 2;  // of a `syscall` instruction

std::string place_in(const Module& module, Address at) { return fmt::format("{}+{:#x}", module.path, at.value - module.bias); }

// Whether all memory that the process maps to be read can be executed too.
bool reads_imply_execution(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/personality", pid));
  uint64_t value = 0;
  file >> std::hex >> value;
  return value & READ_IMPLIES_EXEC;
}

// Whether a thread whose call ptrace has reported is about to make memory executable.
bool adds_code(const std::vector<Process*>& users) {
  const Architecture& machine = native_architecture();
  for (const Process* process : users) {
    for (auto& [tid, thread] : process->threads) {
      ThreadRegisters registers;
      if (!thread->calls.is_open || thread->in_vfork) continue;
      if (thread->running || !machine.read_registers(tid, registers).ok()) return true;
      abi::Registers call = machine.call_registers(tid, registers);
      if (abi::adds_executable_memory(call.site_id, call)) return true;
    }
  }
  return false;
}

// Notes whether the thread may stand between the handler that has reported the call and the call itself.
void note_handler(const AddressSpace& space, Thread& thread) {
  ThreadRegisters registers;
  if (thread.running || !native_architecture().read_registers(thread.tid, registers).ok()) return;
  thread.calls.handler_may_report = space.in_code(native_architecture().pc(registers));
}

}  // namespace

std::optional<Module> CallWatch::find_vdso(const MemoryMap& map, const TargetMemory& memory) {
  const Mapping* mapping = map.find_named(kVdso);
  if (!mapping) return {};
  constexpr uint32_t kElf = 0x464c457f;
  auto magic = memory.read_value<uint32_t>(Address(mapping->begin));
  if (!magic.ok() || *magic != kElf) return {};
  Module module;
  module.path = kVdso;
  module.bias = mapping->begin;  // it is linked at 0
  module.lowest = Address(mapping->begin);
  module.highest = Address(mapping->end);
  module.text = {{module.lowest, module.highest, 0}};
  return module;
}

const CallWatch::Scan* CallWatch::scan_of(const Module& module) const {
  auto found = scanned_.find({module.device, module.inode});
  return found == scanned_.end() ? nullptr : &found->second;
}

std::vector<SiteRequest> CallWatch::requests_for(const AddressSpace& space, const Module& module) {
  std::vector<SiteRequest> requests;
  auto [scanned, fresh] = scanned_.try_emplace({module.device, module.inode});
  if (!fresh) return requests;
  Scan& scan = scanned->second;
  FunctionTable functions(space.memory, module);
  std::vector<uint8_t> bytes;
  for (const Module::Range& range : module.text) {
    bytes.resize(static_cast<size_t>(range.end - range.begin));
    bytes.resize(space.memory.read_some(range.begin, bytes));
    if (bytes.size() != static_cast<size_t>(range.end - range.begin)) scan.unclear = module.path + " can't be read";
    space.sites.overlay_originals(range.begin, bytes);  // patches may hide calls
    auto function_before = [&](Address at) { return functions.before(at); };
    for (const FoundSystemCall& call : native_architecture().find_system_calls(bytes, range.begin, function_before)) {
      if (!call.certain) {
        scan.unclear = fmt::format("what {} does is unclear", place_in(module, call.at));
        continue;
      }
      if (module.go && call.ends_thread) {  // runtime.exitThread has released its stack to others
        scan.ends.push_back(FileAddress(call.at.value - module.bias));
        continue;
      }
      SiteRequest request;
      request.site_id = handlers_->site_id;
      request.module_path = module.path;
      request.address = FileAddress(call.at.value - module.bias);
      request.function = FileAddress(call.before.value - module.bias);
      request.size = call.behind;
      request.flags = abi::kWantsRegisters;
      request.probe = SystemCallProbe{handlers_->enter_offset, handlers_->exit_offset};
      scan.calls.push_back(request.address);
      if (module.go && call.returning != 0) {  // runtime.sigreturn: behind it no instruction follows, and no jump fits
        SiteRequest room = request;
        room.probe = PatchRoom{};
        room.address = FileAddress(request.address.value - call.returning);
        room.size = call.returning + static_cast<uint64_t>(kCallSize);
        requests.push_back(room);
      }
      requests.push_back(request);
    }
  }
  return requests;
}

bool CallWatch::probes_differ(const AddressSpace& space) const {
  return std::any_of(space.users.begin(), space.users.end(),
                     [&](const Process* process) { return probes_of(process->pid) != probes_of(pid_of(space)); });
}

// Why not all system calls of the processes pass sites; empty: they do.
std::string CallWatch::gap(const AddressSpace& space) const {
  pid_t pid = pid_of(space);
  auto map = MemoryMap::read(pid);
  if (!map.ok()) return map.error().message;
  if (probes_differ(space)) return "another process, with other probes, shares its memory";
  CallProbes probes = probes_of(pid);
  if (probes == CallProbes::kNone) return kNobodysCalls;
  if (probes == CallProbes::kSome) return "not all probes on system calls are for this program";
  if (space.calls.is_restricted()) return space.calls.restriction();
  if (is_32_bit(pid)) return "it is a 32-bit program";
  if (reads_imply_execution(pid)) return "whatever it reads, it may execute (READ_IMPLIES_EXEC)";
  for (const Mapping& mapping : map->all()) {
    if (!mapping.executable || mapping.path == "[vsyscall]" || space.in_code(Address(mapping.begin))) continue;
    auto of = std::find_if(space.modules.begin(), space.modules.end(), [&](const auto& loaded) {
      const std::vector<Module::Range>& text = loaded.second.module.text;
      return std::any_of(text.begin(), text.end(), [&](const Module::Range& range) {
        return range.begin.value <= mapping.begin && mapping.end <= range.end.value;
      });
    });
    std::string where = mapping.path.empty() ? fmt::format("the memory at {:#x}", mapping.begin) : mapping.path;
    if (mapping.writable) return where + " is writable and executable";
    if (of == space.modules.end()) return where + " is executable and belongs to no library";
    const Module& module = of->second.module;
    const Scan* scan = scan_of(module);
    if (!scan) return where + " has not been scanned";
    if (!scan->unclear.empty()) return scan->unclear;
    for (FileAddress call : scan->calls) {
      Address at(call.value + module.bias);
      const PatchedSite* site = site_at(space.sites.in_text(), at);
      if (site && site->call != 0 && site->begin + site->call_original == at) continue;
      return fmt::format("{} can't be probed{}", place_in(module, at),
                         space.calls.refusal().empty() ? "" : ": " + space.calls.refusal());
    }
  }
  return "";
}

void CallWatch::settle(AddressSpace& space, std::vector<SiteOutcome>& outcomes) {
  std::erase_if(outcomes, [&](const SiteOutcome& outcome) {
    if (outcome.site_id != handlers_->site_id) return false;
    if (outcome.mechanism == Mechanism::kRefused) space.calls.note_refusal(outcome.reason);
    return true;
  });
  if (space.users.empty()) return;
  pid_t pid = pid_of(space);
  auto map = MemoryMap::read(pid);
  if (!map.ok() || map->all().empty()) return;  // it has ended
  std::string found = gap(space);
  space.calls.set_probes_differ(probes_differ(space));
  if (found == space.calls.gap()) return;
  if (auto changed = hand_over(space, std::move(found)); !changed.ok()) {
    Error error = std::move(changed).error().within(kMayBeMissed);
    report_({.kind = Event::Kind::kTrouble, .pid = pid, .message = std::move(error.message)});
  }
}

Result<void> CallWatch::trace(AddressSpace& space, std::string reason) {
  auto changed = hand_over(space, std::move(reason));
  if (!changed.ok()) return std::move(changed).error().within(kMayBeMissed);
  return {};
}

Result<void> CallWatch::hand_over(AddressSpace& space, std::string found) {
  if (space.users.empty()) return {};
  TRY_DO(tracer_.keep_still(space.users, patience_ms_));
  if (space.users.empty()) return {};
  pid_t pid = pid_of(space);
  // Nobody adds anything now; while they ran, somebody may have.
  if (found.empty()) found = adds_code(space.users) ? "it makes memory executable" : gap(space);
  bool traced = !found.empty(), concerns_nobody = found == kNobodysCalls;
  write_traced(space, traced);
  for (Process* process : space.users) {
    process->stops_at_calls = traced && !concerns_nobody;
    for (auto& [tid, thread] : process->threads) note_handler(space, *thread);
  }
  tracer_.let_go(space.users);
  space.calls.set_gap(found);
  if (concerns_nobody) return {};
  report_({.kind = traced ? Event::Kind::kCallsTraced : Event::Kind::kCallsInProcess, .pid = pid, .message = std::move(found)});
  return {};
}

void CallWatch::write_traced(const AddressSpace& space, bool traced) const {
  auto own = space.clients.find(kOwnClient);
  if (own == space.clients.end() || own->second.process_table.begin == Address()) return;
  (void)space.memory.write_value(own->second.process_table.begin + offsetof(abi::ProcessTable, calls_are_traced),
                                 uint32_t{traced});
}

void CallWatch::begin_child(AddressSpace& space, Process& child) const {
  if (!is_on()) return;
  CallProbes probes = probes_of(child.pid);
  bool silent = space.calls.is_unwanted();
  if (probes == CallProbes::kNone) {
    space.calls.set_gap(kNobodysCalls);
  } else if (silent || (space.calls.is_by_handlers() && probes == CallProbes::kSome)) {
    space.calls.set_gap(kNotArmed);
  }
  child.stops_at_calls = !space.calls.is_by_handlers() && !space.calls.is_unwanted();
  write_traced(space, !space.calls.is_by_handlers());
}

// A handler records the call before it reports it, and has done both when the thread comes to the call.
bool CallWatch::handler_has_reported(const AddressSpace& space, const Thread& thread, const abi::Registers& call) {
  if (call.site_id == SYS_rt_sigreturn || call.site_id == SYS_exit || call.site_id == SYS_exit_group)
    return !thread.process->stops_at_calls;
  auto own = space.clients.find(kOwnClient);
  ThreadRegisters registers;
  if (own == space.clients.end() || !native_architecture().read_registers(thread.tid, registers).ok()) return false;
  auto slot = find_slot(space, own->second, native_architecture().thread_pointer(registers));
  abi::PendingCall pending[abi::kPendingCalls];
  std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(pending), sizeof pending);
  if (!slot || !space.memory.read(*slot + offsetof(abi::ThreadSlot, calls), bytes).ok()) return false;
  return std::any_of(std::begin(pending), std::end(pending), [&](const abi::PendingCall& each) {
    return each.stack_pointer == abi::stack_pointer(call) && (each.number == call.site_id || call.site_id == SYS_restart_syscall);
  });
}

std::optional<Bell> rung_bell(pid_t tid) {
  siginfo_t info;
  if (ptrace(PTRACE_GETSIGINFO, tid, 0, &info) != 0) return {};
  const auto at = reinterpret_cast<uint64_t>(info.si_addr);
  if (at == abi::kSlotBell) return Bell{Bell::kSlots, Address()};
  if (at < abi::kCallBell) return {};
  const bool is_question = (at - abi::kQuestionBell) % alignof(abi::Question) == 0;
  return is_question ? Bell{Bell::kQuestion, Address(at - abi::kQuestionBell)} : Bell{Bell::kCall, Address(at - abi::kCallBell)};
}

// A handler of the script may load from anywhere, too.
std::optional<abi::Registers> CallWatch::read_call(const AddressSpace& space, Address registers) {
  auto call = space.memory.read_value<abi::Registers>(registers);
  if (!call.ok()) return {};
  call->site_id = abi::system_call_number(*call);
  bool watched = abi::adds_executable_memory(call->site_id, *call) || abi::may_judge_places(call->site_id, *call);
  return watched ? std::optional(*call) : std::nullopt;
}

Result<void> CallWatch::seek_restriction(AddressSpace& space) {
  if (space.calls.restriction_is_sought() || space.users.empty()) return {};
  TRY_DO(tracer_.keep_still(space.users, patience_ms_));
  for (Process* process : space.users) {
    for (auto& [tid, thread] : process->threads) {
      if (!space.calls.is_restricted()) space.calls.restrict(call_restriction(tid));
    }
  }
  space.calls.note_restriction_sought();
  tracer_.let_go(space.users);
  return {};
}

// pthread_cancel is a signal whose handler looks where the thread is, or unwinds its stack from there: glibc's is the first
// real-time signal, musl's the one after that, which in glibc is for setuid and does neither.
bool CallWatch::is_cancellation(int signal) { return signal == kCancelSignal || signal == kCancelSignal + 1; }

void CallWatch::leave_call(const AddressSpace& space, Thread& thread) {
  bool glibc = std::any_of(space.modules.begin(), space.modules.end(),
                           [](const auto& loaded) { return loaded.first.ends_with("/libc.so.6"); });
  ThreadRegisters registers;
  if ((glibc && thread.signal != kCancelSignal) || !native_architecture().read_registers(thread.tid, registers).ok()) return;
  Address pc = native_architecture().pc(registers);
  if (!space.in_code(pc)) return;
  for (auto sites : {space.sites.in_text(), space.sites.retired()}) {
    for (const PatchedSite& site : sites) {
      auto restored = site.restored(pc);
      if (!restored) continue;
      native_architecture().set_pc(registers, *restored);
      if (!native_architecture().write_registers(thread.tid, registers).ok()) return;
      thread.calls.moved_from = pc;
      thread.calls.moved_to = *restored;
      return;
    }
  }
}

// The signal's handler mostly does not return, as the thread is canceled. Other instructions may be where the thread was moved
// to.
void CallWatch::return_to_call(const AddressSpace& space, Thread& thread, uint64_t frame) {
  if (thread.calls.moved_to == Address()) return;
  Address place(frame + offsetof(ucontext_t, uc_mcontext.gregs) + REG_RIP * sizeof(greg_t));
  auto interrupted = space.memory.read_value<uint64_t>(place);
  if (!interrupted.ok()) return;
  // The thread returns to make its call again, or behind the call.
  int64_t before = thread.calls.moved_to - Address(*interrupted);
  if (before != 0 && before != kCallSize) return;
  (void)space.memory.write_value(place, thread.calls.moved_from.value - static_cast<uint64_t>(before));
  thread.calls.moved_to = Address();
}

std::optional<abi::Registers> CallWatch::last_call(const AddressSpace& space, const Thread& thread) const {
  ThreadRegisters registers;
  if (!is_on() || !space.calls.is_by_handlers() || !native_architecture().read_registers(thread.tid, registers).ok()) return {};
  abi::Registers call = native_architecture().script_registers(registers);
  if (call.site_id != SYS_exit) return {};
  for (auto& [path, loaded] : space.modules) {
    const Scan* scan = scan_of(loaded.module);
    if (!scan) continue;
    FileAddress at(abi::program_counter(call) - static_cast<uint64_t>(kCallSize) - loaded.module.bias);
    if (std::find(scan->ends.begin(), scan->ends.end(), at) != scan->ends.end()) return call;
  }
  return {};
}

bool CallWatch::is_program_call(const AddressSpace& space, Address pc) {
  if (!space.in_code(pc)) return true;
  auto made_by = [&](const PatchedSite& site) { return site.restored(pc).has_value(); };
  return std::ranges::any_of(space.sites.in_text(), made_by) || std::ranges::any_of(space.sites.retired(), made_by);
}

}  // namespace spile::engine
