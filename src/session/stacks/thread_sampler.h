#pragma once
// Samples of running threads, taken by the kernel (perf_event_open(2)). timer.profile samples by a clock of the thread's own CPU
// time in user space, whose first period is a random part of the others; hardware watchpoints sample at every access. Each thread
// has events and a ring of its own. The program is neither stopped nor sent a signal: handlers run in spile a little later, about
// the registers and the stack as they were; those of one drain() in the order of their times. Samples that do not fit into a ring
// are lost and counted. Thread rule: one thread.

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "abi/arena.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/engine.h"
#include "sema/terms/program.h"

namespace spile::session {

class ThreadSampler {
 public:
  // A reader that runs ten times a second, and not at each sample, has its instructions and tables in the processor's caches but
  // the first time.
  static constexpr int64_t kLongestPatienceNs = 100'000'000;
  // Runs a probe's handler. probe: index into sema::Program::probes. Subject::time_ns is that of CLOCK_MONOTONIC. stack: the
  // thread's bytes from the run-time address Subject::stack_begin on, as they were; valid during the call. Empty: none were
  // copied.
  using Run = std::function<void(int probe, const abi::Subject& subject, std::span<const char> stack)>;
  // Returns the run-time address of a data symbol of a module in a process; 0: the process does not have it.
  using Locate = std::function<uint64_t(pid_t pid, const sema::Site& site)>;
  // Notes the script's timer.profile probes and watchpoints that run in the controller; program is not kept.
  ThreadSampler(const sema::Program& program, Run run, Locate locate);
  ~ThreadSampler();

  // Returns whether the script has such probes; without them, the functions below do nothing.
  bool samples() const { return !wishes_.empty(); }
  // Samples all threads of these processes, and later those that on_change() reports. Prints a warning about the first thread
  // that can't be sampled. Errors: none of the threads can be.
  Result<void> start(const std::vector<pid_t>& processes);
  // Begins to sample a new thread or program, or ends sampling a thread; runs the handlers of its last samples first. REQUIRES:
  // called from within the engine, while the thread stands still.
  void on_change(const engine::ThreadChange& change);
  // Samples threads of these processes that on_change() has not reported.
  void catch_up(const std::vector<pid_t>& processes);
  // Runs the handlers of samples taken since the last call.
  void drain();
  // Returns how long samples may wait for drain() before they fill half of a ring, in ns: at most kLongestPatienceNs.
  int64_t patience_ns() const { return patience_ns_; }
  // Readable when drain() is to be called earlier: a thread has its first sample, and is sampled on from drain() on. -1: absent.
  int first_samples_fd() const { return first_samples_.get(); }
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
  // Returns whether the ring has a sample before `head` that has not been run, and its time; takes the records of other kinds
  // before it.
  bool find_next(Ring& ring, uint64_t head, uint64_t& time);
  // Runs the handler of the sample that find_next() has found.
  void take_next(Ring& ring);
  void drain(Ring& ring);
  void finish(Ring& ring);
  void run_sample(const Ring& ring, const char* record, size_t size);

  std::vector<Wish> wishes_;
  Run run_;
  Locate locate_;
  bool wants_stack_;
  int64_t patience_ns_;
  UniqueFd first_samples_;  // epoll(7): the rings whose period is to be set
  bool running_ = false;
  bool warned_ = false;
  uint64_t lost_ = 0;
  Profile profile_;
  std::mt19937_64 random_{std::random_device{}()};
  std::map<pid_t, std::vector<std::unique_ptr<Ring>>> rings_;  // by tid
};

}  // namespace spile::session
