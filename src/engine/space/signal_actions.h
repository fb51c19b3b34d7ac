#pragma once
// A program's actions for the signals that our code raises in it: SIGSEGV and SIGBUS where a handler meets a bad pointer,
// SIGTRAP at breakpoints. The program never sees these signals. But if the thread blocks or ignores one, the kernel has set
// the action to SIG_DFL and unblocked the signal before any tracer sees it (force_sig_info_to_task in kernel/signal.c): then
// both are put back. So the actions are read while all is well: when a process is armed, a thread is born or a handler meets
// a bad pointer. One that was set since is not known: then its predecessor's return is the best there is. Of a signal that is ignored it can't be known whether it was blocked, too: it stays unblocked.

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

// Of handlers of ours: SA_SIGINFO | SA_ONSTACK | SA_RESTART | SA_RESTORER.
inline constexpr uint64_t kHandlerFlags = 0x1c000004;

// REQUIRES: the space has scratch memory.
Result<SignalAction> read_action(RemoteCalls& calls, const AddressSpace& space, int signal);
Result<void> set_action(RemoteCalls& calls, const AddressSpace& space, int signal, const SignalAction& action);

// A thread is born, or the process armed. Whether learn_signal_actions() may find something new: where another signal is
// handled than at the last look, or that is 20 ms ago. status: of a thread of the process.
bool should_learn_actions(const Process& process, const ProcessStatus& status);
// Reads them, by a thread that is stopped and held (or kept still). Without scratch memory it does nothing.
Result<void> learn_signal_actions(Tracer& tracer, Process& process, Thread& thread);

// When this signal of ours has come to the thread. Whether the kernel may have reset its action, or there is none and ours can stand
// there (fault_guard.h): then mend_signal_action() is due, which learns the others too.
bool should_mend_action(const Thread& thread, int signal);
// Puts back what the kernel reset for a thread that is stopped and held, and sets ours where there is none. An error says which action
// is lost, if it was never read.
Result<void> mend_signal_action(Tracer& tracer, Thread& thread, int signal);

// Ours become SIG_DFL, by a thread of the process.
Result<void> take_back_actions(RemoteCalls& calls, Process& process);

}  // namespace spile::engine
