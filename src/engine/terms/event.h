#pragma once
// What happens to traced processes and threads.

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "abi/trampoline.h"
#include "base/result.h"
#include "engine/terms/arm_report.h"

namespace spile::engine {

struct Event {
  enum class Kind {
    kProcessStarted,   // pid was forked by `parent`, and is traced (and armed as its parent is)
    kProcessExecuted,  // pid runs a new program, `path`; armed anew
    kProcessExited,    // status as of waitpid
    kModuleLoaded,     // path; after arming
    kModuleUnloaded,   // path
    kArmed,            // report: sites armed on behalf of an exec or a late module
    kOtherExited,      // a child of the controller that the engine has not launched has ended: status as of waitpid
    kTrouble,          // message: something that went wrong for pid only
    kCallsInProcess,   // handlers in pid report its system calls from now on
    kCallsTraced,      // watch_threads reports them; message: why
    kReleased,         // pid is not traced any more, as another program is about to trace it; message: which
  };
  Kind kind;
  pid_t pid = 0;
  pid_t parent = 0;
  int status = 0;
  std::string path = {};
  std::string message = {};
  ArmReport report = {};
};

// Something in the life of a thread or process. The thread stands still while the watcher looks at it, unless it has ended.
struct ThreadChange {
  enum class Kind {
    kProcessBorn,   // by fork or vfork; it has run nothing yet
    kExecuted,      // the new program has run nothing yet
    kThreadBorn,
    kThreadEnding,  // of any thread, the first too; not reported of threads that are killed in some ways
    kThreadEnded,   // of threads but a process's first
    kProcessEnded,
    kSystemCall,        // before the call; only with watch_system_calls, and where no handlers in the process report it
    kSystemCallReturn,  // after it
  };
  Kind kind;
  pid_t pid = 0, tid = 0;
  abi::Registers registers{};  // of system calls; site_id is the call's number
};

using ThreadWatcher = std::function<void(const ThreadChange&)>;

// What became of the processes that descend from those attached to.
struct Descendants {
  std::vector<pid_t> traced;
  std::vector<Error> refused;  // one for each that can't be traced, and why
};

}  // namespace spile::engine
