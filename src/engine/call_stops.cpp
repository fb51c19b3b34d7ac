#include "engine/call_stops.h"

#include <errno.h>
#include <sys/syscall.h>

#include <algorithm>
#include <utility>

#include "abi/watched_calls.h"
#include "engine/process/call_restriction.h"

namespace spile::engine {
namespace {

// Before the call. False: the call is not to be reported, or a handler in the process reports it.
bool enter_call(Thread& thread, const ThreadChange& change) {
  const abi::Registers& call = change.registers;
  thread.call_number = call.site_id;
  thread.in_call = false;
  bool may_be_told = std::exchange(thread.may_be_told, false);
  if (call.site_id == SYS_rt_sigreturn && thread.process->space) CallWatch::return_to_call(*thread.process->space, thread, call.rsp);
  if (std::exchange(thread.call_is_told, false)) return false;
  auto same = std::find_if(thread.interrupted.begin(), thread.interrupted.end(), [&](const InterruptedCall& each) {
    return each.stack_pointer == call.rsp && (each.number == call.site_id || call.site_id == SYS_restart_syscall);
  });
  thread.in_call = same != thread.interrupted.end() || thread.process->stops_at_calls;
  if (same == thread.interrupted.end()) {
    bool concerns = thread.process->space && thread.process->space->calls_gap != kNobodysCalls;
    bool told = may_be_told && concerns && CallWatch::told_by_handler(*thread.process->space, thread, call);
    if (!may_be_told || !concerns) return thread.in_call;
    // Where its site has gone meanwhile, no handler tells of its return.
    thread.in_call = !told || !thread.process->space->in_code(Address(call.rip));
    return !told;
  }
  thread.call_number = same->number;
  thread.interrupted.erase(same, thread.interrupted.end());
  return false;
}

// After the call. Completes `change`, which the caller reports. False: the return is not to be reported.
bool leave_call(Thread& thread, const ThreadRegisters& registers, ThreadChange& change) {
  change.kind = ThreadChange::Kind::kSystemCallReturn;
  bool in_call = std::exchange(thread.in_call, false);
  if (std::exchange(thread.call_number, 0) == SYS_rt_sigreturn) {
    // What it returns is that of the call which the signal has interrupted.
    const abi::Registers& returned = change.registers;
    if (thread.interrupted.empty() || thread.interrupted.back().stack_pointer != returned.rsp ||
        static_cast<int64_t>(returned.rax) != -EINTR) {
      return false;
    }
    change.registers.site_id = thread.interrupted.back().number;
    thread.interrupted.pop_back();
    return true;
  }
  if (!in_call) return false;  // what it was in when it was attached or born
  if (!native_architecture().restarts_system_call(registers)) return true;
  // What a handler jumps out of is never made again.
  if (thread.interrupted.size() == kMostInterrupted) thread.interrupted.erase(thread.interrupted.begin());
  thread.interrupted.push_back({change.registers.rsp, change.registers.site_id});
  return false;
}

}  // namespace

void CallStops::finish_watched_call(const DeferredWork& work) {
  Process* process = tracer_.find_process(work.pid);
  if (process && process->space) {
    std::shared_ptr<AddressSpace> space = process->space;
    bool in_process = space->calls_gap.empty();
    std::string restriction = call_restriction_by(space->memory, work.call);
    Result<void> changed;
    if (!restriction.empty()) {
      bool for_good = abi::added_filter(work.call.site_id, work.call) != 0;  // also for what it executes
      for (Process* user : space->users) user->judged = for_good ? restriction : user->judged;
      space->call_restriction = restriction;
    }
    if (in_process && (!restriction.empty() || abi::adds_executable_memory(work.call.site_id, work.call))) {
      changed = calls_.trace(*space, restriction.empty() ? "it makes memory executable" : restriction);
      if (Thread* thread = tracer_.find_thread(work.tid)) thread->call_is_told = true;
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
  change.registers = machine.script_registers(registers);
  bool enters = machine.enters_system_call(thread.tid);
  bool restricts = enters && abi::may_judge_places(change.registers.site_id, change.registers);
  if (restricts && space && space->is_mapped() && space->call_restriction.empty()) {  // of code without a site
    works_.hold_for({.kind = DeferredWork::kWatchedCall, .pid = change.pid, .tid = change.tid, .call = change.registers, .at_call = true}, thread);
  }
  bool told = enters ? enter_call(thread, change) : leave_call(thread, registers, change);
  if (told) options_.watch_threads(change);
}

}  // namespace spile::engine
