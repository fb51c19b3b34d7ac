#pragma once
// Stops of threads at signals: those that our code raises (breakpoints, traps, loads of bad pointers in handlers), which the
// program never sees, and faults of the program's own in our code (shown_faults.h). A fault of a handler that no fix-up foresees
// is a fault of ours, or of a bundle that somebody has changed: the thread is taken out of the handler and goes on, and the
// client is to end.

#include <signal.h>

#include <map>
#include <optional>

#include "engine/process_lives.h"
#include "engine/tracing_context.h"

namespace spile::engine {

class SignalStops {
 public:
  SignalStops(const TracingContext& context, ProcessLives& lives)
      : tracer_(context.tracer),
        calls_(context.calls),
        arming_(context.arming),
        reports_(context.reports),
        works_(context.works),
        lives_(lives) {}

  // Moves the thread on and drops the signal (Thread::signal becomes 0) if our code has raised it; queues work that follows from
  // it.
  void signal_arrived(Thread& thread);

  // Takes a thread out of a handler that does not end: an endless loop is a fault of ours, or of a bundle that somebody has
  // changed. Returns false if it is in no handler, or its registers can't be found again. REQUIRES: it stands still.
  bool leave_endless_handler(Thread& thread);

  // The following functions perform works of DeferredWork's kinds, and take the hold off the thread.

  // kLibraries: arms libraries, after the dynamic linker has changed its list of them.
  void finish_libraries(const DeferredWork& work);
  // kTracing: releases the process that the thread is about to trace, or its own.
  void finish_tracing(const DeferredWork& work);
  // kActions, kResetAction: learns, or puts back, the program's actions for signals that our code raises.
  void finish_signal(const DeferredWork& work);
  // kOverwritten: takes out sites that another tracer has written into, the rest of one of which the thread has met.
  void finish_overwritten(const DeferredWork& work);

 private:
  void mend(Thread& thread, int signal);
  // The handler that a place in the process's memory belongs to.
  struct HandlerPlace {
    ClientId id;
    Client* client;
    Region* region;
  };
  std::optional<HandlerPlace> handler_at(Thread& thread, Address pc);
  std::optional<ThreadRegisters> behind_handler(const Thread& thread, const HandlerPlace& place, ThreadRegisters registers) const;
  void return_in_flags(Thread& thread, const HandlerPlace& place, const ThreadRegisters& registers, uint64_t flags);
  bool clear_flags_in_handler(Thread& thread);
  std::optional<HandlerPlace> redirect_fault(Thread& thread);
  // The handler that a thread has been taken out of, and where its code was left.
  struct LeftHandler {
    Client* client;
    ThreadRegisters registers;  // with which the thread can go on
    uint64_t offset;
  };
  std::optional<LeftHandler> leave_at(Thread& thread);
  bool leave_handler(Thread& thread);
  void bell_rung(const AddressSpace& space, Thread& thread, const Bell& bell, const HandlerPlace& place);
  void signal_is_ours(Thread& thread);
  bool is_caught(const AddressSpace& space, Thread& thread);

  Tracer& tracer_;
  CallWatch& calls_;
  Arming& arming_;
  EventReports& reports_;
  WorkQueue& works_;
  ProcessLives& lives_;
  std::map<pid_t, int> left_;  // by thread: how often it was taken out of a handler
};

}  // namespace spile::engine
