#pragma once
// What is known of the actions for signals that a program has set (space/signal_actions.h reads them).

#include <cstdint>
#include <map>

namespace spile::engine {

// struct sigaction as rt_sigaction(2) takes it. handler: a run-time address, or SIG_IGN.
struct SignalAction {
  uint64_t handler, flags, restorer, mask;
};

// What is known of one process.
struct SignalActions {
  std::map<int, SignalAction> known;  // of signals that have a handler or are ignored
  // Sets of signals, of which bit N-1 stands for signal N:
  uint64_t lost = 0;     // their lost actions have been reported
  uint64_t handled = 0;  // of ours, those that had a handler or were ignored when actions were last read
  // our action has stood for them; it is set again as soon as the program's is the default one
  uint64_t met = 0;
  uint64_t read_ns = 0;  // when actions were last read, CLOCK_MONOTONIC in ns; 0: never
  uint64_t took_ns = 0;  // how long that took, in ns
  bool refused = false;  // no system calls can be made to set an action
};

}  // namespace spile::engine
