#pragma once
// Which probes on the life of processes (process.begin and its kind) an event stands for, and who it is about. The event's
// thread stands still meanwhile, so what /proc says of it holds. One thread.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "abi/arena.h"
#include "engine/engine.h"
#include "sema/program.h"

namespace spile::session {

// What /proc says of a thread now; what it doesn't say stays as it was.
void describe_thread(abi::Subject& subject, pid_t pid, pid_t tid);

class ProcessWatch {
 public:
  // run: runs a probe's handler about a subject.
  using Run = std::function<void(int probe, size_t point, const abi::Subject& subject)>;
  ProcessWatch(const sema::Program& program, Run run);

  bool watches_processes() const { return !points_.empty(); }
  bool watches_system_calls() const;
  // Which probes on system calls are for what the process runs.
  engine::CallProbes call_probes_of(pid_t pid) const;

  // Begins for what is there already: all processes that are traced, and their threads.
  void start(const std::vector<pid_t>& processes);
  void stop() { running_ = false; }
  void on_change(const engine::ThreadChange& change);

 private:
  struct Point {
    sema::ProbeKind kind;
    int probe;
    size_t index;        // of the probe's points
    std::string program; // path or pattern; "": any
    pid_t process;       // 0: any
  };
  struct Known {
    abi::Subject subject{};  // of the first thread
    std::string program;
    std::set<pid_t> threads;  // beside the first
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
