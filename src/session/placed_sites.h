#pragma once
// Which files that the script has places in were met in which process, so that no count is 0 because nobody could look.

#include <sys/types.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "sema/program.h"

namespace spile::session {

class PlacedSites {
 public:
  using Clock = std::chrono::steady_clock;
  explicit PlacedSites(const sema::Program& program) : program_(program) {}

  // Whatever became of the sites: refusals are reported elsewhere.
  void note(const engine::ArmReport& report);
  // A process runs another program now.
  void note_exec(pid_t pid, const std::string& path);

  // A warning about each of these processes that has no place of the script's so far.
  std::vector<std::string> without_places(const std::set<pid_t>& processes) const;
  // A warning, once, about each process that had places, has executed something else, and has had none there for `since`: libraries
  // with places may come some time after the exec.
  std::vector<std::string> left_by_exec(Clock::duration since);
  // One warning about all files that no process has loaded; none where there are none.
  std::vector<std::string> never_loaded() const;

 private:
  // How many sites each file has.
  std::map<std::string, size_t> wanted() const;

  const sema::Program& program_;
  std::set<std::string> met_;  // files
  std::set<pid_t> placed_;
  struct Executed {
    std::string path;
    Clock::time_point at;
  };
  std::map<pid_t, Executed> executed_;  // of those that had places
};

}  // namespace spile::session
