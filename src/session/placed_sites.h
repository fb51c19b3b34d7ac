#pragma once
// Which files that the script has places in were met in which process, so that no count is 0 because nobody could look.

#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "sema/program.h"

namespace spile::session {

class PlacedSites {
 public:
  explicit PlacedSites(const sema::Program& program) : program_(program) {}

  // Whatever became of the sites: refusals are told elsewhere.
  void note(const engine::ArmReport& report);
  // A process runs another program now.
  void note_exec(pid_t pid, const std::string& path);

  // A warning about each of these processes that has no place of the script's so far.
  std::vector<std::string> without_places(const std::set<pid_t>& processes) const;
  // A warning about each of these processes that had places and has executed something without any, since asked last.
  std::vector<std::string> left_by_exec(const std::set<pid_t>& processes);
  // One warning about all files that no process has loaded; none where there are none.
  std::vector<std::string> never_loaded() const;

 private:
  // How many sites each file has.
  std::map<std::string, size_t> wanted() const;

  const sema::Program& program_;
  std::set<std::string> met_;  // files
  std::set<pid_t> placed_;
  std::map<pid_t, std::string> executed_;  // of those that had places
};

}  // namespace spile::session
