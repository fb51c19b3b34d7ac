#pragma once
// A program's actions for the signals that our code raises in it: SIGSEGV and SIGBUS where a handler meets a bad pointer,
// SIGTRAP at breakpoints. The program never sees these signals. But if the thread blocks or ignores one, the kernel has set
// the action to SIG_DFL and unblocked the signal before any tracer sees it (force_sig_info_to_task in kernel/signal.c): then
// both are put back. So the actions are read while all is well: when a process is armed, a thread is born or a handler meets
// a bad pointer. An action that was set since is not known; then the one before it is put back. Whether an ignored signal was
// blocked, too, can't be known: it stays unblocked.

#include <sys/types.h>

#include <cstdint>

#include "base/result.h"
#include "engine/process/known_actions.h"
#include "engine/process/process_status.h"

namespace spile::engine {

class RemoteCalls;
class Tracer;
struct AddressSpace;
struct Process;
struct Thread;

// Flags of our own actions: SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_RESTORER.
inline constexpr uint64_t kHandlerFlags = 0x1c000004;

// Read or set one action, by calls of a thread of the process. REQUIRES: the space has scratch memory (AddressSpace::scratch).
Result<SignalAction> read_action(RemoteCalls& calls, const AddressSpace& space, int signal);
Result<void> set_action(RemoteCalls& calls, const AddressSpace& space, int signal, const SignalAction& action);

// Returns whether learn_signal_actions() is due when a thread is born or the process is armed: other signals are handled than at
// the last reading, that reading was 20 ms ago (more where readings take long), or an action of ours that stood before can be set
// again. status: of a thread of the process.
bool should_learn_actions(const Process& process, const ProcessStatus& status);
// Reads the actions for our three signals into Process::actions, by calls of a thread that is stopped and held (or kept still),
// and sets ours again where it stood before. Does nothing without scratch memory.
Result<void> learn_signal_actions(Tracer& tracer, Process& process, Thread& thread);

// Returns whether mend_signal_action() is due when a signal that our code has raised comes to the thread: the kernel may have
// reset its action, or the program has none and ours can be set (fault_guard.h).
bool should_mend_action(const Thread& thread, int signal);
// Puts back the action that the kernel has reset, by calls of a thread that is stopped and held; sets ours where the program has
// none; reads the others. Fails if the action was never read (the error says which one is lost), or if the thread can't make
// calls.
Result<void> mend_signal_action(Tracer& tracer, Thread& thread, int signal);

// Sets actions of ours back to SIG_DFL, by calls of a thread of the process; leaves others alone. Does nothing without scratch
// memory.
Result<void> take_back_actions(RemoteCalls& calls, Process& process);

}  // namespace spile::engine
