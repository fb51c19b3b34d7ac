// System calls of the program, at their instructions (abi/trampoline.h, kSystemCall). The register of a call's number has its
// result afterwards, so the number has to be remembered; nothing may lie on the program's stack meanwhile (clone, vfork,
// rt_sigreturn). It is found again by the stack pointer, which distinguishes a call, the calls of a signal handler that
// interrupts it, and a new thread, which has none pending.
//
// A call that makes memory executable is reported to the controller, as code may lie there that nobody has probed, and so is what
// makes it matter where calls come from: a load from an address that is never mapped stops the thread
// (engine/calls/call_watch.h).

#include "abi/watched_calls.h"
#include "runtime/core/core.h"

namespace spile::rt {

namespace {

// In the child too, with 0, unless it has memory of its own.
SPILE_INLINE inline bool returns_twice(uint64_t number) {
#if defined(__NR_fork)
  return number == __NR_clone || number == __NR_fork || number == __NR_vfork || number == __NR_clone3;
#else
  return number == __NR_clone || number == __NR_clone3;
#endif
}

SPILE_INLINE inline abi::PendingCall* find_call(abi::ThreadSlot* slot, uint64_t stack_pointer) {
  for (uint32_t i = 0; i < abi::kPendingCalls; ++i) {
    if (slot->calls[i].stack_pointer == stack_pointer) return &slot->calls[i];
  }
  return nullptr;
}

SPILE_INLINE inline bool never_returns(uint64_t number) {
  return number == __NR_rt_sigreturn || number == __NR_exit || number == __NR_exit_group;
}

// The newest first. What is left behind by calls that don't return all the same (a signal handler jumps out of one, a child of
// vfork execs) makes room when it is the oldest. Only ever changed in a handler that has been entered, so by one at a time.
SPILE_INLINE inline void remember_call(abi::ThreadSlot* slot, uint64_t stack_pointer, uint64_t number) {
  abi::PendingCall* known = find_call(slot, stack_pointer);
  if (!known) known = find_call(slot, 0);
  if (!known) known = &slot->calls[abi::kPendingCalls - 1];
  for (; known != slot->calls; --known) *known = known[-1];
  known->number = number;
  known->stack_pointer = stack_pointer;
}

SPILE_COLD void ring(const abi::Registers* registers) {
  uint64_t nothing;
  if (!controller_gone(arena_header())) (void)load_word<8>(abi::kCallBell + reinterpret_cast<uint64_t>(registers), &nothing);
}

// Also where the probes themselves say nothing now: what that code calls would be missed later.
SPILE_INLINE inline void ring_for_watched(const abi::Registers* registers) {
  uint64_t number = abi::system_call_number(*registers);
  if (unlikely(abi::adds_executable_memory(number, *registers) || abi::may_judge_places(number, *registers))) ring(registers);
}

}  // namespace

extern "C" {

SPILE_INLINE bool spile_rt_call_enter(Context* context, const void* block) {
  const abi::Registers* registers = static_cast<const abi::Registers*>(block);
  if (load_relaxed(&process_table()->calls_are_traced)) {
    if (unlikely(abi::may_judge_places(abi::system_call_number(*registers), *registers))) ring(registers);
    return false;
  }
  if (!spile_rt_enter(context)) {
    ring_for_watched(registers);
    return false;
  }
  uint64_t number = abi::system_call_number(*registers);
  if (!never_returns(number)) remember_call(context->slot, abi::stack_pointer(*registers), number);
  context->call_number = number;
  ring_for_watched(registers);
  return true;
}

SPILE_INLINE bool spile_rt_call_exit(Context* context, const void* block) {
  const abi::Registers* registers = static_cast<const abi::Registers*>(block);
  // Without a guard first: a new thread may still have the thread pointer of the one that made it.
  if (!spile_rt_enter_light(context)) return false;
  abi::PendingCall* call = find_call(context->slot, abi::stack_pointer(*registers));
  uint64_t number = call ? call->number : 0;
  bool pending = call && !(abi::system_call_result(*registers) == 0 && returns_twice(number));
  if (pending) call->stack_pointer = 0;
  // The thread that comes back from such a call is known by another slot than before.
  if (!call && has_moved_thread_pointer(*registers) && !load_relaxed(&process_table()->calls_are_traced)) {
    pending = true;
    number = kThreadPointerCall;
  }
  spile_rt_leave_light(context);
  if (!pending || !spile_rt_enter(context)) return false;
  context->call_number = number;
  return true;
}

}  // extern "C"

}  // namespace spile::rt
