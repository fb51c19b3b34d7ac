#pragma once
// What the objects of a tracing backend (tracing_backend.cpp) share. All belong to the engine's thread.

#include <deque>
#include <functional>
#include <vector>

#include "engine/arming.h"
#include "engine/calls/call_watch.h"
#include "engine/share/guest_host.h"
#include "engine/terms/options.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

// Events on their way to the engine's user, and to the guests that follow their processes.
class EventReports {
 public:
  // To be called before the first report. Both arguments outlive the last one.
  void begin(Arming& arming, const Client& own);
  // Sets who sends events to guests. Null: spile has no guests.
  void set_host(GuestHost* host) { host_ = host; }

  // Reports an event. client: for whom it is; null: for the engine's user, and all guests that follow the process or its parent.
  void report(const Client* client, Event event);
  // Reports to each client, as kArmed, what was armed for it, if anything was. Moves the reports out of `reports`.
  void report_armed(pid_t pid, Reports& reports);
  // Calls the thread watchers of all clients that follow the process.
  void watch(ThreadChange::Kind kind, pid_t pid, pid_t tid) const;

  bool empty() const { return events_.empty(); }
  // Returns the events for the engine's user, in order, and forgets them.
  std::vector<Event> take() { return std::exchange(events_, {}); }
  // Drops the events of a process that never ran its program, and were not taken yet.
  void forget(pid_t pid);

 private:
  Arming* arming_ = nullptr;
  const Client* own_ = nullptr;
  GuestHost* host_ = nullptr;
  std::vector<Event> events_;
};

// Work for a stopped thread that needs more than its registers: performed at the engine's top level, while a hold keeps the
// thread.
struct DeferredWork {
  enum Kind { kExec, kFork, kLibraries, kWatchedCall, kActions, kResetAction, kSharers, kTracing, kSlots, kOverwritten } kind;
  pid_t pid;                       // of the process (kFork: of the child)
  pid_t tid;                       // the held thread; 0: none
  bool anew = false;               // kFork: its parent was being armed, so its copy may be incomplete, and it is armed anew
  int signal = 0;                  // kResetAction
  abi::Registers call{};           // kWatchedCall
  TracingTrap::Call tracing = {};  // kTracing
  bool at_call = false;            // kWatchedCall: it stands at the call itself rather than in its handler
  ClientId client = 0;             // kSlots
};

class WorkQueue {
 public:
  using Perform = std::function<void(const DeferredWork& work)>;
  WorkQueue(Tracer& tracer, Perform perform) : tracer_(tracer), perform_(std::move(perform)) {}

  // Queues work. If it names a thread, the caller has put a hold on that.
  void add(DeferredWork work) { works_.push_back(work); }
  // Queues work and holds the thread, until whoever performs the work calls release_hold().
  void hold_for(DeferredWork work, Thread& thread);
  // Takes one hold off the thread, unless it has ended.
  void release_hold(pid_t tid);
  // Performs queued works in order, and works that these add; at most `most`.
  void perform(size_t most = SIZE_MAX);
  size_t size() const { return works_.size(); }
  bool contains(DeferredWork::Kind kind, pid_t pid) const;

 private:
  Tracer& tracer_;
  Perform perform_;
  std::deque<DeferredWork> works_;
};

struct TracingContext {
  const EngineOptions& options;
  Tracer& tracer;
  CallWatch& calls;
  Arming& arming;
  Client& own;
  EventReports& reports;
  WorkQueue& works;
};

}  // namespace spile::engine
