#include "engine/stopped_calls.h"

#include <errno.h>
#include <sys/syscall.h>

#include <algorithm>
#include <utility>

#include "engine/calls/call_watch.h"
#include "engine/space/address_space.h"

namespace spile::engine {

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

}  // namespace spile::engine
