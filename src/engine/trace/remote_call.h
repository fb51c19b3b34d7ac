#pragma once
// System calls made by a stopped thread of the target on our behalf.
//
// The thread is sent to a `syscall` instruction that exists in its memory (nothing is written into its text), runs to
// the call's entry and exit (PTRACE_SYSCALL; no SIGTRAP is involved, so the target's handling of it doesn't matter),
// and gets its registers back. Signals are blocked meanwhile and arrive later with everything that came with them. An
// interrupted system call of its own is restarted by the kernel as if nothing had been: the last step is a
// PTRACE_INTERRUPT stop, after which the kernel looks at the restored registers as it does after any interruption.
//
// If the controller is killed in the middle, the thread returns from the call into a signal frame that was laid below
// its stack, and goes on where it was (where the program's memory has the few instructions that this takes).
//
// A seccomp filter is suspended meanwhile where spile has the right to (CAP_SYS_ADMIN, and a kernel with
// CONFIG_CHECKPOINT_RESTORE). Where it has not, the thread is left alone, as the call might kill it, unless spile itself runs
// under as many filters: then they are those that both were started with, in a container for example.

#include <signal.h>

#include <initializer_list>
#include <vector>

#include "engine/process/target_memory.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

class RemoteCalls {
 public:
  // Settles the thread and makes it ready for calls. Fails where calls might harm it (see above), where it has ended, and where
  // the process executes another program meanwhile; that program is left as it is. REQUIRES: the thread is kept still or held
  // until finish(); memory is its process's, and outlives the object.
  static Result<RemoteCalls> begin(Tracer& tracer, Thread& thread, const SystemCallText& text, const TargetMemory& memory);
  RemoteCalls(RemoteCalls&& other) noexcept;
  RemoteCalls& operator=(RemoteCalls&&) = delete;
  // Calls finish() if that was not called, and ignores its error.
  ~RemoteCalls();

  // Makes a system call with up to six arguments, and waits for its end. Returns its result, or its errno as an Error that names
  // `what`. Fails also if the thread ends or executes another program. After any failure finish() is still to be called.
  Result<uint64_t> call(const char* what, uint64_t number, std::initializer_list<uint64_t> arguments);
  // Leaves the thread as it was before begin(), at kTrap or kGroupStop. Does nothing if the thread has ended. No call() may
  // follow.
  Result<void> finish();

 private:
  RemoteCalls(Tracer& tracer, Thread& thread, const SystemCallText& text, const TargetMemory& memory)
      : tracer_(&tracer), thread_(&thread), text_(text), memory_(&memory), executed_(thread.process->executed) {}
  Result<void> suspend_seccomp();
  void spread_net();
  Result<void> check_program();
  Result<void> next_stop();

  Tracer* tracer_;
  Thread* thread_;
  SystemCallText text_;
  const TargetMemory* memory_;
  uint32_t executed_ = 0;             // of the process, at begin()
  RecoveryFrame frame_;               // at 0: no frame was written
  std::vector<uint8_t> below_stack_;  // what stood where the frame stands
  ThreadRegisters saved_;
  uint64_t saved_mask_ = 0;
  bool active_ = false;
  bool seccomp_suspended_ = false;
  std::vector<int> deferred_;  // stop signals that can't be blocked
};

}  // namespace spile::engine
