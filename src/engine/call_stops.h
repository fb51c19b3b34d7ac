#pragma once
// System calls that ptrace stops at (PTRACE_SYSCALL), before and after: which of them are to be reported. A call that the kernel
// makes again, because a stop of ours or a signal came in between, is one call. And what calls of the program change for the
// probes on calls: executable memory, restrictions, processes that share memory.

#include "engine/tracing_context.h"

namespace spile::engine {

class CallStops {
 public:
  explicit CallStops(const TracingContext& context)
      : options_(context.options),
        tracer_(context.tracer),
        calls_(context.calls),
        arming_(context.arming),
        own_(context.own),
        works_(context.works) {}

  // Reports the call to EngineEvents::watch_threads if that is due, as TraceListener::system_call_stopped().
  void system_call_stopped(Thread& thread);

  // The following functions perform works of the kinds kWatchedCall, kSharers and kSlots, and take the hold off the thread.

  // Notes a restriction that the call makes, and has ptrace report the calls from here on. The thread stands before a call that
  // makes memory executable, or after which it matters where calls come from (call_restriction.h).
  void finish_watched_call(const DeferredWork& work);
  // Decides anew who reports the calls: other processes share the memory of this one now, or no longer.
  void finish_sharers(const DeferredWork& work);
  // Maps more slots of the arena, for which a thread has rung (abi::kSlotBell).
  void finish_slots(const DeferredWork& work);

 private:
  const EngineOptions& options_;
  Tracer& tracer_;
  CallWatch& calls_;
  Arming& arming_;
  Client& own_;
  WorkQueue& works_;
};

}  // namespace spile::engine
