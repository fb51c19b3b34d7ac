#include "session/output/handler_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/messages.h"
#include "base/text/number_text.h"
#include "runs/text/error_hints.h"

namespace spile::session {

namespace {

// place: "a.stp:3:5", or "".
Message message_of(const std::string& text, std::string_view excerpt, std::string_view place) {
  Message message(MessageKind::kHandlerError, text);
  message.excerpt = excerpt;
  // A text of the script's own has no place.
  message.is_of_script = place.empty();
  if (!place.empty()) message.hint = runs::hint_of_error(text);
  const size_t second = place.rfind(':');
  const size_t first = second == std::string_view::npos || second == 0 ? second : place.rfind(':', second - 1);
  if (first == std::string_view::npos) return message;
  message.file = place.substr(0, first);
  std::from_chars(place.data() + first + 1, place.data() + second, message.line);
  std::from_chars(place.data() + second + 1, place.data() + place.size(), message.column);
  message.end_line = message.line;
  // The carets of the excerpt are as long as the place.
  message.end_column =
      message.column + 1 + static_cast<uint32_t>(excerpt.size() - std::min(excerpt.size(), excerpt.rfind('^') + 2));
  return message;
}

}  // namespace

void HandlerErrors::take(const Record& record) {
  switch (record.header.kind) {
    case abi::kWarning: return warn_once(record.text_argument(script_.string_limit), record.origin == Record::Origin::kTarget);
    case abi::kErrorText: return raise(std::string(record.text_argument(script_.string_limit)));
    case abi::kError: {
      if (record.header.id >= script_.errors.size()) return count_disbelieved();
      const syntax::ErrorText& error = script_.errors[record.header.id];
      runs::PayloadReader arguments = record.arguments();
      return raise(runs::error_text(error, arguments), error.excerpt, error.place);
    }
    default: return;
  }
}

void HandlerErrors::warn_once(std::string_view text, bool is_of_process) {
  if (!shows_warnings() || warned_.contains(text)) return;
  if (is_of_process && ++process_warnings_ > kMostWarnings) return;
  constexpr size_t kMostRemembered = 1000;
  if (warned_.size() < kMostRemembered) warned_.emplace(text);
  file_.flush();
  Message message(MessageKind::kWarning, std::string(text));
  message.is_of_script = true;
  say(std::move(message));
}

// How often an error occurred is printed at the end: many threads may raise it before they are stopped.
void HandlerErrors::raise(std::string text, std::string_view excerpt, std::string_view place) {
  if (messages_.suppress_handler_errors) {
    ++suppressed_;
    return;
  }
  ++errors_;
  const bool is_of_verb = messages_.verb.is_set() && !place.empty();
  last_ = is_of_verb ? runs::error_of_verb(text, place, messages_.verb.name, messages_.verb.when_full) : std::move(text);
  if (auto known = counts_.find(last_); known != counts_.end()) {
    ++known->second;
    return;
  }
  if (counts_.size() >= kMostErrors) {
    ++not_printed_;
    return;
  }
  counts_.emplace(last_, 1);
  file_.flush();
  // The run of a verb goes on (MAXERRORS, cli/command_line.cpp).
  if (is_of_verb) warn(last_ + ": hits like this are left out, and counted");
  else say(message_of(last_, excerpt, place));
}

void HandlerErrors::raise_overflow() {
  if (messages_.verb.is_set() || std::exchange(overflowed_, true)) return;
  raise("Array overflow, check MAXMAPENTRIES or the array's size: threads have filled in more elements than it holds");
}

void HandlerErrors::report_damage(uint32_t ring) {
  ++damaged_;
  if (damaged_ <= kMostDamaged) warn(fmt::format("output ring {} is damaged, its content is lost", ring));
}

std::vector<std::string> HandlerErrors::refusals() const {
  std::vector<std::string> warnings;
  auto add = [&](uint64_t number, std::string_view what) {
    if (number > 0) warnings.push_back(fmt::format("{} {}", number, what));
  };
  add(damaged_ > kMostDamaged ? damaged_ - kMostDamaged : 0, "more times, an output ring was damaged");
  add(disbelieved_,
      "records dropped that no handler of the script can have written: a traced process has written to spile's memory");
  add(actions_ignored_, "calls of system() or switch_file() ignored: too many at once");
  add(process_warnings_ > kMostWarnings ? process_warnings_ - kMostWarnings : 0, "more warnings not printed");
  add(not_printed_, "more errors not printed");
  return warnings;
}

std::vector<std::string> HandlerErrors::repeated() const {
  std::vector<std::string> warnings;
  for (const auto& [text, times] : counts_) {
    if (messages_.verb.is_set())
      warnings.push_back(fmt::format("{} {}: {}", times, plural(times, "hit left out", "hits left out"), text));
    else if (times > 1) warnings.push_back(fmt::format("{} times: ERROR: {}", times, text));
  }
  return warnings;
}

}  // namespace spile::session
