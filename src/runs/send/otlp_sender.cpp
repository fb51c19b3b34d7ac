#include "runs/send/otlp_sender.h"

#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <protozero/pbf_reader.hpp>

#include "base/clock.h"
#include "base/print.h"
#include "base/processes/threads.h"
#include "base/text/terminal_text.h"
#include "runs/send/http_post.h"

namespace spile::runs {

namespace {

constexpr int64_t kRequestMs = 5'000;  // for a request and its reply
constexpr int64_t kFirstPauseMs = 200, kLongestPauseMs = 10'000;
constexpr std::string_view kMetricsPath = "/v1/metrics", kSpansPath = "/v1/traces";
int64_t milliseconds() { return monotonic_ns() / 1'000'000; }

// The outcome of a request.
struct Outcome {
  enum class Kind : uint8_t { kTaken, kRejected, kAgain } kind;
  std::string why = {};
  int64_t pause_ms = 0;             // kAgain: that the collector asks for
  int64_t patience_ms = INT64_MAX;  // kAgain: trying for longer than that is in vain
  uint64_t left_out = 0;            // kTaken: data points or spans that the collector has rejected, with its reason in `why`
};

// Notes in `outcome` what a reply says was left out of a message: ExportMetricsServiceResponse, or ExportTraceServiceResponse,
// which has the same numbers (opentelemetry/proto/collector). A body that is something else says nothing.
void read_partial_success(const std::string& body, Outcome& outcome) try {
  protozero::pbf_reader reply(body);
  while (reply.next(1)) {
    protozero::pbf_reader partial = reply.get_message();
    while (partial.next()) {
      if (partial.tag() == 1 && partial.wire_type() == protozero::pbf_wire_type::varint)
        outcome.left_out = static_cast<uint64_t>(std::max<int64_t>(partial.get_int64(), 0));
      else if (partial.tag() == 2 && partial.wire_type() == protozero::pbf_wire_type::length_delimited)
        outcome.why = one_line(partial.get_string(), 200);
      else partial.skip();
    }
  }
} catch (const protozero::exception&) {
}

// Errors: the host has no address. Found now rather than by the first message.
Result<void> find_host(const std::string& url, std::string host) {
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), nullptr, nullptr, &found); error != 0)
    return Error{fmt::format("--otlp {}: {}: {}", url, host, ::gai_strerror(error)), "name a host that this machine can find"};
  ::freeaddrinfo(found);
  return {};
}

}  // namespace

struct OtlpSender::Place {
  HttpUrl url;
  const char* content = "";  // "metrics", "spans"
  std::unique_ptr<HttpPost> http;

  Outcome post(const std::string& message, const std::stop_token& stop) const;
};

Result<std::unique_ptr<OtlpSender>> OtlpSender::create(const std::string& where, Signal signal) {
  const size_t comma = std::min(where.rfind(','), where.size());
  const std::string url = where.substr(0, comma), every = comma < where.size() ? where.substr(comma + 1) : "10";
  double seconds = 0;
  const auto [parsed, wrong] = std::from_chars(every.data(), every.data() + every.size(), seconds);
  if (wrong != std::errc() || parsed != every.data() + every.size() || !(seconds >= 0.01 && seconds <= 86'400)) {
    return Error{fmt::format("--otlp {}: '{}' is not a number of seconds", where, every),
                 "from 0.01 to 86400, as in --otlp http://127.0.0.1:4318,10"};
  }
  const bool are_spans = signal == Signal::kSpans;
  const std::string_view path = are_spans ? kSpansPath : kMetricsPath, other = are_spans ? kMetricsPath : kSpansPath;
  auto place = std::make_unique<Place>();
  TRY(place->url, parse_http_url(url, "4318", path));
  if (std::string& text = place->url.text; text.ends_with(other)) text.replace(text.size() - other.size(), other.size(), path);
  place->content = are_spans ? "spans" : "metrics";
  TRY_DO(find_host(url, place->url.host));
  TRY(place->http, HttpPost::create(place->url, {"Content-Type: application/x-protobuf"}));
  std::unique_ptr<OtlpSender> sender(new OtlpSender(std::move(place)));
  sender->every_ns_ = static_cast<int64_t>(seconds * 1e9);
  return sender;
}

OtlpSender::OtlpSender(std::unique_ptr<Place> place) : place_(std::move(place)) {}

bool OtlpSender::has_started() {
  if (thread_.joinable() || try_to_start(thread_, [this](std::stop_token stop) { run(stop); })) return true;
  const std::lock_guard lock(mutex_);
  ++given_up_;
  last_failure_ = "the system allows no more threads";
  return false;
}

OtlpSender::~OtlpSender() { finish(0); }

void OtlpSender::send(std::string message) {
  if (!has_started()) return;
  const std::lock_guard lock(mutex_);
  waiting_bytes_ += message.size();
  waiting_.push_back(std::move(message));
  // The one that is being sent stays at the front.
  while (waiting_.size() > (is_sending_ ? 2u : 1u) && (waiting_.size() > kMostWaiting || waiting_bytes_ > kMostBytes)) {
    const auto oldest = waiting_.begin() + (is_sending_ ? 1 : 0);
    waiting_bytes_ -= oldest->size();
    waiting_.erase(oldest);
    ++given_up_;
  }
  changed_.notify_all();
}

// Returns false if the thread is to end.
bool OtlpSender::pause(std::stop_token stop, int64_t ms) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, std::chrono::milliseconds(ms), [] { return false; });
  return !stop.stop_requested();
}

void OtlpSender::run(std::stop_token stop) {
  int64_t pause_ms = kFirstPauseMs;
  while (true) {
    std::string message;
    {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
      message = waiting_.front();
      is_sending_ = true;
    }
    const Outcome outcome = place_->post(message, stop);
    {
      const std::lock_guard lock(mutex_);
      is_sending_ = false;
      if (outcome.kind != Outcome::Kind::kAgain) {
        waiting_bytes_ -= waiting_.front().size();
        waiting_.pop_front();
        ++(outcome.kind == Outcome::Kind::kTaken ? sent_ : rejected_);
      }
      if (outcome.left_out > 0) {
        left_out_ += outcome.left_out;
        why_left_out_ = outcome.why;
      }
      if (outcome.kind != Outcome::Kind::kTaken) last_failure_ = outcome.why;
      useful_patience_ms_ = outcome.patience_ms;
      changed_.notify_all();
    }
    if (outcome.kind != Outcome::Kind::kAgain) {
      pause_ms = kFirstPauseMs;
      if (stop.stop_requested()) return;
      continue;
    }
    if (!pause(stop, std::max(pause_ms, outcome.pause_ms))) return;
    pause_ms = std::min(2 * pause_ms, kLongestPauseMs);
  }
}

Outcome OtlpSender::Place::post(const std::string& message, const std::stop_token& stop) const {
  using Failure = HttpReply::Failure;
  const HttpReply reply = http->send(message, kRequestMs, stop);
  switch (reply.failure) {
    case Failure::kNone: break;
    case Failure::kNotHttp: return {Outcome::Kind::kRejected, reply.why};
    case Failure::kRefused:
    case Failure::kUntrusted: return {Outcome::Kind::kAgain, reply.why, 0, kPatienceIfRefusedMs};
    case Failure::kSilent: return {Outcome::Kind::kAgain, reply.why, 0, kPatienceIfSilentMs};
    case Failure::kOther: return {Outcome::Kind::kAgain, reply.why};
  }
  if (reply.status >= 200 && reply.status < 300) {
    Outcome taken{Outcome::Kind::kTaken};
    read_partial_success(reply.body, taken);
    return taken;
  }
  const std::string why = fmt::format("it answered with status {}", reply.status);
  // The specification says that these may be tried again.
  const bool may_retry = reply.status == 429 || reply.status == 502 || reply.status == 503 || reply.status == 504;
  if (!may_retry) return {Outcome::Kind::kRejected, why};
  return {Outcome::Kind::kAgain, why, reply.retry_after_s * 1000};
}

std::string OtlpSender::place() const { return place_->url.text; }

bool OtlpSender::await_fewer(size_t most, int64_t patience_ms) {
  std::unique_lock lock(mutex_);
  int64_t since = milliseconds();
  while (waiting_.size() > most) {
    const size_t before = waiting_.size();
    const int64_t patience = std::min(patience_ms, useful_patience_ms_);
    const int64_t left = since + patience - milliseconds();
    if (left <= 0) return false;
    const bool prints = !has_printed_failure_;
    changed_.wait_for(lock, std::chrono::milliseconds(left),
                      [&] { return waiting_.size() < before || (prints && !last_failure_.empty()); });
    if (waiting_.size() < before) {
      since = milliseconds();
    } else if (prints && !last_failure_.empty()) {
      has_printed_failure_ = true;
      print_to(stderr, "{}: {}: trying again, for {} s in all\n", place(), last_failure_,
               std::min(patience_ms, useful_patience_ms_) / 1000);
    }
  }
  return true;
}

void OtlpSender::finish(int64_t patience_ms) {
  if (!thread_.joinable()) return;
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(patience_ms), [this] { return waiting_.empty(); });
  }
  thread_.request_stop();
  thread_.join();
  const std::lock_guard lock(mutex_);
  given_up_ += waiting_.size();
  waiting_.clear();
}

std::vector<std::string> OtlpSender::losses() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> warnings;
  if (given_up_ > 0)
    warnings.push_back(fmt::format("messages of {} not delivered to {}: {} ({})", place_->content, place(), given_up_,
                                   last_failure_.empty() ? "the run has ended" : last_failure_));
  if (rejected_ > 0)
    warnings.push_back(fmt::format("messages of {} rejected by {}: {} ({})", place_->content, place(), rejected_, last_failure_));
  if (left_out_ > 0) {
    const bool are_spans = place_->content == std::string_view("spans");
    const std::string why = why_left_out_.empty() ? "" : fmt::format(" ({})", why_left_out_);
    warnings.push_back(fmt::format("{} {}, in messages that it took: {}{}",
                                   are_spans ? "spans rejected by" : "data points rejected by", place(), left_out_, why));
  }
  return warnings;
}

}  // namespace spile::runs
