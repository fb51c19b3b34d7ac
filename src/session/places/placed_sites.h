#pragma once
// Notes which processes have loaded the files that the script probes, and makes warnings about processes and files without: the
// user must not mistake a count of 0 for that of a place that was watched. A place is a site of the script. Thread rule: one
// thread.

#include <sys/types.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "sema/terms/program.h"

namespace spile::session {

class PlacedSites {
 public:
  using Clock = std::chrono::steady_clock;
  // program: must outlive this.
  explicit PlacedSites(const sema::Program& program) : program_(program) {}

  // Notes the processes and files of a report; a refused site counts, since refusals are reported elsewhere.
  void note(const engine::ArmReport& report);
  // Notes that a process executes another program now. path: of that program.
  void note_exec(pid_t pid, const std::string& path);

  // Notes that these processes, which the user has named, should have places. It may take time until they do: a process may be
  // between two programs that it executes, or only start the processes that have places.
  void expect_places_in(const std::set<pid_t>& processes);
  // Expects no more places in a process that has ended.
  void note_end(pid_t pid) { without_places_.erase(pid); }
  // Returns a warning, once, about each named process that has had no places for `since`, if no other process has had any.
  std::vector<std::string> still_without_places(Clock::duration since);
  // Returns a warning, once, about each process that had places, then executed another program, and has had none there for
  // `since`: libraries with places may be loaded some time after the exec.
  std::vector<std::string> left_by_exec(Clock::duration since);
  // Returns one warning about all files that no process has loaded; empty: processes have loaded all of them.
  std::vector<std::string> never_loaded() const;

 private:
  // Returns the number of sites in each file.
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
