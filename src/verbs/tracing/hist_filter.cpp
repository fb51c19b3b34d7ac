#include "verbs/tracing/hist_filter.h"

#include <fmt/format.h>

#include <cctype>

namespace spile::verbs {

namespace {

constexpr std::string_view kBlanks = " \t\n";
constexpr int kMostNesting = 64;

// "k*[0-9]?" as a regular expression for the whole text.
std::string pattern_of_glob(const std::string& glob) {
  std::string pattern = "^";
  for (size_t i = 0; i < glob.size(); ++i) {
    const char c = glob[i];
    const size_t close = c == '[' ? glob.find(']', i + 2) : std::string::npos;
    if (c == '*') {
      pattern += ".*";
    } else if (c == '?') {
      pattern += '.';
    } else if (close != std::string::npos) {
      std::string set = glob.substr(i, close - i + 1);
      if (set[1] == '!') set[1] = '^';
      pattern += set;
      i = close;
    } else {
      if (std::string_view("\\^$.|()[]{}+").find(c) != std::string_view::npos) pattern += '\\';
      pattern += c;
    }
  }
  return pattern + "$";
}

class FilterParser {
 public:
  FilterParser(const std::string& text, const FindField& find) : text_(text), find_(find) {}

  Result<std::string> parse() {
    TRY(std::string condition, either());
    if (!at_end()) return wrong(fmt::format("'{}' is not expected here", rest()));
    return condition;
  }

 private:
  Error wrong(const std::string& what) const {
    return {fmt::format("filter '{}', column {}: {}", text_, at_ + 1, what),
            "a filter is FIELD OP VALUE, joined by && and ||: 'if count > 4096 && comm ~ \"post*\"'"};
  }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(kBlanks, at_), text_.size()); }
  bool at_end() {
    skip_blanks();
    return at_ == text_.size();
  }
  std::string rest() const { return text_.substr(at_); }
  bool take(std::string_view token) {
    skip_blanks();
    if (!std::string_view(text_).substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }

  Result<std::string> either() {
    TRY(std::string left, all());
    while (take("||")) {
      TRY(std::string right, all());
      left += " || " + right;
    }
    return left;
  }

  Result<std::string> all() {
    TRY(std::string left, one());
    while (take("&&")) {
      TRY(std::string right, one());
      left += " && " + right;
    }
    return left;
  }

  Result<std::string> one() {
    if (nesting_ == kMostNesting) return wrong("too many parentheses");
    if (take("!")) {
      ++nesting_;
      Result<std::string> negated = one();
      --nesting_;
      if (!negated.ok()) return negated;
      return "!(" + *negated + ")";
    }
    if (!take("(")) return predicate();
    ++nesting_;
    Result<std::string> inner = either();
    --nesting_;
    if (!inner.ok()) return inner;
    if (!take(")")) return wrong("')' is missing");
    return "(" + *inner + ")";
  }

  // A field's name may be a path of a probe point's variable: $file->f_pos.
  std::string take_name() {
    skip_blanks();
    size_t end = at_;
    while (end < text_.size()) {
      const char c = text_[end];
      if (isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.' || c == '[' || c == ']') ++end;
      else if (c == '-' && text_.substr(end).starts_with("->")) end += 2;
      else break;
    }
    std::string name = text_.substr(at_, end - at_);
    at_ = end;
    return name;
  }

  Result<std::string> predicate() {
    skip_blanks();
    const size_t begin = at_;
    const std::string name = take_name();
    if (name.empty()) return wrong("the name of a field is missing");
    TRY(EventField field, find_(name));
    std::string op;
    for (const char* known : {"==", "!=", "<=", ">=", "<", ">", "&", "~"}) {
      if (take(known)) {
        op = known;
        break;
      }
    }
    if (op.empty())
      return wrong(fmt::format("an operator must follow '{}': ==, !=, <, <=, >, >=, & for numbers; ==, !=, ~ for texts", name));
    if (op == "&" && text_.substr(at_).starts_with("&")) return wrong(fmt::format("'{}' lacks an operator and a value", name));
    if (field.kind == EventField::Kind::kOther) {
      at_ = begin;
      return wrong(fmt::format("'{}' is a {}: neither a number nor a text", name, field.type));
    }
    skip_blanks();
    const size_t value_at = at_;
    const bool is_quoted = at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'');
    TRY(std::string value, take_value());
    if (field.kind == EventField::Kind::kText) return text_predicate(field, op, value);
    if (op == "~" || is_quoted || !is_number(value)) {
      at_ = value_at;
      return wrong(op == "~" ? fmt::format("'{}' is a number; ~ is for texts", name)
                             : fmt::format("'{}' is a number, but '{}' is not", name, value));
    }
    if (op == "&") return fmt::format("({} & {}) != 0", field.expression, value);
    return fmt::format("{} {} {}", field.expression, op, value);
  }

  Result<std::string> text_predicate(const EventField& field, const std::string& op, const std::string& value) {
    if (op == "~") return fmt::format("{} =~ {}", field.expression, quoted(pattern_of_glob(value)));
    if (op != "==" && op != "!=") return wrong(fmt::format("'{}' is a text: its operators are ==, != and ~", field.name));
    return fmt::format("{} {} {}", field.expression, op, quoted(value));
  }

  Result<std::string> take_value() {
    if (at_end()) return wrong("a value is missing");
    const char quote = text_[at_];
    if (quote == '"' || quote == '\'') {
      const size_t close = text_.find(quote, at_ + 1);
      if (close == std::string::npos) return wrong(fmt::format("the closing {} is missing", quote));
      std::string value = text_.substr(at_ + 1, close - at_ - 1);
      at_ = close + 1;
      return value;
    }
    const size_t end = std::min(text_.find_first_of(" \t\n()&|", at_), text_.size());
    if (end == at_) return wrong("a value is missing");
    std::string value = text_.substr(at_, end - at_);
    at_ = end;
    return value;
  }

  static bool is_number(const std::string& text) {
    size_t at = text.starts_with("-") ? 1 : 0;
    const bool hex = text.substr(at).starts_with("0x");
    if (hex) at += 2;
    if (at == text.size() || text.size() - at > (hex ? 16 : 19)) return false;
    for (; at < text.size(); ++at) {
      const auto c = static_cast<unsigned char>(text[at]);
      if (!(hex ? isxdigit(c) : isdigit(c))) return false;
    }
    return true;
  }

  const std::string& text_;
  const FindField& find_;
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace

Result<std::string> filter_condition(const std::string& filter, const FindField& find) {
  return FilterParser(filter, find).parse();
}

}  // namespace spile::verbs
