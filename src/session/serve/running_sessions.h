#pragma once
// Which sessions run on this machine, as `spile list` shows them: asks each one (status_socket.h), and looks at /proc for what a
// session can't say.
//
// The process number, the user, the times and states are the kernel's. Command lines, names of processes and the answers are
// texts of other processes: they may have any bytes, and are bounded here; whoever prints them escapes them.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "session/serve/status_socket.h"

namespace spile::session {

struct ProcessFacts {
  pid_t pid = 0;
  uid_t uid = 0;
  std::string name;  // /proc/PID/comm
};

// eBPF of a session, by the descriptors that it has open.
struct KernelParts {
  uint64_t programs = 0, links = 0;
  std::optional<uint64_t> runs;  // of all programs; null: the kernel does not count them (sysctl kernel.bpf_stats_enabled)
};

struct RunningSession {
  ProcessFacts process;
  std::vector<std::string> command;     // arguments, the program's name first
  int64_t started = 0;                  // the process, seconds since the epoch; 0: not known
  std::optional<SessionStatus> status;  // null: it did not answer
  std::string why_silent;               // "it is stopped"
  std::vector<ProcessFacts> processes;  // those of its answer that exist; of a silent session, those that it traces
  std::optional<KernelParts> kernel;    // null: they can't be looked at
};

// A process with handlers of a session that is not in the list.
struct OtherProcess {
  ProcessFacts process;
  // that arms them: of another user, or out of reach; 0: its spile was killed, and the handlers do nothing
  pid_t tracer = 0;
  uid_t tracer_uid = 0;
};

struct ArmedNow {
  std::vector<RunningSession> sessions;  // by number
  std::vector<OtherProcess> others;      // by number
  std::vector<pid_t> left_in_kernel;     // killed spiles of which tracefs still has events
  std::vector<ProcessFacts> unreadable;  // processes of this user whose memory map can't be read
};

// Looks at all sessions and processes that this user may look at: root at all, others at their own. Waits 1 s at most for each
// session's answer.
ArmedNow find_armed();

// Null: no process has the number.
std::optional<ProcessFacts> facts_of(pid_t pid);

}  // namespace spile::session
