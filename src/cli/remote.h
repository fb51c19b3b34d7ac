#pragma once
// --remote: compiles the script here, sends it as a bundle with spile-run to other machines by the system's ssh, runs it there,
// and merges what comes back, a line at a time, with the machine's name before it.

#include <string>
#include <vector>

#include "base/result.h"
#include "session/terms/options.h"

namespace spile::cli {

// hosts: as ssh takes them, "[user@]host". processes: of -x, numbers or names of processes there. Returns the exit status: 0, or
// 1 if the script is wrong or a machine failed, which has been reported; a machine that fails does not stop the others. Ctrl-C
// ends the script on all of them, and waits for their output. $SPILE_SSH, if set, is used in place of "ssh". Errors: a program
// named by the script is not here to compile for; -x without such a program; spile-run is not installed beside spile; ssh can't
// be started. REQUIRES: called once in a process, while it has one thread.
Result<int> run_remotely(const std::vector<std::string>& hosts, const session::Options& options,
                         const std::vector<std::string>& processes);

}  // namespace spile::cli
