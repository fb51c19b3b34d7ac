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

  // From here on these processes, which the user has named, should have places of the script's. One may be between two programs that
  // it executes in turn, or only start those that have them.
  void expect_places_in(const std::set<pid_t>& processes);
  // It need not have any more.
  void note_end(pid_t pid) { without_places_.erase(pid); }
  // A warning, once, about each of those that has had none for `since`, nor any process that it may have started.
  std::vector<std::string> still_without_places(Clock::duration since);
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
  std::set<pid_t> named_, without_places_;
  Clock::time_point expected_since_;
  struct Executed {
    std::string path;
    Clock::time_point at;
  };
  std::map<pid_t, Executed> executed_;  // of those that had places
};

}  // namespace spile::session
