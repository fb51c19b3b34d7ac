#include "session/live/tickers.h"

#include <algorithm>

#include "base/clock.h"

namespace spile::session {

int64_t Tickers::next_ns() const {
  int64_t next = INT64_MAX;
  for (const Ticker& ticker : tickers_) next = std::min(next, ticker.next_ns);
  return next;
}

Result<void> Tickers::run_due(int64_t now) {
  for (Ticker& ticker : tickers_) {
    if (now < ticker.next_ns) continue;
    ticker.next_ns = monotonic_ns() + ticker.every_ns;
    TRY_DO(ticker.act());
  }
  return {};
}

}  // namespace spile::session
