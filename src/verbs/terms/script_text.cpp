#include "verbs/terms/script_text.h"

#include <algorithm>

#include "base/check.h"

namespace spile::verbs {

namespace {

class Filler {
 public:
  Filler(std::string_view rest, const ScriptValues& values) : rest_(rest), values_(values) {}

  std::string fill() {
    copy(true);
    CHECK(rest_.empty());
    return std::move(text_);
  }

 private:
  // Up to the end, or `%:` or `%)` of the condition that this text is in.
  void copy(bool wanted) {
    while (!rest_.empty() && !rest_.starts_with("%:") && !rest_.starts_with("%)")) {
      if (rest_.starts_with("%( ")) choose(wanted);
      else if (rest_.front() == '@' && rest_.size() > 1 && is_capital(rest_[1])) put(wanted);
      else {
        if (wanted) text_ += rest_.front();
        rest_.remove_prefix(1);
      }
    }
  }

  void put(bool wanted) {
    rest_.remove_prefix(1);
    const std::string& value = take_value();
    if (wanted) text_ += value;
  }

  void choose(bool wanted) {
    const bool begins_line = take_mark("%( ", wanted, false);
    const bool holds = !take_value().empty();
    CHECK(rest_.starts_with(" %?"));
    rest_.remove_prefix(1);
    take_mark("%?", wanted && begins_line, true);
    copy(wanted && holds);
    if (rest_.starts_with("%:")) {
      take_mark("%:", wanted, true);
      copy(wanted && !holds);
    }
    CHECK(rest_.starts_with("%)"));
    take_mark("%)", wanted, true);
  }

  // Takes a mark, and the rest of its line where that is empty. Returns whether it began its line.
  bool take_mark(std::string_view mark, bool wanted, bool with_end) {
    rest_.remove_prefix(mark.size());
    const size_t line = text_.find_last_not_of(' ') + 1;
    const bool begins_line = line == 0 || text_[line - 1] == '\n';
    if (wanted && begins_line && with_end && rest_.starts_with('\n')) {
      text_.resize(line);
      rest_.remove_prefix(1);
    }
    return begins_line;
  }

  const std::string& take_value() {
    const auto end = std::ranges::find_if_not(rest_, [](char c) { return is_capital(c) || c == '_'; });
    const std::string_view name(rest_.begin(), end);
    rest_.remove_prefix(name.size());
    const auto found = std::ranges::find(values_, name, [](const auto& value) { return value.first; });
    CHECK(found != values_.end());
    return found->second;
  }

  static bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }

  std::string_view rest_;
  const ScriptValues& values_;
  std::string text_;
};

}  // namespace

std::string script_text(std::string_view file, const ScriptValues& values) { return Filler(file, values).fill(); }

}  // namespace spile::verbs
