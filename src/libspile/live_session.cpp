#include "libspile/live_session.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "base/byte_stream.h"
#include "base/messages.h"
#include "runs/run/run_events.h"

namespace spile::client {

namespace {

using runs::FrameKind;
using runs::RunDocument;
using runs::RunStatistics;

constexpr size_t kMostScript = 100'000;  // bytes: a word of a command line has at most 128 KiB, in which it is beside others
constexpr size_t kMostMessages = 10'000;
constexpr size_t kMostQueued = 64 << 20;  // bytes of events that nobody has asked for yet
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

int code_of(uint64_t kind) {
  switch (static_cast<MessageKind>(kind)) {
    case MessageKind::kWarning: return SPILE_WARNING;
    case MessageKind::kScriptError: return SPILE_ERROR_SCRIPT;
    case MessageKind::kSystemError: return SPILE_ERROR_SYSTEM;
    case MessageKind::kHandlerError: return SPILE_ERROR_HANDLER;
    case MessageKind::kNote: break;
  }
  return SPILE_NOTE;
}

int type_of(ValueType type) {
  return type == ValueType::kStats ? SPILE_STATISTICS : type == ValueType::kString ? SPILE_TEXT : SPILE_NUMBER;
}

spile_value value_of(int64_t number) { return {SPILE_NUMBER, 0, number, "", 0}; }
spile_value value_of(const std::string& text) { return {SPILE_TEXT, 0, 0, text.c_str(), text.size()}; }

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

int LiveSession::fail_with(const KeptMessage& message) {
  const spile_message shown = message.shown;
  kept_error_ = message;
  error_ = shown;
  error_.text = kept_error_.text.c_str();
  error_.hint = kept_error_.hint.c_str();
  error_.file = kept_error_.file.c_str();
  error_.excerpt = kept_error_.excerpt.c_str();
  has_error_ = true;
  return error_.code;
}

int LiveSession::fail(int code, std::string text, std::string hint) {
  KeptMessage message{std::move(text), std::move(hint), {}, {}, {}};
  message.shown.code = code;
  return fail_with(message);
}

// ---- setting up

int LiveSession::check_new() {
  return state_ == State::kNew ? SPILE_OK : fail(SPILE_ERROR_STATE, "the run has been started already", "make another session");
}

int LiveSession::set_script(const char* text) {
  if (const int wrong = check_new()) return wrong;
  if (!text) return fail(SPILE_ERROR_ARGUMENT, "the script is null");
  script_ = text;
  if (script_.size() > kMostScript)
    return fail(SPILE_ERROR_ARGUMENT, fmt::format("the script has {} bytes, more than {}", script_.size(), kMostScript),
                "write it to a file, and use spile_set_script_file()");
  has_script_ = true;
  script_file_.clear();
  verb_.clear();
  return SPILE_OK;
}

int LiveSession::set_script_file(const char* path) {
  if (const int wrong = check_new()) return wrong;
  if (!path || !*path || path == std::string_view("-"))
    return fail(SPILE_ERROR_ARGUMENT, "the path of the script is null, empty or \"-\"");
  // A word without a slash may be a verb's.
  script_file_ = std::string_view(path).find('/') == std::string_view::npos ? "./" + std::string(path) : path;
  has_script_ = true;
  verb_.clear();
  return SPILE_OK;
}

int LiveSession::set_verb(const char* verb) {
  if (const int wrong = check_new()) return wrong;
  // A word with other characters would be an option, or a script's file.
  const std::string_view name = verb ? verb : "";
  if (name.empty() || name.find_first_not_of("abcdefghijklmnopqrstuvwxyz") != std::string_view::npos)
    return fail(SPILE_ERROR_ARGUMENT, "a verb is one word of small letters, as in \"top\"",
                "its words and options are given by spile_add_argument()");
  verb_ = name;
  has_script_ = true;
  return SPILE_OK;
}

int LiveSession::add_argument(const char* argument) {
  if (const int wrong = check_new()) return wrong;
  if (!argument) return fail(SPILE_ERROR_ARGUMENT, "the argument is null");
  script_arguments_.emplace_back(argument);
  return SPILE_OK;
}

int LiveSession::add_process(pid_t pid) {
  if (const int wrong = check_new()) return wrong;
  if (pid <= 0) return fail(SPILE_ERROR_ARGUMENT, fmt::format("{} is not the number of a process", pid));
  processes_.push_back(pid);
  return SPILE_OK;
}

int LiveSession::set_command(const char* command) {
  if (const int wrong = check_new()) return wrong;
  if (!command || !*command) return fail(SPILE_ERROR_ARGUMENT, "the command is null or empty");
  command_ = command;
  return SPILE_OK;
}

int LiveSession::add_option(const char* option) {
  if (const int wrong = check_new()) return wrong;
  if (!option || option[0] != '-' || option[1] == '\0' || option == std::string_view("--"))
    return fail(SPILE_ERROR_ARGUMENT, "an option is one word that begins with -, as in \"-DMAXMAPENTRIES=10000\"");
  options_.emplace_back(option);
  return SPILE_OK;
}

std::vector<std::string> LiveSession::arguments() const {
  std::vector<std::string> words = options_;
  for (const pid_t pid : processes_) words.insert(words.end(), {"-x", std::to_string(pid)});
  if (!command_.empty()) words.insert(words.end(), {"-c", command_});
  // Words of a verb are options, too.
  if (!verb_.empty()) words.push_back(verb_);
  else if (script_file_.empty()) words.insert(words.end(), {"-e", script_, "--"});
  else words.insert(words.end(), {"--", script_file_});
  words.insert(words.end(), script_arguments_.begin(), script_arguments_.end());
  return words;
}

int LiveSession::start() {
  if (const int wrong = check_new()) return wrong;
  if (!has_script_)
    return fail(SPILE_ERROR_ARGUMENT, "no script was set", "use spile_set_script(), spile_set_script_file() or spile_set_verb()");
  if (is_stopped_) return SPILE_END;
  if (const Result<void> started = process_.start(arguments()); !started.ok())
    return fail(SPILE_ERROR_PROGRAM, started.error().message, started.error().hint);
  if (is_stopped_) process_.close_requests();  // meanwhile
  state_ = State::kStarting;
  while (state_ == State::kStarting && !has_started_) receive(-1);
  if (state_ == State::kStarting) state_ = State::kRunning;
  if (state_ == State::kEnded && !has_end_) return outcome();
  if (state_ == State::kEnded && outcome_ < 0 && events_.document().events.empty() && queue_.empty()) return outcome();
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
      wrong = globals_.take(frame.kind, frame.payload);
      if (wrong.empty()) wrong = events_.take(frame.kind, frame.payload);
      break;
    case FrameKind::kTexts:
    case FrameKind::kEvents:
    case FrameKind::kTextsAnew:
    case FrameKind::kProcesses:
    case FrameKind::kThreads:
      queued_bytes_ += frame.payload.size();
      queue_.push_back(std::move(frame));
      while (queued_bytes_ > kMostQueued && state_ != State::kEnded) drop_oldest();
      break;
    case FrameKind::kGlobal: wrong = globals_.take(frame.kind, frame.payload); break;
    case FrameKind::kTick: take_tick(frame); break;
    case FrameKind::kMessage: take_message(frame.payload); break;
    case FrameKind::kStarted: has_started_ = true; break;
    case FrameKind::kEnd: take_end(frame.payload); break;
    case FrameKind::kModules:
    case FrameKind::kArmed: break;
  }
  if (!wrong.empty()) damaged(wrong);
}

void LiveSession::take_tick(const runs::Frame& frame) {
  if (const std::string wrong = globals_.take(frame.kind, frame.payload); !wrong.empty()) return damaged(wrong);
  tick_ = std::move(globals_.document().ticks.back());
  globals_.forget_events();
  has_tick_ = true;
  ++answered_;
}

void LiveSession::take_message(const std::string& payload) {
  ByteReader in(payload);
  const uint64_t kind = in.number();
  KeptMessage message;
  for (std::string* text : {&message.text, &message.hint, &message.file, &message.excerpt}) *text = in.text();
  uint32_t place[4];
  for (uint32_t& number : place) number = static_cast<uint32_t>(in.number_up_to(UINT32_MAX));
  if (!in.ok()) return damaged("a message can't be read");
  // A hint that was printed by itself.
  if (message.text.empty() && !messages_.empty()) {
    if (messages_.back().hint.empty()) messages_.back().hint = std::move(message.hint);
    return;
  }
  add_message(std::move(message), code_of(kind), place);
}

void LiveSession::add_message(KeptMessage message, int code, const uint32_t (&place)[4]) {
  if (messages_.size() >= kMostMessages) return;
  message.shown = {code, place[0], place[1], place[2], place[3], 0, nullptr, nullptr, nullptr, nullptr};
  messages_.push_back(std::move(message));
}

// Losses, of which spile prints those that warnings are not suppressed for.
void LiveSession::take_end(const std::string& payload) {
  ByteReader in(payload);
  (void)in.signed_number();
  for (uint64_t left = in.number(); left > 0 && in.ok(); --left) {
    KeptMessage message;
    message.text = in.text();
    const bool is_known = std::ranges::any_of(messages_, [&](const KeptMessage& known) { return known.text == message.text; });
    if (in.ok() && !is_known) add_message(std::move(message), SPILE_WARNING, {0, 0, 0, 0});
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
  outcome_error_ = {fmt::format("{} answers as the library does not expect: {}", process_.program(), what),
                    "use a library and a program of the same version",
                    {},
                    {},
                    {}};
  outcome_error_.shown.code = outcome_;
}

// The stream has ended. Its last error says why, unless spile says that all is well.
void LiveSession::end() {
  process_.finish(kEndPatienceMs);
  state_ = State::kEnded;
  outcome_ = SPILE_END;
  if (has_end_ && process_.how_ended() == "has ended with status 0") return;
  const auto error = std::ranges::find_if(messages_, [](const KeptMessage& message) { return message.shown.code < 0; });
  if (error != messages_.end()) {
    outcome_error_ = *error;
    outcome_ = error->shown.code;
    return;
  }
  if (has_end_ || is_stopped_) return;
  const bool has_answered = has_facts_ || !messages_.empty();
  outcome_ = has_answered || process_.how_ended().starts_with("was killed") ? SPILE_ERROR_DIED : SPILE_ERROR_PROGRAM;
  outcome_error_ = {
      fmt::format("{} (process {}) {} before the run did", process_.program(), process_.pid(), process_.how_ended()),
      outcome_ == SPILE_ERROR_DIED ? "what was read until then holds"
                                   : "it may be older than the library, or not spile; what it says is on standard error",
      {},
      {},
      {}};
  outcome_error_.shown.code = outcome_;
}

int LiveSession::outcome() { return outcome_ < 0 ? fail_with(outcome_error_) : outcome_; }

// ---- events

bool LiveSession::decode_next() {
  while (!queue_.empty() && next_ >= events_.document().events.size()) {
    events_.forget_events();
    next_ = 0;
    const runs::Frame frame = std::move(queue_.front());
    queue_.pop_front();
    queued_bytes_ -= frame.payload.size();
    if (const std::string wrong = events_.take(frame.kind, frame.payload); !wrong.empty()) {
      queue_.clear();
      queued_bytes_ = 0;
      damaged(wrong);
    }
  }
  return next_ < events_.document().events.size();
}

void LiveSession::drop_oldest() {
  dropped_events_ += events_.document().events.size() - next_;
  next_ = events_.document().events.size();
  decode_next();
}

int LiveSession::next_event(int timeout_ms, const spile_event** event) {
  if (!event) return fail(SPILE_ERROR_ARGUMENT, "event is null");
  *event = nullptr;
  if (state_ == State::kNew) return fail(SPILE_ERROR_STATE, "the run has not been started", "call spile_start() before");
  const Deadline deadline(timeout_ms);
  while (!decode_next()) {
    if (state_ == State::kEnded) return outcome();
    if (!receive(deadline.left_ms())) return SPILE_TIMEOUT;
  }
  show_event(next_++);
  *event = &event_;
  return SPILE_OK;
}

void LiveSession::show_event(size_t index) {
  const RunDocument& document = events_.document();
  const runs::RunEvent& from = document.events[index];
  event_text_.clear();
  runs::append_event_text(event_text_, document, from);
  event_values_.clear();
  const bool is_text = from.format == runs::RunEvent::kText;
  for (size_t i = 0; i < runs::value_count(document, from); ++i) {
    const int64_t value = document.values[from.first_value + i];
    const bool has_text = is_text || document.formats[from.format].arguments[i] == ValueType::kString;
    event_values_.push_back(has_text ? value_of(document.texts[static_cast<size_t>(value)]) : value_of(value));
  }
  event_ = {from.time_ns,
            from.probe == runs::RunEvent::kNoProbe ? "" : document.probes[from.probe].point.c_str(),
            event_text_.c_str(),
            event_text_.size(),
            event_values_.data(),
            event_values_.size(),
            from.cpu,
            static_cast<int32_t>(from.process),
            from.thread > 0 ? int64_t{from.thread} : -1};
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
  while (state_ != State::kEnded && !has_tick_) {
    if (!receive(deadline.left_ms())) return SPILE_TIMEOUT;
  }
  if (has_tick_) {
    show_snapshot();
    *snapshot = &snapshot_;
  }
  if (state_ == State::kEnded && !(has_tick_ && has_end_)) return outcome();
  return SPILE_OK;
}

void LiveSession::show_snapshot() {
  shown_tick_ = tick_;
  const RunDocument& document = globals_.document();
  shown_globals_.clear();
  shown_elements_.clear();
  shown_keys_.clear();
  for (size_t i = 0; i < document.globals.size() && i < shown_tick_.globals.size(); ++i) {
    const runs::RunGlobal& global = document.globals[i];
    const runs::RunGlobalState& state = *shown_tick_.globals[i];
    std::vector<spile_element>& elements = shown_elements_.emplace_back();
    std::vector<spile_value>& keys = shown_keys_.emplace_back();
    keys.reserve(state.elements.size() * global.keys.size());
    for (const runs::RunElement& from : state.elements) {
      spile_element element{
          global.keys.empty() ? nullptr : keys.data() + keys.size(), from.keys.size(), value_of(0), {}, nullptr};
      for (const runs::RunKey& key : from.keys)
        keys.push_back(std::visit([](const auto& value) { return value_of(value); }, key));
      if (const auto* statistics = std::get_if<RunStatistics>(&from.value)) {
        const auto count = static_cast<double>(statistics->count);
        element.statistics = {statistics->count, statistics->sum, statistics->min, statistics->max,
                              statistics->count > 0 ? static_cast<double>(statistics->sum) / count : 0};
        element.sketch = statistics;
      } else if (const auto* text = std::get_if<std::string>(&from.value)) {
        element.value = value_of(*text);
      } else {
        element.value = value_of(std::get<int64_t>(from.value));
      }
      elements.push_back(element);
    }
    shown_globals_.push_back({global.name.c_str(), type_of(global.type), static_cast<uint32_t>(global.keys.size()),
                              elements.data(), elements.size(), state.left_out, state.is_known, 0});
  }
  shown_probes_.clear();
  for (size_t i = 0; i < document.probes.size() && i < shown_tick_.hits.size(); ++i) {
    const runs::RunProbe& probe = document.probes[i];
    shown_probes_.push_back({probe.point.c_str(), probe.source.c_str(), probe.places, shown_tick_.hits[i].value_or(0),
                             shown_tick_.hits[i].has_value(), 0});
  }
  snapshot_ = {shown_tick_.time_ns,
               shown_globals_.data(),
               shown_globals_.size(),
               shown_probes_.data(),
               shown_probes_.size(),
               shown_tick_.skipped,
               shown_tick_.lost_records,
               shown_tick_.lost_elements,
               dropped_events_,
               state_ == State::kEnded && has_end_,
               0};
}

const spile_message* LiveSession::messages(size_t* count) const {
  shown_messages_.clear();
  for (const KeptMessage& message : messages_) {
    spile_message shown = message.shown;
    shown.text = message.text.c_str();
    shown.hint = message.hint.c_str();
    shown.file = message.file.c_str();
    shown.excerpt = message.excerpt.c_str();
    shown_messages_.push_back(shown);
  }
  *count = shown_messages_.size();
  return shown_messages_.data();
}

}  // namespace spile::client
