#pragma once
// The places of probes on allocators (process.allocator("NAME")), which are in no file that the script names: they are looked for
// in each file that a traced process maps. Also notes the programs whose allocations can't be seen, for warnings: the user must
// not mistake that for a program that allocates nothing. Thread rule: one thread.

#include <sys/types.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "engine/engine.h"
#include "sema/terms/program.h"

namespace spile::session {

class AllocatorSites {
 public:
  using Clock = std::chrono::steady_clock;
  // Both must outlive this.
  AllocatorSites(const sema::Program& program, const codegen::TargetCode& code);

  // Returns whether the script has such probes; without, the other functions do nothing.
  bool are_wanted() const { return !site_by_role_.empty(); }
  // Returns the sites in one file that a process has mapped, and notes what can't be seen there. As engine::ModuleResolver.
  std::vector<engine::SiteRequest> in_module(pid_t pid, const engine::Module& mapped);

  // Notes that a process runs a program, in which functions that give memory should be found.
  void note_program(pid_t pid, const std::string& path);
  // Notes where such functions were armed.
  void note(const engine::ArmReport& report);
  // Returns a warning, once, about each program in which none was armed for `since`, and about allocations that can't be seen.
  std::vector<std::string> unseen(Clock::duration since);

 private:
  bool shows_allocator(const engine::SiteOutcome& outcome) const;

  const sema::Program& program_;
  const codegen::TargetCode& code_;
  std::map<size_t, size_t> site_by_role_;   // probes::AllocatorRole, site id
  bool wants_gifts_ = false;                // the script probes functions that give memory
  std::map<pid_t, std::string> programs_;   // by process
  std::set<std::string> seen_, own_heaps_;  // paths of programs; of files
  std::map<std::string, Clock::time_point> awaited_;
  std::vector<std::string> warnings_;
};

}  // namespace spile::session
