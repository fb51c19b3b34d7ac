#include "libspile/shown_events.h"

#include "libspile/values.h"
#include "runs/run/run_events.h"

namespace spile::client {

namespace {

using runs::RunDocument;

constexpr size_t kMostQueued = 64 << 20;  // bytes of events that nobody has asked for yet

}  // namespace

std::string ShownEvents::add(runs::Frame frame) {
  queued_bytes_ += frame.payload.size();
  queue_.push_back(std::move(frame));
  std::string wrong;
  while (queued_bytes_ > kMostQueued && wrong.empty()) {
    dropped_ += decoder_.document().events.size() - next_;
    next_ = decoder_.document().events.size();
    find_next(wrong);
  }
  return wrong;
}

bool ShownEvents::find_next(std::string& wrong) {
  while (!queue_.empty() && next_ >= decoder_.document().events.size()) {
    decoder_.forget_events();
    next_ = 0;
    const runs::Frame frame = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= frame.payload.size();
    wrong = decoder_.take(frame.kind, frame.payload);
    if (wrong.empty()) continue;
    queue_.clear();
    queued_bytes_ = 0;
  }
  return next_ < decoder_.document().events.size();
}

const spile_event* ShownEvents::show_next() {
  const RunDocument& document = decoder_.document();
  const runs::RunEvent& from = document.events[next_++];
  text_.clear();
  runs::append_event_text(text_, document, from);
  values_.clear();
  const bool is_text = from.format == runs::RunEvent::kText;
  for (size_t i = 0; i < runs::value_count(document, from); ++i) {
    const int64_t value = document.values[from.first_value + i];
    const bool has_text = is_text || document.formats[from.format].arguments[i] == ValueType::kString;
    values_.push_back(has_text ? value_of(document.texts[static_cast<size_t>(value)]) : value_of(value));
  }
  event_ = {from.time_ns,
            from.probe == runs::RunEvent::kNoProbe ? "" : document.probes[from.probe].point.c_str(),
            text_.c_str(),
            text_.size(),
            values_.data(),
            values_.size(),
            from.cpu,
            static_cast<int32_t>(from.process),
            from.thread > 0 ? int64_t{from.thread} : -1};
  return &event_;
}

}  // namespace spile::client
