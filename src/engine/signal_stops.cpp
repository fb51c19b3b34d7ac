#include "engine/signal_stops.h"

#include <fmt/format.h>
#include <string.h>
#include <sys/ptrace.h>

#include <algorithm>
#include <utility>

#include "engine/change/overwritten.h"
#include "engine/process/questions.h"
#include "engine/shown_faults.h"
#include "engine/space/signal_actions.h"

namespace spile::engine {
namespace {

// Moves a thread on that has stopped with a signal of ours. If we are killed before the thread goes on without the signal, it is
// delivered: the handler finds it marked.
bool move_on(Thread& thread, ThreadRegisters& registers, Address pc, siginfo_t& info) {
  info.si_errno = kMovedOn;
  if (ptrace(PTRACE_SETSIGINFO, thread.tid, 0, &info) != 0) return false;
  native_architecture().set_pc(registers, pc);
  return native_architecture().write_registers(thread.tid, registers).ok();
}

}  // namespace

void SignalStops::finish_libraries(const DeferredWork& work) {
  // If we are killed while it is at the signal's stop, the signal is delivered.
  if (Thread* thread = tracer_.find_thread(work.tid)) {
    (void)tracer_.settle(*thread);
    if (should_mend_action(*thread, SIGTRAP)) mend(*thread, SIGTRAP);
  }
  Process* process = tracer_.find_process(work.pid);
  if (process && arming_.can_arm(*process->space)) {
    Reports reports;
    std::shared_ptr<AddressSpace> space = process->space;
    auto armed = arming_.arm_space(*space, reports);
    reports_.report_armed(work.pid, reports);
    arming_.note_failure(*space, work.pid, armed);
  }
  works_.release_hold(work.tid);
}

void SignalStops::finish_tracing(const DeferredWork& work) {
  if (Thread* thread = tracer_.find_thread(work.tid)) {
    (void)tracer_.settle(*thread);
    if (should_mend_action(*thread, SIGTRAP)) mend(*thread, SIGTRAP);
  }
  if (Thread* thread = tracer_.find_thread(work.tid)) {
    TraceAttempt attempt = read_attempt(tracer_, *thread, work.tracing);
    if (attempt.whom != 0) lives_.hand_over(attempt.whom, attempt.reason);
  }
  works_.release_hold(work.tid);
}

void SignalStops::finish_signal(const DeferredWork& work) {
  Thread* thread = tracer_.find_thread(work.tid);
  if (thread && work.kind == DeferredWork::kResetAction) mend(*thread, work.signal);
  // A thread that was just born may not have come to its first stop.
  if (thread && work.kind == DeferredWork::kActions && (!thread->running || tracer_.await_stop(*thread).ok())) {
    // Another birth may have been the occasion since.
    bool still = should_learn_actions(*thread->process, ProcessStatus::read(work.tid));
    if (still) (void)learn_signal_actions(tracer_, *thread->process, *thread);
  }
  works_.release_hold(work.tid);
}

void SignalStops::finish_overwritten(const DeferredWork& work) {
  if (Process* process = tracer_.find_process(work.pid); process && process->space) {
    std::shared_ptr<AddressSpace> space = process->space;
    arming_.take_out_overwritten(*space, work.pid);
  }
  works_.release_hold(work.tid);
}

// Whether the thread has met what another tracer has left of a patch; it goes on when that was taken out.
bool SignalStops::is_caught(const AddressSpace& space, Thread& thread) {
  siginfo_t info;
  if (ptrace(PTRACE_GETSIGINFO, thread.tid, 0, &info) != 0 || info.si_code <= 0) return false;
  ThreadRegisters registers;
  if (!native_architecture().read_registers(thread.tid, registers).ok()) return false;
  const Address pc = native_architecture().pc(registers);
  const bool is_elsewhere = thread.signal == SIGSEGV && reinterpret_cast<uint64_t>(info.si_addr) == pc.value;
  const auto caught = caught_at(space, pc, is_elsewhere);
  if (!caught || !move_on(thread, registers, *caught, info)) return false;
  signal_is_ours(thread);
  works_.hold_for({.kind = DeferredWork::kOverwritten, .pid = thread.process->pid, .tid = thread.tid}, thread);
  return true;
}

void SignalStops::mend(Thread& thread, int signal) {
  pid_t pid = thread.process->pid;
  std::shared_ptr<AddressSpace> space = thread.process->space;
  arming_.note_failure(*space, pid, mend_signal_action(tracer_, thread, signal));
}

// Lets the handler's thread go on with its flags, once the handler has returned to the trampoline.
void SignalStops::return_in_flags(Thread& thread, const HandlerPlace& place, const ThreadRegisters& registers, uint64_t flags) {
  const Architecture& machine = native_architecture();
  const std::optional<ThreadRegisters> behind = behind_handler(thread, place, registers);
  if (!behind) return;
  const Address returns = machine.pc(*behind), slot = machine.sp(*behind) - 8;
  auto [known, fresh] = place.region->flagged_returns().try_emplace({returns, flags});
  if (fresh) {
    const std::vector<uint8_t> code = machine.emit_flagged_return(place.region->next(), returns, flags);
    if (!place.region->has_room(0, code.size())) {
      place.region->flagged_returns().erase(known);
      return;
    }
    known->second = place.region->append_code(code);
  }
  (void)thread.process->space->memory.write_value(slot, known->second.value);
}

// A handler runs with a flag that the program has set, which lets its unaligned loads fault or each of its instructions trap: it
// goes on without. Where flags are live the trampoline has seen to that; at a function's entry it would cost every call.
bool SignalStops::clear_flags_in_handler(Thread& thread) {
  siginfo_t info;
  if (ptrace(PTRACE_GETSIGINFO, thread.tid, 0, &info) != 0) return false;
  const bool steps = thread.signal == SIGTRAP && info.si_code == TRAP_TRACE;
  if (!steps && (thread.signal != SIGBUS || info.si_code != BUS_ADRALN)) return false;
  const Architecture& machine = native_architecture();
  ThreadRegisters registers;
  if (!machine.read_registers(thread.tid, registers).ok()) return false;
  const Address pc = machine.pc(registers);
  const std::optional<HandlerPlace> place = handler_at(thread, pc);
  const bool in_handler = place && pc >= place->region->image() &&
                          pc < place->region->image() + static_cast<int64_t>(place->region->header().image_size);
  // The program steps itself: it sees no step of ours, and sees the next one behind the trampoline.
  if (!in_handler) return steps && thread.process->space->in_code(pc);
  const ThreadRegisters found = registers;
  const uint64_t flags = machine.clear_checking_flags(registers);
  if (flags == 0 || !move_on(thread, registers, pc, info)) return false;
  return_in_flags(thread, *place, found, flags);
  return true;
}

std::optional<SignalStops::HandlerPlace> SignalStops::handler_at(Thread& thread, Address pc) {
  for (auto& [id, used] : thread.process->space->clients) {
    for (auto& region : used.regions) {
      if (!region->contains(pc)) continue;
      Client* client = arming_.clients().find(id);
      return client ? std::optional(HandlerPlace{id, client, region.get()}) : std::nullopt;
    }
  }
  return {};
}

// A load of traced memory in a handler has faulted: the handler goes on where its fix-up says, and the target's own
// handling of the signal never learns of it.
std::optional<SignalStops::HandlerPlace> SignalStops::redirect_fault(Thread& thread) {
  siginfo_t info;
  if (ptrace(PTRACE_GETSIGINFO, thread.tid, 0, &info) != 0 || info.si_code <= 0) return {};
  const Architecture& machine = native_architecture();
  ThreadRegisters registers;
  if (!machine.read_registers(thread.tid, registers).ok()) return {};
  Address pc = machine.pc(registers);
  const std::optional<HandlerPlace> place = handler_at(thread, pc);
  if (!place) return {};
  const std::vector<abi::FaultFixup>& fixups = place->client->image.fixups;
  int64_t offset = pc - place->region->image();
  auto fixup = std::lower_bound(fixups.begin(), fixups.end(), offset,
                                [](const abi::FaultFixup& a, int64_t value) { return a.fault_offset < value; });
  if (fixup == fixups.end() || fixup->fault_offset != offset) return {};
  if (!move_on(thread, registers, place->region->image() + fixup->resume_offset, info)) return {};
  return place;
}

// The registers with which the thread can go on behind the call of the handler, in which it has `registers`. Empty: the checker
// has not seen the handler, or they can't be found again.
std::optional<ThreadRegisters> SignalStops::behind_handler(const Thread& thread, const HandlerPlace& place,
                                                           ThreadRegisters registers) const {
  if (place.client->image.unchecked) return {};
  const TargetMemory& memory = thread.process->space->memory;
  auto read = [&memory](uint64_t address) -> std::optional<uint64_t> {
    auto word = memory.read_value<uint64_t>(Address(address));
    return word.ok() ? std::optional(*word) : std::nullopt;
  };
  const std::vector<HandlerEntry> entries(place.client->checked.begin(), place.client->checked.end());
  const Architecture& machine = native_architecture();
  if (!machine.leave_handler(place.client->image, entries, place.region->image(), registers, read)) return {};
  return registers;
}

// Finds how the thread can go on behind the call of the handler that it is in; the thread stays as it is. nullopt: it is in none
// that the checker has seen, or its registers can't be found again.
std::optional<SignalStops::LeftHandler> SignalStops::leave_at(Thread& thread) {
  constexpr int kMostLeft = 1000;  // a handler that is always called again
  const Architecture& machine = native_architecture();
  LeftHandler left;
  if (!machine.read_registers(thread.tid, left.registers).ok()) return {};
  const std::optional<HandlerPlace> place = handler_at(thread, machine.pc(left.registers));
  if (!place || ++left_[thread.tid] > kMostLeft) return {};
  left.client = place->client;
  left.offset = static_cast<uint64_t>(machine.pc(left.registers) - place->region->image());
  const std::optional<ThreadRegisters> behind = behind_handler(thread, *place, left.registers);
  if (!behind) return {};
  left.registers = *behind;
  return left;
}

// Takes the thread out of a handler that has faulted elsewhere. Returns false if the signal is not of a handler, or the thread's
// registers can't be found again.
bool SignalStops::leave_handler(Thread& thread) {
  siginfo_t info;
  if (ptrace(PTRACE_GETSIGINFO, thread.tid, 0, &info) != 0 || info.si_code <= 0) return false;
  std::optional<LeftHandler> left = leave_at(thread);
  if (!left || !move_on(thread, left->registers, native_architecture().pc(left->registers), info)) return false;
  if (left_[thread.tid] == 1) {
    reports_.report(left->client, {.kind = Event::Kind::kHandlerLeft,
                                   .pid = thread.process->pid,
                                   .message = fmt::format("a handler has raised SIG{} (at {:#x} of its code), and was left",
                                                          sigabbrev_np(info.si_signo), left->offset)});
  }
  return true;
}

bool SignalStops::leave_endless_handler(Thread& thread) {
  if (!thread.process->space) return false;
  const std::optional<LeftHandler> left = leave_at(thread);
  if (!left || !native_architecture().write_registers(thread.tid, left->registers).ok()) return false;
  if (left_[thread.tid] == 1) {
    reports_.report(left->client,
                    {.kind = Event::Kind::kHandlerLeft,
                     .pid = thread.process->pid,
                     .message = fmt::format("a handler did not end (at {:#x} of its code), and was left", left->offset)});
  }
  return true;
}

// Drops a signal. But if the thread blocks or ignores it, its arrival alone has reset the program's action.
void SignalStops::signal_is_ours(Thread& thread) {
  int signal = std::exchange(thread.signal, 0);
  Process& process = *thread.process;
  if (should_mend_action(thread, signal)) {
    works_.hold_for({.kind = DeferredWork::kResetAction, .pid = process.pid, .tid = thread.tid, .signal = signal}, thread);
  }
}

void SignalStops::bell_rung(const AddressSpace& space, Thread& thread, const Bell& bell, const HandlerPlace& place) {
  const pid_t pid = thread.process->pid;
  switch (bell.kind) {
    case Bell::kSlots:
      return works_.hold_for({.kind = DeferredWork::kSlots, .pid = pid, .tid = thread.tid, .client = place.id}, thread);
    case Bell::kQuestion: {
      auto question = space.memory.read_value<abi::Question>(bell.at);
      if (!question.ok()) return;
      answer(*question, pid, thread.tid, space.memory, place.client->image.asks_of_others);
      question->answered = 1;
      (void)space.memory.write_value(bell.at, *question);
      return;
    }
    case Bell::kCall: {
      const auto call = calls_.is_on() ? CallWatch::read_call(space, bell.at) : std::nullopt;
      if (call) works_.hold_for({.kind = DeferredWork::kWatchedCall, .pid = pid, .tid = thread.tid, .call = *call}, thread);
    }
  }
}

void SignalStops::signal_arrived(Thread& thread) {
  AddressSpace* space = thread.process->space.get();
  if (!space || !space->has_code()) return;
  if ((thread.signal == SIGBUS || thread.signal == SIGTRAP) && clear_flags_in_handler(thread)) {
    signal_is_ours(thread);
  } else if (thread.signal == SIGSEGV || thread.signal == SIGBUS) {
    const std::optional<Bell> bell = rung_bell(thread.tid);
    const std::optional<HandlerPlace> place = redirect_fault(thread);
    if (!place && leave_handler(thread)) return signal_is_ours(thread);
    if (!place) return is_caught(*space, thread) ? void() : show_fault(*space, thread);
    signal_is_ours(thread);
    if (bell) bell_rung(*space, thread, *bell, *place);
  } else if (thread.signal == SIGFPE || thread.signal == SIGILL) {
    if (leave_handler(thread)) thread.signal = 0;
    else if (!is_caught(*space, thread)) show_fault(*space, thread);
  } else if (calls_.is_on() && CallWatch::is_cancellation(thread.signal)) {
    CallWatch::leave_call(*space, thread);
  } else if (thread.signal == SIGTRAP) {
    ThreadRegisters registers;
    if (!native_architecture().read_registers(thread.tid, registers).ok()) return;
    Address pc = native_architecture().pc(registers);
    if (const PatchedSite* site = space->sites.breakpoint_at(pc - 1)) {
      siginfo_t info;
      if (ptrace(PTRACE_GETSIGINFO, thread.tid, 0, &info) != 0) return;
      if (move_on(thread, registers, site->trampoline, info)) signal_is_ours(thread);
      return;
    }
    if (const TracingTrap* trap = space->traps.tracing_trap_before(pc)) {
      thread.signal = 0;
      return works_.hold_for(
          {.kind = DeferredWork::kTracing, .pid = thread.process->pid, .tid = thread.tid, .tracing = trap->call}, thread);
    }
    if (!space->traps.is_behind_linker_trap(pc)) return;
    thread.signal = 0;
    works_.hold_for({DeferredWork::kLibraries, thread.process->pid, thread.tid}, thread);
  }
}

}  // namespace spile::engine
