#pragma once
// Ends handlers that run in spile, and can't go on: code of a bundle that somebody has changed, C code of a guru, a fault of
// spile's own. A signal of their faults (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP), or a loop that does not end, gives control
// back to the call of the handler, instead of killing spile while its probes are in processes.
//
// A handler that loops is ended when a signal that ends spile (SIGINT, SIGTERM, SIGHUP, SIGQUIT) has waited for it, or the run's
// time limit has passed, for kPatienceSeconds of its processor time. A timer counts that time, which never fires while spile
// sleeps.
//
// What the handler changed before stays changed: this is not a sandbox. If spile itself faults after that, it ends at once with
// an error and status 1. Thread rule: one thread, that which made it; one object at a time.

#include <sys/types.h>

#include <array>
#include <csetjmp>
#include <csignal>
#include <ctime>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace spile::session {

class HandlerGuard {
 public:
  static constexpr int kPatienceSeconds = 2;

  // Errors: the kernel gives no timer or no memory.
  static Result<std::unique_ptr<HandlerGuard>> create();
  ~HandlerGuard();
  HandlerGuard(const HandlerGuard&) = delete;
  HandlerGuard& operator=(const HandlerGuard&) = delete;

  // Where a call of a handler goes back to. Not on the stack, which the handler may have overwritten.
  struct Slot {
    sigjmp_buf place;
    int ticks = 0;  // of its processor time, in which it should have ended
  };
  // A call of a handler. Calls nest: code of ours that a handler calls may call another one. The place must be set by
  // sigsetjmp(place, 0), in the frame that has this object, which no frame with a destructor may lie above.
  struct Call {
    explicit Call(HandlerGuard& of) : guard(of), outer(of.current_), place(of.next_slot()) {}
    ~Call() { guard.leave_slot(outer); }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    HandlerGuard& guard;
    Slot* outer;
    sigjmp_buf& place;
  };
  // Goes back to the last sigsetjmp, which returns kReturned. REQUIRES: a handler of this thread has returned.
  static constexpr int kReturned = 2;
  [[noreturn]] static void return_to_call();
  // While code of ours runs that a handler has called: a fault there is a fault of ours.
  struct Pause {
    explicit Pause(HandlerGuard& of) : guard(of), paused(of.current_) { guard.current_ = nullptr; }
    ~Pause() { guard.current_ = paused; }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;
    HandlerGuard& guard;
    Slot* paused;
  };

  // Handlers that run when CLOCK_MONOTONIC has reached this are ended as by a signal; 0: never.
  void set_limit(int64_t monotonic_ns) { limit_ns_ = monotonic_ns; }
  // Returns why the last handler was ended, in words of a message: "died of SIGSEGV". REQUIRES: sigsetjmp has returned another
  // value than 0 and kReturned.
  std::string reason() const;

 private:
  HandlerGuard() = default;
  static void take_fault(int signal, siginfo_t* info, void* context);
  static void take_tick(int signal, siginfo_t* info, void* context);
  bool is_to_end() const;

  static constexpr size_t kMostCalls = 8;
  sigjmp_buf& next_slot();
  void leave_slot(Slot* outer) {
    current_ = outer;
    --depth_;
  }

  std::array<Slot, kMostCalls> slots_;
  size_t depth_ = 0;
  Slot* volatile current_ = nullptr;
  Slot* volatile ended_ = nullptr;  // of the last call, if its handler was ended
  volatile bool has_ended_ = false;
  int64_t limit_ns_ = 0;
  volatile int signal_ = 0;  // of the fault; 0: it did not end
  pid_t thread_ = 0;
  std::unique_ptr<char[]> stack_;
  std::optional<timer_t> timer_;
};

}  // namespace spile::session
