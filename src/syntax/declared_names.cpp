#include "syntax/declared_names.h"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace spile::syntax {

namespace {

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name_part(char c) { return is_name_start(c) || (c >= '0' && c <= '9') || c == '$'; }

// The bytes at which skip_body() has something to do.
constexpr std::array<bool, 256> kMatterInBodies = [] {
  std::array<bool, 256> matter{};
  for (unsigned char c : {'{', '}', '"', '#', '/', '%'}) matter[c] = true;
  return matter;
}();

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  DeclaredNames declarations() {
    DeclaredNames found;
    bool is_private = false;
    while (skip_to_code()) {
      if (peek() == '{' && skip_body()) continue;
      if (!is_name_start(peek())) {
        bool is_at = peek() == '@';
        // A name after these is not a declaration: .function, $global, ->probe.
        bool binds = peek() == '.' || peek() == '$' || peek() == '>';
        ++at_;
        if ((is_at || binds) && is_name_start(peek())) {
          std::string_view word = take_name();
          if (is_at && word == "define") add_name(found.macros);
        }
        continue;
      }
      std::string_view word = take_name();
      if (word == "private") {
        is_private = true;
        // private x; stands for private global x;
        size_t before = at_;
        skip_to_code();
        std::string_view next = is_name_start(peek()) ? take_name() : std::string_view();
        at_ = next == "function" || next == "global" ? before : at_;
        if (next != "function" && next != "global") is_private = false;
        continue;
      }
      if (word == "function") {
        std::vector<std::string_view> ignored;
        add_name(is_private ? ignored : is_intrinsic() ? found.intrinsics : found.functions);
      } else if (word == "global") {
        std::vector<std::string_view> ignored;
        take_globals(is_private ? ignored : found.globals);
      } else if (word == "probe") {
        take_probe(found.alias_heads);
      }
      is_private = false;
    }
    return found;
  }

  std::vector<std::string_view> macro_uses() {
    std::vector<std::string_view> found;
    while (skip_to_code()) {
      bool is_at = peek() == '@';
      ++at_;
      if (is_at && is_name_start(peek())) found.push_back(take_name());
    }
    return found;
  }

 private:
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void skip_past(std::string_view end) {
    size_t found = text_.find(end, at_);
    at_ = found == std::string_view::npos ? text_.size() : found + end.size();
  }

  // Behind /*. Looks for the slash: there are fewer of them than stars in the library's comments.
  void skip_comment() {
    const size_t begin = at_;
    for (size_t slash = text_.find('/', begin); slash != std::string_view::npos; slash = text_.find('/', slash + 1)) {
      if (slash == begin || text_[slash - 1] != '*') continue;
      at_ = slash + 1;
      return;
    }
    at_ = text_.size();
  }

  void skip_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    ++at_;
  }

  // Goes to the next byte that is not in white space, a comment, a string or embedded C. False at the end.
  bool skip_to_code() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == ' ' || (c >= '\t' && c <= '\r')) {
        ++at_;
      } else if (c == '#' || (c == '/' && peek(1) == '/')) {
        // $# and @# are the number of the script's arguments.
        if (c == '#' && at_ > 0 && (text_[at_ - 1] == '$' || text_[at_ - 1] == '@')) {
          ++at_;
        } else {
          skip_past("\n");
        }
      } else if (c == '/' && peek(1) == '*') {
        at_ += 2;
        skip_comment();
      } else if (c == '%' && peek(1) == '{') {
        at_ += 2;
        skip_past("%}");
      } else if (c == '"') {
        skip_string();
      } else {
        return true;
      }
    }
    at_ = text_.size();
    return false;
  }

  // At a {: goes behind the } that closes it, as nothing is declared in between. False, and stays, where a condition of the
  // preprocessor or the end of the text makes that uncertain.
  bool skip_body() {
    const size_t begin = at_;
    for (int depth = 0;;) {
      at_ = std::find_if(text_.begin() + at_, text_.end(), [](unsigned char c) { return kMatterInBodies[c]; }) - text_.begin();
      if (at_ == text_.size()) break;
      if (text_[at_] == '{') {
        ++depth, ++at_;
      } else if (text_[at_] == '}') {
        ++at_;
        if (--depth == 0) return true;
      } else if (text_[at_] == '%' && (peek(1) == '(' || peek(1) == '?' || peek(1) == ':')) {
        break;
      } else if (const size_t here = at_; skip_to_code() && at_ == here) {
        ++at_;
      }
    }
    at_ = begin;
    return false;
  }

  std::string_view take_name() {
    size_t begin = at_;
    while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void add_name(std::vector<std::string_view>& names) {
    if (skip_to_code() && is_name_start(peek())) names.push_back(take_name());
  }

  // Whether the body of the function whose name comes next says that the runtime implements it.
  bool is_intrinsic() const {
    size_t body = text_.find('{', at_);
    return body != std::string_view::npos && text_.substr(body).starts_with("{ /* intrinsic */ %}");
  }

  // a, b = 1, c[10], d%[5]: names at the list's own level.
  void take_globals(std::vector<std::string_view>& names) {
    add_name(names);
    while (skip_to_code()) {
      size_t before = at_;
      char c = peek();
      if (c == ',') {
        ++at_;
        add_name(names);
      } else if (c == '[' || c == ']' || c == '%' || c == '=' || c == '-' || c == '(' || c == ')' || c == '?' || c == ':' ||
                 (c >= '0' && c <= '9')) {
        ++at_;
        while (is_name_part(peek())) ++at_;  // 0x10
      } else {
        at_ = before;
        return;
      }
    }
  }

  // The points up to the body, or up to the = that makes them names of an alias.
  void take_probe(std::vector<std::string_view>& heads) {
    std::vector<std::string_view> names;
    bool at_head = true;
    int depth = 0;
    while (skip_to_code()) {
      char c = peek();
      if (depth == 0 && c == '{') return;
      if (depth == 0 && (c == '=' || (c == '+' && peek(1) == '='))) {
        heads.insert(heads.end(), names.begin(), names.end());
        return;
      }
      if (is_name_start(c)) {
        const size_t begin = at_;
        take_name();
        if (depth == 0 && at_head) {
          if (peek() == '.' && is_name_start(peek(1))) {
            ++at_;
            take_name();
          }
          names.push_back(text_.substr(begin, at_ - begin));
        }
        at_head = false;
        continue;
      }
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (depth == 0 && c == ',') at_head = true;
      ++at_;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

DeclaredNames scan_declarations(std::string_view text) { return Scanner(text).declarations(); }

std::vector<std::string_view> scan_macro_uses(std::string_view text) { return Scanner(text).macro_uses(); }

}  // namespace spile::syntax
