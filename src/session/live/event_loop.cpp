#include "session/live/event_loop.h"

#include <poll.h>
#include <time.h>

#include <algorithm>

#include "base/clock.h"

namespace spile::session {

void EventLoop::wait() {
  const int64_t now = monotonic_ns();
  int64_t until = INT64_MAX;
  for (const auto& moment : moments_) until = std::min(until, moment(now));
  const int64_t ns = std::max<int64_t>(until - now, 0);
  const timespec timeout{ns / 1'000'000'000, ns % 1'000'000'000};

  std::vector<pollfd> descriptors;
  descriptors.reserve(sources_.size());
  for (const Source& source : sources_) descriptors.push_back({source.fd(), POLLIN, 0});
  ppoll(descriptors.data(), descriptors.size(), moments_.empty() ? nullptr : &timeout, nullptr);
  for (size_t i = 0; i < sources_.size(); ++i) sources_[i].is_readable = descriptors[i].revents != 0;
}

Result<void> EventLoop::serve() {
  for (Source& source : sources_) {
    if (source.is_readable) TRY_DO(source.act());
  }
  return {};
}

}  // namespace spile::session
