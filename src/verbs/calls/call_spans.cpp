#include "verbs/calls/call_spans.h"

#include <algorithm>

#include "base/clock.h"

namespace spile::verbs {

namespace {

int64_t sum_of(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }

}  // namespace

Result<std::unique_ptr<CallSpans>> CallSpans::create(const std::string& where, const runs::SampleFacts& facts,
                                                     int64_t offset_ns) {
  TRY(std::unique_ptr<runs::OtlpSender> sender, runs::OtlpSender::create(where, runs::OtlpSender::Signal::kSpans));
  return std::unique_ptr<CallSpans>(
      new CallSpans({facts.host, facts.title, SPILE_VERSION, runs::new_run_number()}, offset_ns, std::move(sender)));
}

void CallSpans::add(const CallRecord& record) {
  runs::Span span;
  span.root = record.root;
  span.id = record.id;
  span.parent = record.parent;
  span.name = record.function;
  span.begin_ns = sum_of(record.began, offset_ns_);
  span.end_ns = sum_of(span.begin_ns, record.duration);
  span.pid = record.pid;
  span.tid = record.tid;
  span.thread = record.thread;
  for (const CallValue& value : record.arguments) span.attributes.emplace_back(value.name, value.text);
  if (record.result) span.attributes.emplace_back("result", record.result->text);
  if (record.runs || !record.returned) span.attributes.emplace_back("end", record.runs ? "still runs" : "did not return");
  spans_.push_back(std::move(span));
  const int64_t now = monotonic_ns();
  if (spans_.size() >= kMostInMessage || now - sent_at_ >= kOftenNs) {
    sent_at_ = now;
    send();
  }
}

void CallSpans::add(const runs::Timeline& timeline) { spans_ = runs::spans_of(timeline, offset_ns_); }

void CallSpans::send() {
  for (size_t begin = 0; begin < spans_.size(); begin += kMostInMessage) {
    const size_t count = std::min(kMostInMessage, spans_.size() - begin);
    constexpr size_t kMostAhead = 100;
    // the rest is given up, and counted
    if (patience_ms_ > 0 && !sender_->await_fewer(kMostAhead, patience_ms_)) patience_ms_ = 0;
    sender_->send(runs::otlp_spans(source_, std::span(spans_).subspan(begin, count)));
  }
  spans_.clear();
}

void CallSpans::finish(int64_t patience_ms) {
  send();
  if (patience_ms_ > 0) sender_->await_fewer(0, patience_ms_);
  sender_->finish(patience_ms);
}

}  // namespace spile::verbs
