#pragma once
// What is known of the actions for signals that a program has set (space/signal_actions.h reads them).

#include <cstdint>
#include <map>

namespace spile::engine {

// struct sigaction as rt_sigaction(2) takes it.
struct SignalAction {
  uint64_t handler, flags, restorer, mask;
};

// What is known of one process.
struct SignalActions {
  std::map<int, SignalAction> known;  // of signals that have a handler or are ignored
  uint64_t lost = 0;                  // signals whose lost actions have been reported
  uint64_t handled = 0;               // those of ours that had a handler or were ignored at the last look
  uint64_t read_ns = 0;               // when that was, CLOCK_MONOTONIC
  uint64_t took_ns = 0;               // and what it took
  uint64_t met = 0;                   // those for which ours has stood: it is set again as soon as there is one
  bool refused = false;               // no calls can be made to set one
};

}  // namespace spile::engine
