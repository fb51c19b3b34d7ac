#pragma once
// Sends messages to a collector of OpenTelemetry by OTLP/HTTP (https://opentelemetry.io/docs/specs/otlp/#otlphttp): a POST for
// each. A thread of its own, which begins with the first message, sends them, so nobody waits for a slow or
// absent collector: what it has not taken is kept up to a bound, tried again with growing pauses, and counted where it is given
// up. All functions: one thread.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"

namespace spile::runs {

class OtlpSender {
 public:
  enum class Signal : uint8_t { kMetrics, kSpans };
  // where: "http://HOST[:PORT][/PATH][,SECONDS]" or "https://...", of the collector; port 4318 (https: 443) and 10 s if nothing
  // is said, and as the path /v1/metrics or /v1/traces, each of which also stands for the other. Errors: it is malformed, or
  // another kind of URL; the host has no address; as HttpPost::create().
  static Result<std::unique_ptr<OtlpSender>> create(const std::string& where, Signal signal = Signal::kMetrics);
  ~OtlpSender();
  OtlpSender(const OtlpSender&) = delete;
  OtlpSender& operator=(const OtlpSender&) = delete;

  // The time between messages, as the user has asked for it.
  int64_t every_ns() const { return every_ns_; }
  // Has a message sent. Where more wait than kMostWaiting, or kMostBytes, the oldest is given up.
  void send(std::string message);
  // Waits until no more than so many messages wait. Returns false if none was delivered for `patience_ms`, or for
  // kPatienceIfRefusedMs where nobody listens, or for kPatienceIfSilentMs where connections are taken, and messages or answers
  // don't come through; prints the first failure when it happens.
  bool await_fewer(size_t most, int64_t patience_ms);
  // Waits up to `patience_ms` until all is sent, and ends the thread, in the midst of a request if need be.
  void finish(int64_t patience_ms);
  // Returns warnings about messages that were not delivered. REQUIRES: after finish().
  std::vector<std::string> losses() const;

  static constexpr int64_t kPatienceIfRefusedMs = 5'000, kPatienceIfSilentMs = 10'000;
  static constexpr size_t kMostWaiting = 600, kMostBytes = 64 << 20;

 private:
  struct Place;
  explicit OtlpSender(std::unique_ptr<Place> place);
  bool has_started();
  void run(std::stop_token stop);
  bool pause(std::stop_token stop, int64_t ms);
  std::string place() const;

  std::unique_ptr<Place> place_;
  int64_t every_ns_ = 10'000'000'000;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::string> waiting_;
  size_t waiting_bytes_ = 0;
  int64_t useful_patience_ms_ = INT64_MAX;  // as the last failure was
  bool is_sending_ = false, has_printed_failure_ = false;
  uint64_t sent_ = 0, given_up_ = 0, rejected_ = 0, left_out_ = 0;
  std::string last_failure_, why_left_out_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace spile::runs
