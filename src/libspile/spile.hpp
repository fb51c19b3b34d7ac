// spile.hpp: run spile's probe scripts from a program in C++20 (docs/library-api.md). Over spile.h: threads, memory and the
// program that runs are as described there.
//
//   spile::Session session({.script = R"(global n  probe process.function("f") { n[$i]++ printf("%d\n", $i) })", .command =
//                                                  "./program"});
//   for (const spile::Event& event : session.events()) std::cout << event.number(0) << '\n';
//   for (const spile::Element& element : session.read().at("n").elements) ...
//
// Errors are exceptions of type spile::Error. Everything that is returned is a value of its own: it stays valid.
#ifndef SPILE_HPP
#define SPILE_HPP

#include <spile.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace spile {

// What spile says about a run. code: a negative value of spile_result, SPILE_WARNING or SPILE_NOTE. line and column from 1,
// columns in bytes; 0: it is about no place.
struct Message {
  int code = 0;
  std::string text, hint, file, excerpt;
  std::uint32_t line = 0, column = 0, end_line = 0, end_column = 0;

  Message() = default;
  explicit Message(const spile_message& from)
      : code(from.code),
        text(from.text),
        hint(from.hint),
        file(from.file),
        excerpt(from.excerpt),
        line(from.line),
        column(from.column),
        end_line(from.end_line),
        end_column(from.end_column) {}
};

// what() is one text: place, message, excerpt and hint, as the program spile prints them.
class Error : public std::runtime_error {
 public:
  explicit Error(Message message)
      : std::runtime_error(describe(message)), message_(std::make_shared<const Message>(std::move(message))) {}
  int code() const noexcept { return message_->code; }
  const Message& message() const noexcept { return *message_; }

 private:
  static std::string describe(const Message& message) {
    const std::string place = message.file + ":" + std::to_string(message.line) + ":" + std::to_string(message.column);
    const bool says_where = message.file.empty() || message.text.find(place) != std::string::npos;
    std::string text = says_where ? message.text : place + ": " + message.text;
    if (!message.excerpt.empty()) text += "\n" + message.excerpt.substr(0, message.excerpt.find_last_not_of('\n') + 1);
    if (!message.hint.empty()) text += "\n  hint: " + message.hint;
    return text;
  }
  std::shared_ptr<const Message> message_;  // copies of an exception throw nothing
};

// A number or a text: an argument of a printf, or a key.
using Value = std::variant<std::int64_t, std::string>;

namespace detail {
inline Value value_of(const spile_value& from) {
  if (from.type == SPILE_TEXT) return std::string(from.text, from.size);
  return from.number;
}
inline int milliseconds(std::optional<std::chrono::milliseconds> timeout) {
  return timeout ? static_cast<int>(std::clamp<std::int64_t>(timeout->count(), 0, std::numeric_limits<int>::max())) : -1;
}
}  // namespace detail

// What one printf, print or println of a handler printed.
struct Event {
  std::chrono::sys_time<std::chrono::nanoseconds> time;
  std::string probe;  // the point, as spile has resolved it
  std::string text;
  // what was printed, in order: arguments but constants, which are part of the format; of a histogram or a stack its text
  std::vector<Value> values;
  std::uint32_t cpu = 0;
  pid_t process = 0;            // whose handler it was; 0: not known, as of handlers in the kernel and in spile
  std::optional<pid_t> thread;  // on which the handler ran; absent: not known, as of handlers in the kernel and of timers

  // An argument of the printf. Throw std::out_of_range or std::bad_variant_access where there is no such number or text.
  std::int64_t number(std::size_t index) const { return std::get<std::int64_t>(values.at(index)); }
  const std::string& string(std::size_t index) const { return std::get<std::string>(values.at(index)); }
};

// What was added with <<<. Percentiles are known within 1/128; null: not known (spile.h, spile_percentile).
struct Statistics {
  std::uint64_t count = 0;
  std::int64_t sum = 0, min = 0, max = 0;
  double average = 0;
  std::optional<std::int64_t> p50, p90, p99, p999;
};

struct Element {
  std::vector<Value> keys;  // empty: not of an array
  std::variant<std::int64_t, std::string, Statistics> value;

  std::int64_t number() const { return std::get<std::int64_t>(value); }
  const std::string& string() const& { return std::get<std::string>(value); }
  std::string string() && { return std::get<std::string>(std::move(value)); }
  const Statistics& statistics() const& { return std::get<Statistics>(value); }
  Statistics statistics() && { return std::get<Statistics>(std::move(value)); }
};

struct Global {
  std::string name;
  std::vector<Element> elements;  // of a global that is not an array: one
  std::uint64_t left_out = 0;     // elements beyond 100,000
  bool is_known = true;           // false: handlers held its lock all the time, elements may be missing

  // The value of a global that is not an array. Throws std::out_of_range where it was not read.
  std::int64_t number() const { return elements.at(0).number(); }
  const std::string& string() const& { return elements.at(0).string(); }
  std::string string() && { return std::move(elements.at(0)).string(); }
  const Statistics& statistics() const& { return elements.at(0).statistics(); }
  Statistics statistics() && { return std::move(elements.at(0)).statistics(); }
};

struct Probe {
  std::string point, place;  // resolved; in the script: "a.stp:3:5"
  std::uint64_t places = 0;
  std::optional<std::uint64_t> hits;  // null: not counted for this kind
};

// What a run has at a moment.
struct Snapshot {
  std::chrono::sys_time<std::chrono::nanoseconds> time;
  std::vector<Global> globals;
  std::vector<Probe> probes;
  std::uint64_t skipped = 0, lost_records = 0, lost_elements = 0, dropped_events = 0;  // spile.h, spile_snapshot
  bool is_final = false;

  // Throws std::out_of_range where the script has no such global.
  const Global& at(std::string_view name) const& {
    for (const Global& global : globals) {
      if (global.name == name) return global;
    }
    throw std::out_of_range("the script has no global " + std::string(name));
  }
  // Of a snapshot that is not kept, a value: session.read().at("t").statistics() stays valid.
  Global at(std::string_view name) && { return std::move(const_cast<Global&>(std::as_const(*this).at(name))); }
};

struct Options {
  std::string script = {};                  // the text; or
  std::string script_file = {};             // its path; or
  std::string verb = {};                    // one of spile(1) that traces: "top"
  std::vector<std::string> arguments = {};  // of the script, or words and options of the verb
  std::vector<pid_t> processes = {};        // to trace; or
  std::string command = {};                 // to start and to trace
  std::vector<std::string> options = {};    // others of spile(1), each one word: "-DMAXMAPENTRIES=10000"
};

// One run of one script. Movable. One thread at a time, but stop() from any.
class Session {
 public:
  // Compiles the script and arms its probes. Throws Error.
  explicit Session(const Options& options) : session_(spile_new()) {
    if (!session_) throw std::bad_alloc();
    if (!options.script.empty()) check(spile_set_script(get(), options.script.c_str()));
    if (!options.script_file.empty()) check(spile_set_script_file(get(), options.script_file.c_str()));
    if (!options.verb.empty()) check(spile_set_verb(get(), options.verb.c_str()));
    for (const std::string& argument : options.arguments) check(spile_add_argument(get(), argument.c_str()));
    for (const pid_t process : options.processes) check(spile_add_process(get(), process));
    if (!options.command.empty()) check(spile_set_command(get(), options.command.c_str()));
    for (const std::string& option : options.options) check(spile_add_option(get(), option.c_str()));
    check(spile_start(get()));
  }

  // Waits for the next event. Null: the run has ended, or nothing came within the timeout (has_ended() says which). Throws Error
  // where the run has ended by an error.
  std::optional<Event> next(std::optional<std::chrono::milliseconds> timeout = {}) {
    const spile_event* from = nullptr;
    const int result = check(spile_next_event(get(), detail::milliseconds(timeout), &from));
    has_ended_ = result == SPILE_END;
    if (result != SPILE_OK) return {};
    Event event{std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(from->time_ns)),
                from->probe,
                std::string(from->text, from->text_size),
                {},
                from->cpu,
                from->process,
                {}};
    if (from->thread >= 0) event.thread = static_cast<pid_t>(from->thread);
    event.values.reserve(from->value_count);
    for (std::size_t i = 0; i < from->value_count; ++i) event.values.push_back(detail::value_of(from->values[i]));
    return event;
  }
  bool has_ended() const { return has_ended_; }

  // The events that are to come, as an input range, until the run ends. Its iterators throw Error where it ends by an error.
  class Events : public std::ranges::view_interface<Events> {
   public:
    class Iterator {
     public:
      using iterator_concept = std::input_iterator_tag;
      using value_type = Event;
      using difference_type = std::ptrdiff_t;
      Iterator() = default;
      explicit Iterator(Session* session) : session_(session), event_(session->next()) {}
      const Event& operator*() const { return *event_; }
      const Event* operator->() const { return &*event_; }
      Iterator& operator++() {
        event_ = session_->next();
        return *this;
      }
      void operator++(int) { ++*this; }
      bool operator==(std::default_sentinel_t) const { return !event_; }

     private:
      Session* session_ = nullptr;
      std::optional<Event> event_;
    };
    explicit Events(Session& session) : session_(&session) {}
    Iterator begin() const { return Iterator(session_); }
    std::default_sentinel_t end() const { return {}; }

   private:
    Session* session_;
  };
  Events events() { return Events(*this); }

  // Reads all globals and what the probes have counted: those of now, or of the end. Throws Error.
  Snapshot read() {
    const spile_snapshot* from = nullptr;
    if (check(spile_read(get(), -1, &from)) != SPILE_OK || !from)
      throw Error(local(SPILE_ERROR_STATE, "the run was stopped before it began"));
    Snapshot snapshot{std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(from->time_ns)),
                      {},
                      {},
                      from->skipped,
                      from->lost_records,
                      from->lost_elements,
                      from->dropped_events,
                      from->is_final != 0};
    for (std::size_t i = 0; i < from->global_count; ++i) snapshot.globals.push_back(global_of(from->globals[i]));
    for (std::size_t i = 0; i < from->probe_count; ++i) {
      const spile_probe& probe = from->probes[i];
      snapshot.probes.push_back(
          {probe.point, probe.place, probe.places, probe.is_counted ? std::optional(probe.hits) : std::nullopt});
    }
    return snapshot;
  }

  // Has the run end; the events that are left come before the end. Any thread.
  void stop() noexcept { spile_stop(get()); }

  // What spile has said so far.
  std::vector<Message> messages() const {
    std::size_t count = 0;
    const spile_message* from = spile_messages(session_.get(), &count);
    std::vector<Message> messages;
    for (std::size_t i = 0; i < count; ++i) messages.emplace_back(from[i]);
    return messages;
  }

  // For poll(2): spile.h, spile_descriptor().
  int descriptor() const { return spile_descriptor(get()); }
  // The C session, for functions of spile.h.
  spile_session* get() const { return session_.get(); }

 private:
  struct Free {
    void operator()(spile_session* session) const { spile_free(session); }
  };

  static Message local(int code, std::string text) {
    Message message;
    message.code = code;
    message.text = std::move(text);
    return message;
  }
  int check(int result) const {
    if (result >= 0) return result;
    if (result == SPILE_ERROR_MEMORY) throw std::bad_alloc();
    const spile_message* error = spile_last_error(get());
    throw Error(error ? Message(*error) : local(result, "spile failed"));
  }
  static Global global_of(const spile_global& from) {
    Global global{from.name, {}, from.left_out, from.is_known != 0};
    for (std::size_t i = 0; i < from.element_count; ++i) {
      const spile_element& element = from.elements[i];
      Element made;
      for (std::size_t key = 0; key < element.key_count; ++key) made.keys.push_back(detail::value_of(element.keys[key]));
      if (from.type == SPILE_STATISTICS) {
        const spile_statistics& s = element.statistics;
        made.value = Statistics{s.count,
                                s.sum,
                                s.min,
                                s.max,
                                s.average,
                                percentile(element, 50),
                                percentile(element, 90),
                                percentile(element, 99),
                                percentile(element, 99.9)};
      } else if (from.type == SPILE_TEXT) {
        made.value = std::string(element.value.text, element.value.size);
      } else {
        made.value = element.value.number;
      }
      global.elements.push_back(std::move(made));
    }
    return global;
  }
  static std::optional<std::int64_t> percentile(const spile_element& element, double percent) {
    std::int64_t value = 0;
    if (spile_percentile(&element, percent, &value) != SPILE_OK) return {};
    return value;
  }

  std::unique_ptr<spile_session, Free> session_;
  bool has_ended_ = false;
};

}  // namespace spile

#endif
