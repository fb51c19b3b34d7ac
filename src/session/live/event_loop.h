#pragma once
// Who is woken when: descriptors that become readable, and moments until which to sleep at most. Thread rule: one thread.

#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include "base/result.h"

namespace spile::session {

class EventLoop {
 public:
  // Adds a source: `act` is called when its descriptor is readable; it returns nothing, or Result<void>. fd is called before each
  // wait; -1: there is no such source now.
  template <typename Act>
  void on_readable(std::function<int()> fd, Act act) {
    if constexpr (std::is_void_v<std::invoke_result_t<Act&>>) {
      sources_.push_back({std::move(fd), [act]() -> Result<void> { return act(), Result<void>(); }});
    } else {
      sources_.push_back({std::move(fd), std::move(act)});
    }
  }
  // Adds a moment, of CLOCK_MONOTONIC in ns, until which to sleep at most. moment is called before each wait, with the time then;
  // INT64_MAX: there is none now.
  void wake_by(std::function<int64_t(int64_t now)> moment) { moments_.push_back(std::move(moment)); }

  // Sleeps until a source is readable, the first of the moments has come, or a signal was handled.
  void wait();
  // Serves the sources that were readable after wait(), in the order in which they were added. Errors: the first of an act, which
  // ends the call.
  Result<void> serve();

 private:
  struct Source {
    std::function<int()> fd;
    std::function<Result<void>()> act;
    bool is_readable = false;
  };
  std::vector<Source> sources_;
  std::vector<std::function<int64_t(int64_t now)>> moments_;
};

}  // namespace spile::session
