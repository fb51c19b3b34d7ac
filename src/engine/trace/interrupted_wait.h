#pragma once
// Calls in which a thread waits, and which a stop would end: the kernel wakes the thread, and ends the call with EINTR or
// makes it again with all of its time (signal(7), "Interruption of system calls"). Here such a call is made again, and ended when
// the time is over that it had at first.
//
//   call of 1 s |----- 0.4 s ---[stop] made again, for 1 s |------ 0.6 s ------[our stop: its result becomes that of a time-out]
//
// Neither the registers of its arguments nor the memory that they point to change, so that nothing is left behind if spile is
// killed meanwhile: the call then takes the time that it had begun anew. The same happens if the thread is released in it.
//
// A thread with a time is let run to the entry and the exit of its calls (PTRACE_SYSCALL), which show that the call has ended;
// otherwise the next one could be taken for it. Calls with absolute times, and those that the kernel itself makes again with the
// time that is left (restart_syscall(2)), need nothing. But restart_syscall may be what a seccomp filter does not let pass: a
// thread under a filter makes the call itself again.
//
// All functions are for the tracer's thread; the thread `tid` stands still. The calls are the program's own, not those that we
// have a thread make (remote_call.h).

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>

namespace spile::engine {

using WaitClock = std::chrono::steady_clock;

// A call with a time, which is being made again.
struct InterruptedWait {
  uint64_t number = 0;  // of the system call
  std::array<uint64_t, 6> arguments{};
  uint64_t stack_pointer = 0;
  WaitClock::time_point until;
  int64_t when_over = 0;  // its result then

  bool is_over() const { return WaitClock::now() >= until; }
};

// When a thread was switched out last, by the clock of its processor (/proc/PID/task/TID/sched), and the call that it sleeps in
// (/proc/PID/task/TID/syscall). Read before a stop and at the stop, it shows how long the thread has slept in its call before.
struct SleepMark {
  int64_t switched_out = 0;  // ns; while it runs, something later
  int64_t migrations = 0;    // so often it has changed the processor, and thereby the clock
  int64_t voluntary = 0;     // so often it went to sleep by itself
  uint64_t call = 0;         // its number
  std::array<uint64_t, 6> arguments{};
  uint64_t stack_pointer = 0;

  // Empty: the thread does not sleep in a call, or the kernel does not say so. A thread that was woken and waits for a processor
  // has slept in another call than the next that it makes.
  static std::optional<SleepMark> read(pid_t tid);
};

// At a stop in the kernel: has a call made again that the stop, or a signal that nobody handles, has interrupted, unless a
// handler is going to run. Sets `wait` to the time of that call; to empty without such a call, or where it has no time-out.
// mark: from before the stop; where it is empty, or does not show when the call began, the time of the call begins now.
void repeat_interrupted_call(pid_t tid, std::optional<InterruptedWait>& wait, const std::optional<SleepMark>& mark);
// At the entry or exit of a system call: the same, and empties `wait` if its call has ended.
void meet_system_call(pid_t tid, std::optional<InterruptedWait>& wait, const std::optional<SleepMark>& mark);
// Ends the call if its time is over and it would be made again. REQUIRES: `wait` is not empty. It is if the call was ended.
void end_wait_if_over(pid_t tid, std::optional<InterruptedWait>& wait);

}  // namespace spile::engine
