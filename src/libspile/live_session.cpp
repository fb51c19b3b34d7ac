#include "libspile/live_session.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "base/files/bytes.h"

namespace spile::client {

namespace {

using runs::FrameKind;

constexpr int kEndPatienceMs = 30'000;

int64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// How much of a time is left.
class Deadline {
 public:
  explicit Deadline(int timeout_ms) : is_endless_(timeout_ms < 0), until_(now_ms() + timeout_ms) {}
  int left_ms() const { return is_endless_ ? -1 : static_cast<int>(std::max<int64_t>(0, until_ - now_ms())); }

 private:
  bool is_endless_;
  int64_t until_;
};

}  // namespace

LiveSession::~LiveSession() {
  if (::getpid() != owner_) {
    process_.abandon();
    return;
  }
  if (state_ == State::kNew || state_ == State::kEnded) return;
  stop();
  const Deadline deadline(kEndPatienceMs);
  while (process_.is_running() && process_.wait(deadline.left_ms())) {
    received_.clear();
    if (process_.receive(received_) == SpileProcess::Received::kEnd) break;
  }
  process_.finish(deadline.left_ms());
}

int LiveSession::fail(int code, std::string text, std::string hint) {
  return messages_.fail_with(KeptMessage::of(code, std::move(text), std::move(hint)));
}

// ---- setting up

int LiveSession::check_new() {
  return state_ == State::kNew ? SPILE_OK : fail(SPILE_ERROR_STATE, "the run has been started already", "make another session");
}

int LiveSession::start() {
  if (const int wrong = check_new()) return wrong;
  if (!request_.has_script())
    return fail(SPILE_ERROR_ARGUMENT, "no script was set", "use spile_set_script(), spile_set_script_file() or spile_set_verb()");
  if (is_stopped_) return SPILE_END;
  if (const Result<void> started = process_.start(request_.words()); !started.ok())
    return fail(SPILE_ERROR_PROGRAM, started.error().message, started.error().hint);
  if (is_stopped_) process_.close_requests();  // meanwhile
  state_ = State::kStarting;
  while (state_ == State::kStarting && !has_started_) receive(-1);
  if (state_ == State::kStarting) state_ = State::kRunning;
  if (state_ == State::kEnded && !has_end_) return outcome();
  if (state_ == State::kEnded && outcome_ < 0 && events_.is_empty()) return outcome();
  return SPILE_OK;
}

// May be called while another thread is inside a function.
int LiveSession::stop() {
  is_stopped_ = true;
  process_.close_requests();
  return SPILE_OK;
}

// ---- receiving

bool LiveSession::receive(int timeout_ms) {
  received_.clear();
  auto received = process_.receive(received_);
  if (received == SpileProcess::Received::kNothing) {
    if (!process_.wait(timeout_ms)) return false;
    received = process_.receive(received_);
  }
  parser_.add(received_);
  while (state_ != State::kEnded) {
    Result<std::optional<runs::Frame>> frame = parser_.next();
    if (!frame.ok()) {
      damaged(frame.error().message);
      return true;
    }
    if (!*frame) break;
    take_frame(std::move(**frame));
  }
  if (received == SpileProcess::Received::kEnd && state_ != State::kEnded) end();
  return true;
}

void LiveSession::take_frame(runs::Frame frame) {
  std::string wrong;
  switch (static_cast<FrameKind>(frame.kind)) {
    case FrameKind::kFacts:
      has_facts_ = true;
      wrong = globals_.take(frame);
      if (wrong.empty()) wrong = events_.take_facts(frame);
      break;
    case FrameKind::kTexts:
    case FrameKind::kEvents:
    case FrameKind::kTextsAnew:
    case FrameKind::kProcesses:
    case FrameKind::kThreads: wrong = events_.add(std::move(frame)); break;
    case FrameKind::kGlobal: wrong = globals_.take(frame); break;
    case FrameKind::kTick:
      wrong = globals_.take_tick(frame);
      if (wrong.empty()) ++answered_;
      break;
    case FrameKind::kMessage:
      if (!messages_.take(frame.payload)) wrong = "a message can't be read";
      break;
    case FrameKind::kStarted: has_started_ = true; break;
    case FrameKind::kEnd: take_end(frame.payload); break;
    case FrameKind::kModules:
    case FrameKind::kArmed: break;
  }
  if (!wrong.empty()) damaged(wrong);
}

// Losses, of which spile prints those that warnings are not suppressed for.
void LiveSession::take_end(const std::string& payload) {
  ByteReader in(payload);
  (void)in.signed_number();
  for (uint64_t left = in.number(); left > 0 && in.ok(); --left) {
    std::string text = in.text();
    if (in.ok()) messages_.add_warning(std::move(text));
  }
  if (!in.ok()) return damaged("the end can't be read");
  has_end_ = true;
}

void LiveSession::damaged(const std::string& what) {
  if (state_ == State::kEnded) return;
  constexpr int kBriefMs = 1'000;
  process_.finish(kBriefMs);
  state_ = State::kEnded;
  outcome_ = SPILE_ERROR_PROGRAM;
  outcome_error_ =
      KeptMessage::of(outcome_, fmt::format("{} answers as the library does not expect: {}", process_.program(), what),
                      "use a library and a program of the same version");
}

// The stream has ended. Its last error says why, unless spile says that all is well.
void LiveSession::end() {
  process_.finish(kEndPatienceMs);
  state_ = State::kEnded;
  outcome_ = SPILE_END;
  if (has_end_ && process_.how_ended() == "has ended with status 0") return;
  if (const KeptMessage* const error = messages_.first_error()) {
    outcome_error_ = *error;
    outcome_ = error->shown.code;
    return;
  }
  if (has_end_ || is_stopped_) return;
  const bool has_answered = has_facts_ || !messages_.is_empty();
  outcome_ = has_answered || process_.how_ended().starts_with("was killed") ? SPILE_ERROR_DIED : SPILE_ERROR_PROGRAM;
  outcome_error_ = KeptMessage::of(
      outcome_, fmt::format("{} (process {}) {} before the run did", process_.program(), process_.pid(), process_.how_ended()),
      outcome_ == SPILE_ERROR_DIED ? "what was read until then holds"
                                   : "it may be older than the library, or not spile; what it says is on standard error");
}

int LiveSession::outcome() { return outcome_ < 0 ? messages_.fail_with(outcome_error_) : outcome_; }

// ---- events

bool LiveSession::find_event() {
  std::string wrong;
  const bool found = events_.find_next(wrong);
  if (!wrong.empty()) damaged(wrong);
  return found;
}

int LiveSession::next_event(int timeout_ms, const spile_event** event) {
  if (!event) return fail(SPILE_ERROR_ARGUMENT, "event is null");
  *event = nullptr;
  if (state_ == State::kNew) return fail(SPILE_ERROR_STATE, "the run has not been started", "call spile_start() before");
  const Deadline deadline(timeout_ms);
  while (!find_event()) {
    if (state_ == State::kEnded) return outcome();
    if (!receive(deadline.left_ms())) return SPILE_TIMEOUT;
  }
  *event = events_.show_next();
  return SPILE_OK;
}

// ---- globals

int LiveSession::read(int timeout_ms, const spile_snapshot** snapshot) {
  if (!snapshot) return fail(SPILE_ERROR_ARGUMENT, "snapshot is null");
  *snapshot = nullptr;
  if (state_ == State::kNew) return fail(SPILE_ERROR_STATE, "the run has not been started", "call spile_start() before");
  const Deadline deadline(timeout_ms);
  // A request of an earlier call that has timed out: an answer that is there by now is too old, one that is still to come is new.
  while (state_ == State::kRunning && answered_ < requested_ && receive(0)) {
  }
  if (state_ == State::kRunning && answered_ >= requested_ && process_.request_tick()) requested_ = answered_ + 1;
  while (state_ != State::kEnded && answered_ < requested_) {
    if (!receive(deadline.left_ms())) return SPILE_TIMEOUT;
  }
  // The run ends, and takes no request any more.
  while (state_ != State::kEnded && !globals_.has_tick()) {
    if (!receive(deadline.left_ms())) return SPILE_TIMEOUT;
  }
  if (globals_.has_tick()) *snapshot = globals_.show(events_.dropped(), state_ == State::kEnded && has_end_);
  if (state_ == State::kEnded && !(globals_.has_tick() && has_end_)) return outcome();
  return SPILE_OK;
}

}  // namespace spile::client
