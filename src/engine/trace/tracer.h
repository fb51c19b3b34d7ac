#pragma once
// ptrace bookkeeping: which threads of which processes are traced, what stopped them, and how they are let go so that
// they don't notice. All waiting for children of any kind goes through here.
//
//   running --PTRACE_INTERRUPT, signal, event--> stopped --resume()--> running
//                                                   \--resume() of a group-stop--> listening (PTRACE_LISTEN)
//
// Receiving a status does the bookkeeping and calls the listener at once; unless the thread's process is being kept
// still, or the listener put a hold on the thread, it goes on immediately. What needs more than that (arming, system
// calls in the target) is queued by the listener and done at the engine's top level, while the hold keeps the thread.
//
// A Tracer belongs to the thread that created it (ptrace's rule).

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/types.h>

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/arch/architecture.h"
#include "engine/process/known_actions.h"
#include "engine/process/process_status.h"
#include "engine/terms/options.h"
#include "engine/trace/interrupted_wait.h"

namespace spile::engine {

struct AddressSpace;
struct Process;

enum class StopKind : uint8_t {
  kTrap,        // PTRACE_EVENT_STOP: interrupted, or newly born; nothing to deliver
  kGroupStop,   // the process is stopped by SIGSTOP, SIGTSTP, SIGTTIN or SIGTTOU
  kSignal,      // `signal` is about to be delivered
  kEvent,       // Thread::event: within fork, clone, exec, whose system call has not returned yet; or at the thread's end
  kSystemCall,  // PTRACE_SYSCALL
};

// A call that has been reported and will be made again, or end with EINTR after a signal's handler.
struct InterruptedCall {
  uint64_t stack_pointer, number;
};
inline constexpr size_t kMostInterrupted = 4;

// What is known of a thread's system call, for probes on calls.
struct CallState {
  bool is_open = false;                      // its begin has been reported, its return has not
  uint64_t number = 0;                       // of the call whose begin ptrace has stopped at
  std::vector<InterruptedCall> interrupted;  // the newest last
  Address moved_from, moved_to;  // the thread was moved from its call to the second for a signal's handler; 0: it was not
  // A handler in the process has reported the begin, and will report the return.
  bool handler_reports = false;
  bool handler_may_report = false;  // perhaps: the thread stood in a handler when ptrace began to report
};

// Where a thread that has the program's handler running was shown to be (shown_faults.h), and its stack pointer there.
struct ShownFault {
  Address place, stack_pointer;
};

struct Thread {
  pid_t tid = 0;
  Process* process = nullptr;
  bool running = true;  // or listening
  bool listening = false;
  bool gone = false;  // has ended or was released; the object stays until Tracer::forget_ended_threads()
  StopKind kind = StopKind::kTrap;
  int signal = 0;                // to be delivered when resumed
  int event = 0;                 // PTRACE_EVENT_* of kEvent
  bool in_vfork = false;         // waits in the kernel for a vfork child, and can't be stopped
  bool pc_unchecked = false;     // it could not be stopped while patches may have been made: its pc may lie in one
  bool makes_our_calls = false;  // its system calls are ours, not its program's
  CallState calls;
  bool is_at_end() const;                // whether it is in its last system call, and runs nothing of its program any more
  bool keeps_number = false;             // it stops before it ends: Tracer::keep_number
  std::vector<ShownFault> shown_faults;  // the newest last; its system calls are watched while there are any
  bool introduced = false;               // thread_identities.h
  uint64_t thread_pointer = 0;           // by which tables know it; 0: they don't
  uint64_t parents_pointer = 0;          // the thread pointer of the thread that it was born of; 0 of those that were seized
  int holds = 0;                         // not resumed while positive
  std::optional<InterruptedWait> wait;   // its system calls are watched while there is one
  std::optional<SleepMark> sleep;        // from before a stop that is to come
};

struct Process {
  pid_t pid = 0;
  uint64_t serial = 0;  // counts the processes that a Tracer has met, from 1
  pid_t parent = 0;     // the traced process that forked it, or in whose memory it was found; 0 if launched or attached
  bool launched = false;
  std::map<pid_t, std::unique_ptr<Thread>> threads;
  std::shared_ptr<AddressSpace> space;  // set by the listener; null until then
  SignalActions actions;
  int keep_still = 0;          // its threads are not resumed while positive
  bool stops_at_calls = true;  // stops at system calls, if TraceWishes::system_calls
  bool gained_rights = false;  // more than those have who share the arena with it: it, or a parent, executed a set-uid program
  uint32_t executed = 0;       // so many programs since it is traced
  // why its system calls, and those of programs that it executes, must not have sites; empty: they may
  std::string call_restriction;
};

// Whether both processes run in one memory. Where the kernel can't answer that (no CONFIG_KCMP), only children of vfork do.
// event: PTRACE_EVENT_* at which one of them bore the other; 0: none.
bool share_memory(pid_t a, pid_t b, int event);

// PTRACE_O_* options of every traced thread.
inline constexpr long kTraceOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                                      PTRACE_O_TRACEEXEC | PTRACE_O_TRACEVFORKDONE;

// Called within functions of the Tracer that receive statuses: pump(), keep_still(), await_stop() and all that wait by them. Must
// not call these itself; may hold() the thread. Threads go on when the call returns, unless they are held or kept still.
class TraceListener {
 public:
  virtual ~TraceListener() = default;
  // child: new, its first thread waits for its first stop. status: that thread's.
  virtual void process_forked(Thread& parent, Process& child, const ProcessStatus& status, bool shares_memory) = 0;
  // Its first thread is the only one now, and stands at the exec.
  virtual void process_executed(Process& process) = 0;
  // status: as of waitpid. The Process is deleted afterwards.
  virtual void process_exited(Process& process, int status) = 0;
  // A child of this process has ended that is not traced.
  virtual void stranger_exited(pid_t pid, int status) = 0;
  // thread.signal is about to be delivered; the listener may change it, and registers.
  virtual void signal_arrived(Thread& thread) = 0;
  // At each stop of any kind, after the function for that kind.
  virtual void thread_stopped(Thread& thread) = 0;
  // Of threads other than a process's first: born, not yet run; and ended.
  virtual void thread_born(Thread& /*parent*/, Thread&, const ProcessStatus&) {}
  virtual void thread_ended(Thread&) {}
  // With TraceWishes::ends: it stands at its very end (any thread).
  virtual void thread_ending(Thread&) {}
  // With TraceWishes::system_calls: before or after a call of the program's own.
  virtual void system_call_stopped(Thread&) {}
  // At a system call of a thread that has shown_faults.
  virtual void shown_fault_ends(Thread&) {}
};

// What threads stop at, beside what the engine needs.
struct TraceWishes {
  bool ends = false;
  bool system_calls = false;
};

// How long to wait for a process of which no thread can be stopped: for example, all sleep uninterruptibly (state D).
// keep_waiting may end the wait earlier.
struct Patience {
  uint64_t most_ms = 10'000;
  KeepWaiting keep_waiting;  // may be empty
};

class Tracer {
 public:
  using Clock = std::chrono::steady_clock;

  // Blocks SIGCHLD in the calling thread until destruction. listener: outlives the Tracer.
  static Result<std::unique_ptr<Tracer>> create(TraceListener& listener, TraceWishes wishes = {});
  ~Tracer();

  // Traces all threads of a running process; they go on running. Fails if it is traced already, here or elsewhere. The Process
  // belongs to the Tracer, and is deleted when its end is received, or by release().
  Result<Process*> seize(pid_t pid);
  // Traces the children of a process that run in its memory (vforked before it was seized), their children, and so on. They go on
  // running. A child that can't be seized is left out.
  std::vector<Process*> seize_sharers(Process& process);
  // Traces a child of ours that waits to exec. It goes on running; TraceListener::process_executed() is called at its exec.
  Result<Process*> seize_child(pid_t pid);

  const std::map<pid_t, std::unique_ptr<Process>>& processes() const { return processes_; }
  // Finds a traced process by its number, or returns nullptr.
  Process* find_process(pid_t pid);
  // The first process whose serial is greater than `after`, or nullptr. For going through all processes while any of them may
  // end, or give birth to more: parents come before their children.
  Process* next_process(uint64_t after);
  // Finds a traced thread by its number, or returns nullptr.
  Thread* find_thread(pid_t tid);

  // Returns a descriptor of the Tracer's that becomes readable when pump() may have something to receive.
  int wait_fd() const { return wait_fd_.get(); }
  // Receives the statuses that have come, though not for much longer than 20 ms; waits for the first up to timeout_ms (-1: for
  // ever). Returns whether something was received.
  bool pump(int timeout_ms);

  // Keeps all threads of the processes still until let_go(), which takes back one call of this. Fails, and lets them go, if no
  // further thread stops for patience_ms. Threads in uninterruptible sleep or in vfork are only sure to stop before they run user
  // code again; they come back with pc_unchecked set. Meanwhile a process may end (it is deleted), or execute another program (it
  // is not kept any more).
  Result<void> keep_still(const std::vector<Process*>& processes, uint64_t patience_ms);
  // REQUIRES: none of the processes has ended.
  void let_go(const std::vector<Process*>& processes);

  void be_patient(Patience patience) { patience_ = std::move(patience); }
  // Pumps for 20 ms. Fails when the patience is at its end: the error says what the process waits for. since: when the waiting
  // began.
  Result<void> wait_for_sleeper(pid_t pid, Clock::time_point since);

  // Keeps a thread from being resumed once it has stopped; a running thread runs on until then.
  void hold(Thread& thread) { thread.holds++; }
  // Makes a running thread stop soon (PTRACE_INTERRUPT).
  void interrupt(Thread& thread);
  // Takes one hold off, and resumes the thread if nothing else keeps it. Does nothing to a thread that is gone. REQUIRES: it is
  // held.
  void unhold(Thread& thread);

  // Brings a stopped thread to kTrap or kGroupStop, where its registers are those of user space and system calls can
  // be injected: delivers a pending signal, finishes an event's system call. It executes no instruction of its own.
  // REQUIRES: the thread is kept still or held.
  Result<void> settle(Thread& thread);
  // Waits, without a limit, until the thread is not running: for its next stop, of whatever kind. Fails if it ends. REQUIRES: as
  // settle, and something makes it stop.
  Result<void> await_stop(Thread& thread);

  // Delivers Thread::signal, if there is one, and runs one instruction. A signal that arrives instead is in Thread::signal then.
  // REQUIRES: as settle.
  Result<void> step(Thread& thread);

  // Detaches from all threads (PTRACE_DETACH), delivering pending signals. A thread that can't be let go now (it waits in vfork,
  // or sleeps uninterruptibly) is let go at its next stop: pump() until all_released(). Deletes the Process. REQUIRES: the
  // process is kept still.
  void release(Process& process);
  // Whether no released thread is still traced.
  bool all_released() const { return leaving_.empty(); }

  // Deletes ended threads, which are kept until here since callers may point to them. REQUIRES: nobody does.
  void forget_ended_threads() { graveyard_.clear(); }

  // Makes threads stop at their ends from now on, as with TraceWishes::ends, except threads that can't be stopped within
  // patience_ms.
  void stop_at_ends(uint64_t patience_ms);
  // Returns the PTRACE_O_* options that the thread is traced with.
  long options(const Thread& thread) const { return options() | (thread.keeps_number ? PTRACE_O_TRACEEXIT : 0); }

 private:
  bool are_many() const { return threads_.size() > 256; }
  bool sweep();
  bool receive_one(pid_t tid);
  bool receive_likely();
  void note_likely(pid_t tid);
  bool receive_ends(pid_t pid, pid_t but);
  bool receive_stops(const std::vector<Process*>& processes);
  explicit Tracer(TraceListener& listener) : listener_(listener) {}
  Thread& add_thread(Process& process, pid_t tid);
  Process& add_process(pid_t pid);
  Result<void> seize_threads(Process& process);
  void receive(pid_t tid, int status);
  void receive_exit(pid_t tid, int status);
  void receive_leaving(pid_t tid, int status);
  void let_leave(pid_t tid, int status);
  void receive_event(Thread& thread, int event);
  void receive_birth(Thread& parent, int event);
  void receive_exec(Thread& thread);
  long options() const { return kTraceOptions | (wishes_.ends ? PTRACE_O_TRACEEXIT : 0); }
  void resume_unless_kept(Thread& thread);
  bool keep_number(Thread& thread);
  bool stops_at_calls(const Thread& thread) const;
  void expect_end_of_wait(const InterruptedWait& wait);
  void interrupt_waits_that_are_over();
  void mark_sleep(Thread& thread);
  void resume(Thread& thread);
  bool all_still(const std::vector<Process*>& processes, bool allow_blocked);

  TraceListener& listener_;
  TraceWishes wishes_;
  Patience patience_;
  UniqueFd signal_fd_, sweep_timer_, wait_timer_;
  UniqueFd wait_fd_;               // all three
  std::array<pid_t, 8> likely_{};  // the threads from which statuses were received last
  size_t next_likely_ = 0;
  bool owes_sweep_ = false;                                // something has come since the last sweep
  Clock::time_point next_sweep_;                           // of all threads, where they are many
  Clock::time_point next_end_ = Clock::time_point::max();  // of an interrupted wait: when wait_timer_ expires
  sigset_t original_mask_;
  std::map<pid_t, std::unique_ptr<Process>> processes_;
  uint64_t met_ = 0;  // how many processes it has met
  std::unordered_map<pid_t, Thread*> threads_;
  std::vector<std::unique_ptr<Thread>> graveyard_;  // ended threads that callers may still point to
  std::unordered_map<pid_t, int> early_;            // first stops of children whose birth is not yet reported
  std::set<pid_t> leaving_;                         // released threads that only their next stop lets go
  std::set<pid_t> departed_;                        // threads ended by an exec, whose end is still to be reported
};

}  // namespace spile::engine
