#pragma once
// What changes in the system while handlers in the kernel are attached, and costs hits: the kernel's switches (bpf::SwitchedOff),
// and processors that come and go. Each change is said once when it is seen, and the hits that it cost at the end. Thread rule:
// one thread.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bpf/bpf.h"

namespace spile::session {

class KernelWatch {
 public:
  // kernel must outlive this, and be attached at each call but losses().
  explicit KernelWatch(bpf::Kernel& kernel) : kernel_(kernel) {}

  // Looks at what is due; called some times a second. now: of CLOCK_MONOTONIC.
  void look(int64_t now);
  // Looks for the last time, before the programs are detached.
  void finish(int64_t now);
  // Returns warnings about hits that are missing.
  std::vector<std::string> losses() const;

 private:
  void look_at_switches(int64_t now);
  void look_at_processors();

  struct Off {
    bpf::SwitchedOff found;
    int64_t since_ns = 0, all_ns = 0;  // since_ns: 0: it is on
  };

  bpf::Kernel& kernel_;
  int64_t looked_ns_ = 0;           // at the switches; 0: not yet
  std::map<std::string, Off> off_;  // by SwitchedOff::file
  std::set<int> renewed_;           // processors
  bool cpu_refused_ = false;        // an event, which a warning has said
};

}  // namespace spile::session
