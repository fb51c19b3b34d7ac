#include "runs/send/otlp_sender.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>
#include <protozero/pbf_reader.hpp>

#include "base/clock.h"
#include "base/print.h"
#include "base/processes/signal_mask.h"
#include "base/text/terminal_text.h"
#include "base/unique_fd.h"

namespace spile::runs {

namespace {

constexpr int64_t kRequestMs = 5'000;  // for a request and its reply
constexpr int64_t kFirstPauseMs = 200, kLongestPauseMs = 10'000;
constexpr std::string_view kMetricsPath = "/v1/metrics", kSpansPath = "/v1/traces";
constexpr size_t kMostReply = 64 << 10;  // bytes of a reply that are read

int64_t milliseconds() { return monotonic_ns() / 1'000'000; }

// The outcome of a request.
struct Outcome {
  enum class Kind : uint8_t { kTaken, kRejected, kAgain } kind;
  std::string why = {};
  int64_t pause_ms = 0;             // kAgain: that the collector asks for
  int64_t patience_ms = INT64_MAX;  // kAgain: trying for longer than that is in vain
  uint64_t left_out = 0;            // kTaken: data points or spans that the collector has rejected, with its reason in `why`
};

// Limits a request: by a time, and by the end of the thread.
struct Limit {
  int64_t until_ms;
  std::stop_token stop;
};

// Waits until the socket is ready, or the limit is reached.
bool await(int fd, short events, const Limit& limit) {
  constexpr int64_t kGlanceMs = 50;  // at the token
  pollfd descriptor{fd, events, 0};
  while (true) {
    const int64_t left = limit.until_ms - milliseconds();
    if (left <= 0 || limit.stop.stop_requested()) return false;
    const int ready = ::poll(&descriptor, 1, static_cast<int>(std::min(left, kGlanceMs)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

// The value of a header of a reply, or "". Names are compared without case.
std::string header(const std::string& reply, std::string_view name) {
  const size_t end = reply.find("\r\n\r\n");
  for (size_t at = reply.find("\r\n"); at < end; at = reply.find("\r\n", at + 2)) {
    if (::strncasecmp(reply.c_str() + at + 2, name.data(), name.size()) != 0) continue;
    const size_t begin = reply.find_first_not_of(' ', at + 2 + name.size());
    return reply.substr(begin, reply.find("\r\n", begin) - begin);
  }
  return {};
}

// Whether a reply, or what has come of it, is of HTTP/1.
bool starts_as_http(std::string_view reply) {
  constexpr std::string_view kHttp = "HTTP/1.";
  return kHttp.starts_with(reply.substr(0, kHttp.size()));
}

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

}  // namespace

struct OtlpSender::Place {
  std::string host, port, path;
  const char* content = "";  // "metrics", "spans"
  struct Free {
    void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
  };
  std::unique_ptr<addrinfo, Free> addresses;

  Outcome post(const std::string& message, std::stop_token stop) const;
  Outcome exchange(int fd, const std::string& message, const Limit& limit) const;
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
  constexpr std::string_view kScheme = "http://";
  const Error malformed{fmt::format("--otlp {}: not a URL of a collector", url),
                        "--otlp http://127.0.0.1:4318; for https, let a collector on this machine forward it"};
  if (!url.starts_with(kScheme)) return malformed;
  auto place = std::make_unique<Place>();
  const std::string rest = url.substr(kScheme.size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  std::string authority = rest.substr(0, slash);
  place->path = slash + 1 < rest.size() ? rest.substr(slash) : std::string(kMetricsPath);
  if (signal == Signal::kSpans && place->path.ends_with(kMetricsPath))
    place->path.replace(place->path.size() - kMetricsPath.size(), kMetricsPath.size(), kSpansPath);
  else if (signal == Signal::kMetrics && place->path.ends_with(kSpansPath))
    place->path.replace(place->path.size() - kSpansPath.size(), kSpansPath.size(), kMetricsPath);
  place->content = signal == Signal::kSpans ? "spans" : "metrics";
  place->port = "4318";
  if (const size_t colon = authority.rfind(':'); colon != std::string::npos && authority.find(']', colon) == std::string::npos) {
    place->port = authority.substr(colon + 1);
    authority.resize(colon);
  }
  if (authority.starts_with('[') && authority.ends_with(']')) authority = authority.substr(1, authority.size() - 2);
  place->host = authority;
  uint16_t number = 0;
  const auto [end, failure] = std::from_chars(place->port.data(), place->port.data() + place->port.size(), number);
  const bool has_port = failure == std::errc() && end == place->port.data() + place->port.size() && number != 0;
  const auto is_odd = [](unsigned char c) { return c <= ' ' || c == 0x7f; };
  if (!has_port || authority.empty() || authority.find('@') != std::string::npos || std::ranges::any_of(url, is_odd))
    return malformed;
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int error = ::getaddrinfo(place->host.c_str(), place->port.c_str(), &hints, &found); error != 0) {
    return Error{fmt::format("--otlp {}: {}: {}", url, place->host, ::gai_strerror(error)),
                 "name a host that this machine can find"};
  }
  place->addresses.reset(found);
  std::unique_ptr<OtlpSender> sender(new OtlpSender(std::move(place)));
  sender->every_ns_ = static_cast<int64_t>(seconds * 1e9);
  return sender;
}

OtlpSender::OtlpSender(std::unique_ptr<Place> place) : place_(std::move(place)) {}

void OtlpSender::start() {
  const SignalsBlocked blocked;
  thread_ = std::jthread([this](std::stop_token stop) { run(stop); });
}

OtlpSender::~OtlpSender() { finish(0); }

void OtlpSender::send(std::string message) {
  if (!thread_.joinable()) start();
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

Outcome OtlpSender::Place::post(const std::string& message, std::stop_token stop) const {
  std::string why;
  bool is_refused = true;
  const Limit limit{milliseconds() + kRequestMs, std::move(stop)};
  for (const addrinfo* address = addresses.get(); address; address = address->ai_next) {
    UniqueFd fd(::socket(address->ai_family, address->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address->ai_protocol));
    if (!fd) {
      why = std::strerror(errno);
      continue;
    }
    if (::connect(fd.get(), address->ai_addr, address->ai_addrlen) != 0) {
      int failure = errno;
      socklen_t size = sizeof failure;
      if (failure == EINPROGRESS &&
          (!await(fd.get(), POLLOUT, limit) || ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failure, &size) != 0))
        failure = ETIMEDOUT;
      if (failure != 0) {
        why = std::strerror(failure);
        is_refused = is_refused && failure == ECONNREFUSED;
        continue;
      }
    }
    return exchange(fd.get(), message, limit);
  }
  return {Outcome::Kind::kAgain, why.empty() ? "no address" : why, 0,
          is_refused && !why.empty() ? kPatienceIfRefusedMs : INT64_MAX};
}

Outcome OtlpSender::Place::exchange(int fd, const std::string& message, const Limit& limit) const {
  std::string request = fmt::format(
      "POST {} HTTP/1.1\r\nHost: {}:{}\r\nContent-Type: application/x-protobuf\r\nContent-Length: {}\r\nUser-Agent: "
      "spile\r\nConnection: close\r\n\r\n",
      path, host, port, message.size());
  request += message;
  for (size_t sent = 0; sent < request.size();) {
    const ssize_t count = ::send(fd, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (count > 0) sent += static_cast<size_t>(count);
    else if (count < 0 && errno == EAGAIN && await(fd, POLLOUT, limit)) continue;
    else if (count < 0 && errno == EINTR) continue;
    else if (count < 0 && errno != EAGAIN) return {Outcome::Kind::kAgain, std::strerror(errno)};
    else return {Outcome::Kind::kAgain, "it does not take the message", 0, kPatienceIfSilentMs};
  }
  std::string reply;
  char bytes[4096];
  constexpr std::string_view kEnd = "\r\n\r\n";
  size_t whole = std::string::npos;  // bytes of the reply, once its head is there
  while (reply.size() < std::min(whole, kMostReply) && starts_as_http(reply)) {
    const ssize_t count = ::recv(fd, bytes, sizeof bytes, 0);
    if (count > 0) {
      reply.append(bytes, static_cast<size_t>(count));
      if (const size_t end = reply.find(kEnd); whole == std::string::npos && end != std::string::npos) {
        const std::string length = header(reply, "Content-Length:");
        size_t body = 0;
        std::from_chars(length.data(), length.data() + length.size(), body);
        whole = end + kEnd.size() + std::min(body, kMostReply);
      }
      continue;
    }
    const int failure = count < 0 ? errno : 0;
    if (failure == EINTR || (failure == EAGAIN && await(fd, POLLIN, limit))) continue;
    if (whole != std::string::npos) break;  // what is missing says only what was left out
    if (!reply.empty() && !starts_as_http(reply)) break;
    if (failure == EAGAIN) return {Outcome::Kind::kAgain, "it does not answer", 0, kPatienceIfSilentMs};
    return {Outcome::Kind::kAgain, failure != 0 ? std::strerror(failure) : "it ended the connection without a whole answer"};
  }
  int status = 0;
  if (starts_as_http(reply) && reply.size() > 12) std::from_chars(reply.data() + 9, reply.data() + 12, status);
  if (status >= 200 && status < 300) {
    Outcome taken{Outcome::Kind::kTaken};
    if (whole != std::string::npos && reply.size() >= whole)
      read_partial_success(reply.substr(reply.find(kEnd) + kEnd.size()), taken);
    return taken;
  }
  const std::string why = status != 0 ? fmt::format("it answered with status {}", status) : "its answer is not HTTP";
  // The specification says that these may be tried again.
  const bool may_retry = status == 429 || status == 502 || status == 503 || status == 504;
  if (!may_retry) return {Outcome::Kind::kRejected, why};
  const std::string after = header(reply, "Retry-After:");
  int64_t seconds = 0;
  std::from_chars(after.data(), after.data() + after.size(), seconds);
  return {Outcome::Kind::kAgain, why, std::clamp<int64_t>(seconds, 0, 60) * 1000};
}

std::string OtlpSender::place() const { return fmt::format("http://{}:{}{}", place_->host, place_->port, place_->path); }

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
