#pragma once
// Runs the probes on the life of processes (process.begin and its kind) when the engine reports an event. The event's thread
// stands still meanwhile, so what /proc says of it is true. Thread rule: one thread.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "abi/arena.h"
#include "engine/engine.h"
#include "sema/terms/program.h"

namespace spile::session {

// Fills `subject` with pid, tid and what /proc says of the thread now. If the thread is gone, the other fields stay as they were.
void describe_thread(abi::Subject& subject, pid_t pid, pid_t tid);

// Returns the path of the program that a process runs, also where the file was deleted; "": not known.
std::string program_of(pid_t pid);

class ProcessWatch {
 public:
  // Runs a probe's handler about a subject. probe: index into sema::Program::probes. point: index into the probe's points.
  using Run = std::function<void(int probe, size_t point, const abi::Subject& subject)>;
  // Notes the script's probes on the life of processes; program is not kept.
  ProcessWatch(const sema::Program& program, Run run);

  // Return whether the script has probes that this object runs, and whether some are on system calls.
  bool watches_processes() const { return !points_.empty(); }
  bool watches_system_calls() const;
  // Returns whether all, some or none of the probes on system calls are for the program that the process runs.
  engine::CallProbes call_probes_of(pid_t pid) const;

  // Runs the begin probes for all processes that are traced already, and for their threads. Events before start() and after
  // stop() run no probes.
  void start(const std::vector<pid_t>& processes);
  void stop() { running_ = false; }
  // Runs the probes on an event. REQUIRES: called from within the engine, while the thread stands still.
  void on_change(const engine::ThreadChange& change);

 private:
  struct Point {
    sema::ProbeKind kind;
    int probe;
    size_t index;         // of the probe's points
    std::string program;  // path or pattern; "": any
    pid_t process;        // 0: any
  };
  struct Known {
    abi::Subject subject{};  // of the first thread
    std::string program;
    std::set<pid_t> threads;                // beside the first
    std::map<pid_t, abi::Subject> callers;  // threads that made system calls
  };
  static bool is_for(const Point& point, pid_t pid, const std::string& program);
  void add(pid_t pid);
  void end_threads(Known& known);
  void run_end(const Known& known);
  void run(sema::ProbeKind kind, const Known& known, const abi::Subject& subject);

  std::vector<Point> points_;
  Run run_;
  bool running_ = false;
  std::map<pid_t, Known> known_;
};

}  // namespace spile::session
