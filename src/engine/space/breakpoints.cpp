#include "engine/space/breakpoints.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <algorithm>
#include <utility>

#include "engine/space/signal_actions.h"
#include "engine/space/space_calls.h"
#include "engine/trace/remote_call.h"

namespace spile::engine {
namespace {

constexpr uint64_t kMostBreakpoints = 8192;
constexpr uint64_t kTableSize = (kMostBreakpoints + 1) * 16;
constexpr uint64_t kCodeRoom = 512;

// Whether the kernel has raised the signal for an instruction, rather than a process sent it.
bool is_breakpoint_signal(const siginfo_t& signal) { return signal.si_signo == SIGTRAP && signal.si_code > 0; }

bool has_arrived_trap(const Thread& thread) {
  siginfo_t signal;
  return thread.kind == StopKind::kSignal && thread.signal == SIGTRAP && ptrace(PTRACE_GETSIGINFO, thread.tid, 0, &signal) == 0 &&
         is_breakpoint_signal(signal);
}

bool has_pending_trap(pid_t tid) {
  siginfo_t signals[16];
  __ptrace_peeksiginfo_args which{0, 0, 16};
  long count = ptrace(PTRACE_PEEKSIGINFO, tid, &which, signals);
  return std::any_of(signals, signals + std::max(count, 0L), is_breakpoint_signal);
}

Result<void> install(SetupContext& context, AddressSpace& space, Region& region) {
  SignalHandler code = native_architecture().emit_trap_handler(region.next(), kMostBreakpoints);
  if (!region.has_room(0, code.bytes.size() + kCodeRoom)) return Error{"no room for breakpoints", ""};
  Address handler = region.next();
  SignalAction action{handler.value, kHandlerFlags, handler.value + code.restorer_offset, 0};
  auto set_handler = [&](RemoteCalls& calls, Thread& thread) -> Result<void> {
    TRY(SignalAction present, read_action(calls, space, SIGTRAP));
    if (present.handler != reinterpret_cast<uint64_t>(SIG_DFL) && present.handler != action.handler) {
      return Error{"only a breakpoint fits there, and the program handles SIGTRAP itself", ""};
    }
    if (!space.signal_code.handles_breakpoints()) {
      region.append_code(code.bytes);
      space.signal_code.set_breakpoint_table(handler + static_cast<int64_t>(code.table_offset));
    }
    TRY_DO(set_action(calls, space, SIGTRAP, action));
    thread.process->actions.known[SIGTRAP] = action;
    return {};
  };
  return make_calls(context.tracer, space, set_handler);
}

// behind: the program counter of a thread that has met the breakpoint. where: where it goes on.
Result<void> add_entry(AddressSpace& space, Address behind, Address where) {
  Region* owner = nullptr;
  bool shared = false;
  for (auto& [id, client] : space.clients) {
    for (auto& each : client.regions) {
      if (!each->contains(space.signal_code.breakpoint_table())) continue;
      owner = each.get();
      shared = each.use_count() > 1;
    }
  }
  if (!owner) return Error{"no room for breakpoints", ""};
  for (uint64_t i = 0; !space.sites.retired().empty() && i < space.signal_code.breakpoint_count(); i++) {
    Address entry = space.signal_code.breakpoint_entry(i);
    if (owner->word_at(entry) != behind.value) continue;
    // Forked children use the same table, and don't have the new trampoline.
    if (shared) return Error{"only a breakpoint fits there, which several spiles can't share in a process that has forked", ""};
    owner->put_word(entry + 8, where.value);
    return {};
  }
  if (space.signal_code.breakpoint_count() == kMostBreakpoints)
    return Error{"only a breakpoint fits there, and there are too many", ""};
  Address entry = space.signal_code.add_breakpoint();
  // The first word, by which the entry is found, last.
  owner->put_word(entry + 8, where.value);
  owner->put_word(entry, behind.value);
  return {};
}

}  // namespace

uint64_t breakpoint_room() { return kTableSize + kCodeRoom; }

Result<void> guard_trap(SetupContext& context, AddressSpace& space, Region& region, Address trap) {
  if (!space.signal_code.handles_breakpoints()) TRY_DO(install(context, space, region));
  return add_entry(space, trap + 1, trap + 1);
}

Result<void> guard_breakpoints(SetupContext& context, AddressSpace& space, Region& region, std::span<const PatchedSite> sites) {
  if (!space.signal_code.handles_breakpoints()) TRY_DO(install(context, space, region));
  for (const PatchedSite& site : sites) {
    if (site.is_breakpoint()) TRY_DO(add_entry(space, site.begin + 1, site.trampoline));
  }
  return {};
}

namespace {

enum class Trap : uint8_t { kNone, kPending, kArrived };

// Whether the stopped thread has run into a breakpoint: its signal waits, or is what it has stopped with.
Trap trap_of(const AddressSpace& space, const Thread& thread) {
  ThreadRegisters registers;
  if (thread.gone || thread.running || !native_architecture().read_registers(thread.tid, registers).ok()) return Trap::kNone;
  // Within our own code it is the trap in _dl_debug_state.
  Address pc = native_architecture().pc(registers);
  if (!space.in_code(pc) && !space.sites.breakpoint_at(pc - 1)) return Trap::kNone;
  // The listener does not know the breakpoints of a controller that was killed, and has left it the signal.
  if (has_arrived_trap(thread)) return Trap::kArrived;
  return has_pending_trap(thread.tid) ? Trap::kPending : Trap::kNone;
}

void move_on(const AddressSpace& space, Thread& thread) {
  const Architecture& machine = native_architecture();
  ThreadRegisters registers;
  if (!machine.read_registers(thread.tid, registers).ok()) return;
  const PatchedSite* site = space.sites.breakpoint_at(machine.pc(registers) - 1);
  if (site) machine.set_pc(registers, site->trampoline);
  if (machine.write_registers(thread.tid, registers).ok()) thread.signal = 0;
}

}  // namespace

void settle_breakpoints(Tracer& tracer, AddressSpace& space) {
  constexpr int kMostStops = 16;  // of other kinds, which may come before the signal's
  std::vector<Thread*> waiting;
  for (Process* process : space.users) {
    for (auto& [tid, thread] : process->threads) {
      if (trap_of(space, *thread) != Trap::kNone) waiting.push_back(thread.get());
    }
  }
  for (Thread* thread : waiting) {
    Trap trap = trap_of(space, *thread);
    for (int stops = 0; trap == Trap::kPending && stops < kMostStops; stops++) {
      // At the signal's stop a listener that knows the breakpoint has moved it on already.
      if (ptrace(PTRACE_CONT, thread->tid, 0, static_cast<long>(std::exchange(thread->signal, 0))) != 0) break;
      thread->running = true;
      if (!tracer.await_stop(*thread).ok()) break;
      trap = trap_of(space, *thread);
    }
    if (trap == Trap::kArrived) move_on(space, *thread);
  }
}

}  // namespace spile::engine
