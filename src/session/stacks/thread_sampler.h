#pragma once
// Samples of running threads, taken by the kernel (perf_event_open(2)). timer.profile samples by a clock of the thread's own CPU time in
// user space, whose first period is a random part of the others; hardware watchpoints sample at every access. Each thread has events and
// a ring of its own. The program is neither stopped nor sent a signal: handlers run in spile a little later, about the registers and the
// stack as they were. Samples that do not fit into a ring are lost and counted. Thread rule: one thread.

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "abi/arena.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/engine.h"
#include "sema/program.h"

namespace spile::session {

class ThreadSampler {
 public:
  // Runs a probe's handler. probe: index into sema::Program::probes. stack: the thread's bytes from the run-time address
  // Subject::stack_begin on, as they were; valid during the call. Empty: none were copied.
  using Run = std::function<void(int probe, const abi::Subject& subject, std::span<const char> stack)>;
  // Returns the run-time address of a data symbol of a module in a process; 0: the process does not have it.
  using Locate = std::function<uint64_t(pid_t pid, const sema::Site& site)>;
  // Notes the script's timer.profile probes and watchpoints that run in the controller; program is not kept.
  ThreadSampler(const sema::Program& program, Run run, Locate locate);
  ~ThreadSampler();

  // Returns whether the script has such probes; without them, the functions below do nothing.
  bool samples() const { return !wishes_.empty(); }
  // Samples all threads of these processes, and later those that on_change() reports. Prints a warning about the first thread that can't be
  // sampled. Errors: none of the threads can be.
  Result<void> start(const std::vector<pid_t>& processes);
  // Begins to sample a new thread or program, or ends sampling a thread; runs the handlers of its last samples first. REQUIRES: called from
  // within the engine, while the thread stands still.
  void on_change(const engine::ThreadChange& change);
  // Samples threads of these processes that on_change() has not reported.
  void catch_up(const std::vector<pid_t>& processes);
  // Runs the handlers of samples taken since the last call.
  void drain();
  // Runs the handlers of all samples that are left, and closes all events.
  void stop();
  // Returns the number of samples that did not fit into a ring; complete after stop().
  uint64_t lost() const { return lost_; }
  // The sums of timer.profile over threads that have ended; complete after stop().
  struct Profile {
    uint64_t samples = 0, threads = 0, period_ns = 0;
    uint64_t unseen_ns = 0;  // processor time, the kernel's included, of threads without a sample
  };
  const Profile& profile() const { return profile_; }

 private:
  struct Wish {
    int probe;
    sema::ProbeKind kind;
    int64_t interval_ns;
    sema::Site site;
    bool reads_too;
  };
  struct Ring;
  Result<std::unique_ptr<Ring>> open(const Wish& wish, pid_t pid, pid_t tid);
  void add_thread(pid_t pid, pid_t tid);
  void drain(Ring& ring);
  void finish(Ring& ring);
  void run_sample(const Ring& ring, const char* record, size_t size);

  std::vector<Wish> wishes_;
  Run run_;
  Locate locate_;
  bool wants_stack_;
  bool running_ = false;
  bool warned_ = false;
  uint64_t lost_ = 0;
  Profile profile_;
  std::mt19937_64 random_{std::random_device{}()};
  std::map<pid_t, std::vector<std::unique_ptr<Ring>>> rings_;  // by tid
};

}  // namespace spile::session
