#pragma once
// Sends calls to a collector of OpenTelemetry as spans, some at a time, while they come. Thread rule: one thread.

#include <memory>
#include <string>
#include <vector>

#include "runs/run/otlp_spans.h"
#include "runs/send/otlp_sender.h"
#include "runs/stacks/sample_files.h"
#include "verbs/calls/call_json.h"

namespace spile::verbs {

class CallSpans {
 public:
  // where: of --otlp. facts: of the run. offset_ns: what the clock of 1970 is ahead of that of the calls. Errors: those of
  // OtlpSender::create().
  static Result<std::unique_ptr<CallSpans>> create(const std::string& where, const runs::SampleFacts& facts, int64_t offset_ns);

  // From here on send() waits while the collector is behind, as long as it takes a message each `patience_ms`. Not for calls that
  // happen now.
  void wait_for_collector(int64_t patience_ms) { patience_ms_ = patience_ms; }

  // Adds a call that has ended, or still runs at the end.
  void add(const CallRecord& record);
  // Adds the calls of a timeline. Not together with the other add().
  void add(const runs::Timeline& timeline);
  // Sends what is left, and waits up to `patience_ms` for the collector. No add() follows.
  void finish(int64_t patience_ms);
  // Returns "WARNING: ..." lines about messages that were not delivered, or "". REQUIRES: after finish().
  std::vector<std::string> losses() const { return sender_->losses(); }

  static constexpr size_t kMostInMessage = 2000;
  static constexpr int64_t kOftenNs = 200'000'000, kPatienceMs = 5'000;

 private:
  CallSpans(runs::SpanSource source, int64_t offset_ns, std::unique_ptr<runs::OtlpSender> sender)
      : source_(std::move(source)), offset_ns_(offset_ns), sender_(std::move(sender)) {}
  void send();

  runs::SpanSource source_;
  int64_t offset_ns_;
  std::unique_ptr<runs::OtlpSender> sender_;
  std::vector<runs::Span> spans_;  // not sent yet
  int64_t sent_at_ = 0;
  int64_t patience_ms_ = 0;  // 0: it does not wait
};

}  // namespace spile::verbs
