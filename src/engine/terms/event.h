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
    kProcessExecuted,  // pid runs a new program, `path`; report: how the Engine's own sites were armed in it
    kProcessExited,    // status as of waitpid; 0 where it is not known, since another program traced pid at its end
    kModuleLoaded,     // path; reported before the kArmed of its sites
    kModuleUnloaded,   // path
    kArmed,            // report: sites armed in pid outside of arm(): in a late module, a fork, or a process that was attached to
    kOtherExited,      // a child of the controller that the engine has not launched has ended: status as of waitpid
    kTrouble,          // message: something that went wrong for pid only
    kCallsInProcess,   // handlers in pid report its system calls from now on
    kCallsTraced,      // watch_threads reports them from now on; message: why
    kReleased,         // pid is not traced any more, as another program is about to trace it; message: which
    kHandlerLeft,      // a handler of the client's could not go on in pid, and was left; message: why. The client should end
  };
  Kind kind;
  pid_t pid = 0;
  pid_t parent = 0;  // of kProcessStarted; of kProcessExited 0 if pid was launched or attached
  int status = 0;
  std::string path = {};
  std::string message = {};
  ArmReport report = {};
};

// Something in the life of a thread or process. The thread stands still while the watcher looks at it, unless it has ended.
struct ThreadChange {
  enum class Kind {
    kProcessBorn,  // by fork or vfork; it has run nothing yet
    kExecuted,     // the new program has run nothing yet
    kThreadBorn,
    kThreadEnding,  // of any thread, the first too; not reported of threads that are killed in some ways
    kThreadEnded,   // of threads but a process's first
    kProcessEnded,
    kSystemCall,        // before the call; only with watch_system_calls, and where no handlers in the process report it
    kSystemCallReturn,  // after it, under the same conditions
  };
  Kind kind;
  pid_t pid = 0, tid = 0;      // tid: pid, where the change is that of a process
  abi::Registers registers{};  // of system calls; site_id is the call's number
};

// Called on the engine's thread, from within functions of the Engine; may call modules() and processes() alone.
using ThreadWatcher = std::function<void(const ThreadChange&)>;

// What became of the processes that descend from those attached to.
struct Descendants {
  std::vector<pid_t> traced;
  std::vector<Error> refused;  // one for each descendant that can't be traced: which one, and why
};

}  // namespace spile::engine
