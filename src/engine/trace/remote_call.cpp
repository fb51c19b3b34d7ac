#include "engine/trace/remote_call.h"

#include <errno.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "engine/process/call_restriction.h"
#include "engine/process/memory_map.h"

namespace spile::engine {

Result<RemoteCalls> RemoteCalls::begin(Tracer& tracer, Thread& thread, const SystemCallText& text, const TargetMemory& memory) {
  if (thread.gone) return Error{fmt::format("thread {} has ended", thread.tid), ""};
  RemoteCalls calls(tracer, thread, text, memory);
  TRY_DO(tracer.settle(thread));
  TRY_DO(calls.check_program());
  TRY_DO(calls.suspend_seccomp());
  if (is_dispatched(thread.tid, memory, text.call)) {
    return Error{
        fmt::format("thread {} gets a signal for each system call where it stands now (PR_SET_SYSCALL_USER_DISPATCH), also for "
                    "those made on our behalf",
                    thread.tid),
        "try again"};
  }
  TRY_DO(native_architecture().read_registers(thread.tid, calls.saved_));
  if (ptrace(PTRACE_GETSIGMASK, thread.tid, sizeof calls.saved_mask_, &calls.saved_mask_) != 0) {
    return Error::from_errno("read a thread's signal mask", errno);
  }
  calls.spread_net();
  // From here on the thread goes through the net if we vanish: its next instruction is a harmless system call.
  ThreadRegisters registers = calls.saved_;
  native_architecture().set_system_call(registers, text.call, calls.frame_.at, SYS_getpid, {});
  TRY_DO(native_architecture().write_registers(thread.tid, registers));
  calls.active_ = true;
  thread.makes_our_calls = true;
  uint64_t all = ~uint64_t{0};
  if (ptrace(PTRACE_SETSIGMASK, thread.tid, sizeof all, &all) != 0) {
    return Error::from_errno("set a thread's signal mask", errno);
  }
  return calls;
}

// Without a net (a program that lacks the instructions, a stack that has no room) all works as well.
void RemoteCalls::spread_net() {
  if (!text_.recovers()) return;
  auto frame = native_architecture().build_recovery_frame(thread_->tid, saved_, saved_mask_, text_.restore);
  if (!frame.ok()) return;
  // All of it must lie in the stack, not in a guard page or in other memory below.
  auto map = MemoryMap::read(thread_->process->pid);
  const Mapping* stack = map.ok() ? map->find(native_architecture().sp(saved_).value) : nullptr;
  if (!stack || !stack->writable || frame->at.value < stack->begin) return;
  below_stack_.resize(frame->bytes.size());
  if (!memory_->read(frame->at, below_stack_).ok() || !memory_->write(frame->at, frame->bytes).ok()) return;
  frame_ = std::move(frame).value();
}

Result<void> RemoteCalls::suspend_seccomp() {
  std::string mode = process_status(thread_->tid, "Seccomp");
  if (mode.empty() || mode == "0") return {};
  seccomp_suspended_ = ptrace(PTRACE_SETOPTIONS, thread_->tid, 0, tracer_->options(*thread_) | PTRACE_O_SUSPEND_SECCOMP) == 0;
  // A filter that both have inherited lets pass what it lets us do ourselves.
  if (seccomp_suspended_ || (mode == "2" && is_filtered_as_we_are(thread_->tid))) return {};
  return refusal_for_filter(thread_->tid);
}

RemoteCalls::RemoteCalls(RemoteCalls&& other) noexcept
    : tracer_(other.tracer_),
      thread_(other.thread_),
      text_(other.text_),
      memory_(other.memory_),
      executed_(other.executed_),
      frame_(std::move(other.frame_)),
      below_stack_(std::move(other.below_stack_)),
      saved_(other.saved_),
      saved_mask_(other.saved_mask_),
      active_(std::exchange(other.active_, false)),
      seccomp_suspended_(other.seccomp_suspended_),
      deferred_(std::move(other.deferred_)) {}

RemoteCalls::~RemoteCalls() {
  // A thread that has ended needs nothing more.
  if (active_) (void)finish();
}

// Refuses to go on if the process has executed another program: the registers that were saved are not that program's.
Result<void> RemoteCalls::check_program() {
  if (thread_->gone || thread_->process->executed == executed_) return {};
  active_ = thread_->makes_our_calls = false;
  return Error{fmt::format("process {} executes another program now", thread_->process->pid), ""};
}

// Whether it stands where it is because of its own instruction: the kernel's codes are positive (sigaction(2)).
bool has_faulted(pid_t tid) {
  siginfo_t info{};
  return ptrace(PTRACE_GETSIGINFO, tid, 0, &info) == 0 && info.si_code > 0;
}

Result<void> RemoteCalls::next_stop() {
  for (;;) {
    if (ptrace(PTRACE_SYSCALL, thread_->tid, 0, 0) != 0 && errno != ESRCH) {
      return Error::from_errno("run a thread to a system call", errno);
    }
    thread_->running = true;
    TRY_DO(tracer_->await_stop(*thread_));
    TRY_DO(check_program());
    if (thread_->kind == StopKind::kSystemCall) return {};
    // The text of the call has gone.
    if (thread_->kind == StopKind::kSignal && has_faulted(thread_->tid)) {
      return Error{fmt::format("thread {} gets {} where it is to make a system call for us", thread_->tid,
                               sigabbrev_np(std::exchange(thread_->signal, 0))),
                   ""};
    }
    if (thread_->kind == StopKind::kSignal) deferred_.push_back(std::exchange(thread_->signal, 0));
  }
}

Result<uint64_t> RemoteCalls::call(const char* what, uint64_t number, std::initializer_list<uint64_t> arguments) {
  TRY_DO(check_program());
  const Architecture& machine = native_architecture();
  ThreadRegisters registers = saved_;
  machine.set_system_call(registers, text_.call, frame_.at, number, {arguments.begin(), arguments.size()});
  TRY_DO(machine.write_registers(thread_->tid, registers));
  TRY_DO(next_stop());  // on the way in
  TRY_DO(next_stop());  // on the way out
  TRY_DO(machine.read_registers(thread_->tid, registers));
  int64_t result = machine.system_call_result(registers);
  if (result < 0 && result > -4096) {
    return Error::from_errno(fmt::format("{} in process {}", what, thread_->process->pid), static_cast<int>(-result));
  }
  return static_cast<uint64_t>(result);
}

Result<void> RemoteCalls::finish() {
  TRY_DO(check_program());
  if (!std::exchange(active_, false) || thread_->gone) return {};
  // The order matters: until the registers are its own again, the thread goes through the net.
  ptrace(PTRACE_SETSIGMASK, thread_->tid, sizeof saved_mask_, &saved_mask_);
  if (seccomp_suspended_) ptrace(PTRACE_SETOPTIONS, thread_->tid, 0, tracer_->options(*thread_));
  TRY_DO(native_architecture().write_registers(thread_->tid, saved_));
  if (frame_.at != Address()) TRY_DO(memory_->write(frame_.at, below_stack_));
  // settle() interrupts the thread, and lets it run until it is about to return to user space.
  thread_->kind = StopKind::kSystemCall;
  auto settled = tracer_->settle(*thread_);
  thread_->makes_our_calls = false;
  TRY_DO(settled);
  for (int signal : std::exchange(deferred_, {})) syscall(SYS_tgkill, thread_->process->pid, thread_->tid, signal);
  return {};
}

}  // namespace spile::engine
