#pragma once
// What happens every so often while a script runs. A ticker that fell behind acts once, and goes on from then. Thread rule: one
// thread.

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"

namespace spile::session {

class Tickers {
 public:
  using Act = std::function<Result<void>()>;
  // Has `act` called every `every_ns`, for the first time at `first_ns` of CLOCK_MONOTONIC.
  void add(int64_t first_ns, int64_t every_ns, Act act) { tickers_.push_back({first_ns, every_ns, std::move(act)}); }
  // Returns when the next one is due; INT64_MAX: there is none.
  int64_t next_ns() const;
  // Calls those that are due by `now`, in the order in which they were added. Errors: the first of an act, which ends the call.
  Result<void> run_due(int64_t now);

 private:
  struct Ticker {
    int64_t next_ns;
    int64_t every_ns;
    Act act;
  };
  std::vector<Ticker> tickers_;
};

}  // namespace spile::session
