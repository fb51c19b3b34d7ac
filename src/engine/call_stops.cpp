#include "engine/call_stops.h"

#include <errno.h>
#include <sys/syscall.h>

#include <algorithm>
#include <utility>

#include "abi/system_calls.h"
#include "abi/watched_calls.h"
#include "engine/process/call_restriction.h"

namespace spile::engine {
namespace {

// i386 has two calls that return from a signal's handler.
bool returns_from_handler(uint64_t number) { return number == SYS_rt_sigreturn || abi::is_old_sigreturn(number); }

// Notes that the thread enters a call. Returns whether the call is to be reported: not if a handler in the process reports it.
bool enter_call(Thread& thread, const ThreadChange& change) {
  const abi::Registers& call = change.registers;
  CallState& state = thread.calls;
  AddressSpace* space = thread.process->space.get();
  state.number = call.site_id;
  state.is_open = false;
  bool handler_may_report = std::exchange(state.handler_may_report, false);
  if (call.site_id == SYS_rt_sigreturn && space) CallWatch::return_to_call(*space, thread, abi::stack_pointer(call));
  if (std::exchange(state.handler_reports, false)) return false;
  auto same = std::ranges::find_if(state.interrupted, [&](const InterruptedCall& each) {
    return each.stack_pointer == abi::stack_pointer(call) && (each.number == call.site_id || call.site_id == SYS_restart_syscall);
  });
  if (same != state.interrupted.end()) {
    state.is_open = true;
    state.number = same->number;
    state.interrupted.erase(same, state.interrupted.end());
    return false;
  }
  state.is_open = thread.process->stops_at_calls;
  if (!handler_may_report || !space || space->calls.is_unwanted()) return state.is_open;
  bool handler_reports = CallWatch::handler_has_reported(*space, thread, call);
  // If its site has gone meanwhile, no handler reports its return.
  state.is_open = !handler_reports || !space->in_code(Address(abi::program_counter(call)));
  return !handler_reports;
}

// Notes that the thread leaves a call. Completes `change`, and returns whether the caller is to report it.
bool leave_call(Thread& thread, const ThreadRegisters& registers, ThreadChange& change) {
  change.kind = ThreadChange::Kind::kSystemCallReturn;
  CallState& state = thread.calls;
  bool was_open = std::exchange(state.is_open, false);
  if (returns_from_handler(std::exchange(state.number, 0))) {
    // Its result is that of the call which the signal has interrupted.
    const abi::Registers& returned = change.registers;
    if (state.interrupted.empty() || state.interrupted.back().stack_pointer != abi::stack_pointer(returned) ||
        static_cast<int64_t>(abi::system_call_result(returned)) != -EINTR) {
      return false;
    }
    change.registers.site_id = state.interrupted.back().number;
    state.interrupted.pop_back();
    return true;
  }
  if (!was_open) return false;  // the thread was in the call when it was attached or born
  if (!native_architecture().restarts_system_call(registers)) return true;
  // A call that a signal's handler jumps out of is never made again.
  if (state.interrupted.size() == kMostInterrupted) state.interrupted.erase(state.interrupted.begin());
  state.interrupted.push_back({abi::stack_pointer(change.registers), change.registers.site_id});
  return false;
}

}  // namespace

void CallStops::finish_watched_call(const DeferredWork& work) {
  Process* process = tracer_.find_process(work.pid);
  if (process && process->space) {
    std::shared_ptr<AddressSpace> space = process->space;
    bool in_process = space->calls.is_by_handlers();
    std::string restriction = call_restriction_by(space->memory, work.call);
    Result<void> changed;
    if (!restriction.empty()) {
      bool for_good = abi::added_filter(work.call.site_id, work.call) != 0;  // also for what it executes
      for (Process* user : space->users) user->call_restriction = for_good ? restriction : user->call_restriction;
      space->calls.restrict(restriction);
    }
    if (in_process && (!restriction.empty() || abi::adds_executable_memory(work.call.site_id, work.call))) {
      changed = calls_.trace(*space, restriction.empty() ? "it makes memory executable" : restriction);
      if (Thread* thread = tracer_.find_thread(work.tid)) thread->calls.handler_reports = true;
    }
    if (changed.ok() && !restriction.empty()) changed = arming_.leave_calls(*space, work.at_call ? 0 : work.tid);
    arming_.note_failure(*space, work.pid, changed, &own_);
  }
  works_.release_hold(work.tid);
}

void CallStops::finish_sharers(const DeferredWork& work) {
  if (Process* process = tracer_.find_process(work.pid); process && process->space) {
    std::shared_ptr<AddressSpace> space = process->space;
    std::vector<SiteOutcome> none;
    calls_.settle(*space, none);
  }
  if (work.tid != 0) works_.release_hold(work.tid);
}

void CallStops::finish_slots(const DeferredWork& work) {
  if (Process* process = tracer_.find_process(work.pid); process && process->space) {
    std::shared_ptr<AddressSpace> space = process->space;
    arming_.add_slots(*space, work.pid, work.client);
  }
  works_.release_hold(work.tid);
}

void CallStops::system_call_stopped(Thread& thread) {
  const Architecture& machine = native_architecture();
  ThreadRegisters registers;
  if (!machine.read_registers(thread.tid, registers).ok()) return;
  AddressSpace* space = thread.process->space.get();
  if (space && !CallWatch::is_program_call(*space, machine.pc(registers))) return;  // a handler asks who runs
  ThreadChange change{.kind = ThreadChange::Kind::kSystemCall, .pid = thread.process->pid, .tid = thread.tid};
  change.registers = machine.call_registers(thread.tid, registers);
  bool enters = machine.enters_system_call(thread.tid);
  bool restricts = enters && abi::may_judge_places(change.registers.site_id, change.registers);
  if (restricts && space && space->is_mapped() && !space->calls.is_restricted()) {  // of code without a site
    works_.hold_for(
        {.kind = DeferredWork::kWatchedCall, .pid = change.pid, .tid = change.tid, .call = change.registers, .at_call = true},
        thread);
  }
  bool is_reported = enters ? enter_call(thread, change) : leave_call(thread, registers, change);
  if (is_reported) options_.events.watch_threads(change);
}

}  // namespace spile::engine
