#include "syntax/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

namespace spile::syntax {

namespace {

// std::isalpha and friends depend on the locale; scripts don't.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_name(char c) { return is_letter(c) || is_digit(c) || c == '$'; }
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'; }

int digit_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

constexpr std::array<std::string_view, 20> kKeywords = {"break",    "catch",  "continue", "delete", "else",  "for",  "foreach",
                                                        "function", "global", "if",       "in",     "limit", "long", "next",
                                                        "private",  "probe",  "return",   "string", "try",   "while"};

// Longest first: ORDER OPERATORS.
constexpr std::array<std::string_view, 34> kOperators = {
    ">>>=", ">>>", "<<<", "<<=", ">>=", "->", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", ".=",
    "==",   "!=",  "<=",  ">=",  "&&",  "||", "<<", ">>", "=~", "!~", "%(", "%?", "%:", "%)", "%}", "$$", "$"};

constexpr std::string_view kSingles = "(){}[];,.:?!~=+-*/%&|^<>";

}  // namespace

void Token::fail(std::string message, std::string hint, bool hides_rest) {
  problem = std::make_shared<const Problem>(Problem{std::move(message), std::move(hint), false, hides_rest});
}

void Token::warn(std::string message, std::string hint) {
  if (!problem) problem = std::make_shared<const Problem>(Problem{std::move(message), std::move(hint), true, false});
}

bool is_keyword(std::string_view name) { return std::binary_search(kKeywords.begin(), kKeywords.end(), name); }

void Lexer::read_as(const std::string& version) {
  knows_private_ = strverscmp(version.c_str(), "3.0") >= 0;
  knows_hexadecimal_escapes_ = strverscmp(version.c_str(), "2.3") >= 0;
}

SourceRange Lexer::range(size_t begin, size_t end) const {
  if (!file_) return place_;
  return {file_, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
}

void Lexer::skip_byte_order_mark() {
  if (text_.starts_with("\xef\xbb\xbf")) position_ = 3;
}

// Passes white space and comments. False: a comment is malformed, and token has the problem.
bool Lexer::skip_blanks(Token& token) {
  token.space_before = token.line_start = position_ == 0;
  while (!ended()) {
    char c = text_[position_];
    if (is_blank(c)) {
      token.line_start |= c == '\n';
      ++position_;
    } else if (c == '#' || (c == '/' && at(1) == '/')) {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else if (c == '/' && at(1) == '*') {
      size_t end = text_.find("*/", position_ + 2);
      if (end == std::string_view::npos) {
        token.kind = TokenKind::kInvalid;
        token.fail("this comment is never closed", "end it with */", true);
        token.range = range(position_, position_ + 2);
        position_ = text_.size();
        return false;
      }
      position_ = end + 2;
    } else {
      break;
    }
    token.space_before = true;
  }
  return true;
}

Token Lexer::next() {
  Token token;
  if (!skip_blanks(token)) return token;
  size_t begin = position_;
  char c = at(0);
  if (ended()) {
    token.kind = TokenKind::kEnd;
  } else if (is_letter(c)) {
    read_identifier(token);
  } else if (is_digit(c)) {
    read_number(token);
  } else if (c == '"') {
    read_string(token);
  } else if (c == '\'') {
    read_quoted_character(token);
  } else if (c == '%' && at(1) == '{') {
    read_embedded(token);
  } else if (c == '@' || (c == '$' && (is_name(at(1)) || at(1) == '#'))) {
    read_sigil(token);
  } else {
    read_operator(token);
  }
  token.range = range(begin, position_);
  token.text = text_.substr(begin, position_ - begin);
  return token;
}

void Lexer::read_identifier(Token& token) {
  size_t begin = position_;
  while (is_name(at(0))) ++position_;
  std::string_view name = text_.substr(begin, position_ - begin);
  bool is_word = is_keyword(name) && (knows_private_ || name != "private");
  token.kind = is_word ? TokenKind::kKeyword : TokenKind::kIdentifier;
}

// Decimal, 0x hexadecimal, 0 octal. Values up to 2^64-1 are accepted and wrap to negative ones, as in SystemTap.
void Lexer::read_number(Token& token) {
  token.kind = TokenKind::kNumber;
  size_t begin = position_;
  while (is_digit(at(0)) || is_letter(at(0))) ++position_;
  std::string_view digits = text_.substr(begin, position_ - begin);
  std::string written(digits.substr(0, 40));
  if (at(0) == '.' && is_digit(at(1)) && std::all_of(digits.begin(), digits.end(), is_digit)) {
    ++position_;
    while (is_digit(at(0)) || is_letter(at(0))) ++position_;
    token.fail("the language has no floating-point numbers",
               "use a smaller unit and integers; to join strings, put spaces around the '.'");
    return;
  }

  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    base = 16;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits[0] == '0') {
    base = 8;
    digits.remove_prefix(1);
  }
  uint64_t value = 0;
  auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (status == std::errc::result_out_of_range) {
    token.fail("number out of range: " + written, "numbers have 64 bits: at most 9223372036854775807, or 0xffffffffffffffff");
  } else if (status != std::errc() || end != digits.data() + digits.size()) {
    bool octal_digit = base == 8 && std::all_of(digits.begin(), digits.end(), is_digit);
    token.fail("not a number: " + written, octal_digit  ? "a number that starts with 0 is octal, with digits 0 to 7"
                                           : base == 10 ? "numbers have no unit suffix; names can't start with a digit"
                                           : written.starts_with("0b") ? "write binary numbers in hexadecimal"
                                                                       : "");
  } else {
    token.number = static_cast<int64_t>(value);
  }
}

void Lexer::read_string(Token& token) {
  token.kind = TokenKind::kString;
  ++position_;
  size_t nul = std::string::npos;  // where the value ends, as C's strings do
  while (true) {
    if (ended() || at(0) == '\n') {
      return token.fail("this string is never closed",
                        "end it with \" on the same line; adjacent strings are joined, so a long one can be split");
    }
    char c = text_[position_++];
    if (c == '"') break;
    if (c == '\\') {
      size_t length = token.value.size();
      read_escape(token);
      bool is_nul = token.value.size() > length && token.value[length] == '\0';
      if (is_nul) nul = std::min(nul, length);
    } else if (c == '\0') {
      token.fail("a string can't hold a NUL byte");
    } else {
      token.value += c;
    }
  }
  if (nul == std::string::npos) return;
  token.value.resize(nul);
  token.warn("a string ends at its first NUL byte", "printf(\"%c\", 0) writes one");
}

// After the backslash: C's escapes. A backslash before any other character only vanishes, as SystemTap documents.
void Lexer::read_escape(Token& token) {
  if (ended()) return;
  char c = text_[position_++];
  int code = -1;
  bool is_known = c != 'x' || knows_hexadecimal_escapes_;
  switch (is_known ? c : '\0') {
    case 'a': code = '\a'; break;
    case 'b': code = '\b'; break;
    case 't': code = '\t'; break;
    case 'n': code = '\n'; break;
    case 'v': code = '\v'; break;
    case 'f': code = '\f'; break;
    case 'r': code = '\r'; break;
    case '\\':
    case '"':
    case '\'':
    case '?': code = c; break;
    case '\n': return;  // a line continued
    case 'x':
      code = 0;
      if (digit_value(at(0)) > 15) return token.fail("\\x needs hexadecimal digits after it");
      for (int i = 0; i < 2 && digit_value(at(0)) < 16; ++i) code = code * 16 + digit_value(text_[position_++]);
      break;
    default:
      if (digit_value(c) < 8) {
        code = digit_value(c);
        for (int i = 0; i < 2 && digit_value(at(0)) < 8; ++i) code = code * 8 + digit_value(text_[position_++]);
        break;
      }
      token.warn(std::string("'\\") + (static_cast<unsigned char>(c) < 0x20 ? '?' : c) +
                     "' is not an escape sequence; the backslash is dropped",
                 "write \\\\ for a backslash");
      code = static_cast<unsigned char>(c);
  }
  if (code > 255) return token.fail("octal escape out of range", "a byte is at most \\377");
  token.value += static_cast<char>(code);
}

void Lexer::read_quoted_character(Token& token) {
  token.kind = TokenKind::kString;
  size_t end = text_.find_first_of("'\n", position_ + 1);
  if (end == std::string_view::npos || text_[end] == '\n') {
    ++position_;
    token.kind = TokenKind::kInvalid;
    return token.fail("strings need double quotes");
  }
  token.value = text_.substr(position_ + 1, end - position_ - 1);
  token.fail("strings need double quotes", "write \"" + token.value.substr(0, 40) + "\"");
  position_ = end + 1;
}

void Lexer::read_embedded(Token& token) {
  token.kind = TokenKind::kEmbedded;
  size_t end = text_.find("%}", position_ + 2);
  if (end == std::string_view::npos) {
    position_ = text_.size();
    return token.fail("this embedded code is never closed", "end it with %}", true);
  }
  token.value = text_.substr(position_ + 2, end - position_ - 2);
  position_ = end + 2;
}

// @name @1 @# $name $$name $1 $#
void Lexer::read_sigil(Token& token) {
  char sigil = text_[position_++];
  if (at(0) == '#') {
    token.kind = TokenKind::kArgument;
    ++position_;
  } else if (is_digit(at(0))) {
    token.kind = TokenKind::kArgument;
    size_t begin = position_;
    while (is_digit(at(0))) ++position_;
    auto [end, status] = std::from_chars(text_.data() + begin, text_.data() + position_, token.number);
    if (status != std::errc()) token.number = INT64_MAX;
    if (token.number == 0) token.fail("script arguments are numbered from 1");
  } else {
    token.kind = sigil == '@' ? TokenKind::kAt : TokenKind::kDollar;
    size_t begin = position_;
    while (is_name(at(0))) ++position_;
    std::string_view name = text_.substr(begin, position_ - begin);
    bool only_dollars = name.find_first_not_of('$') == std::string_view::npos;
    if (sigil == '@' && only_dollars) {
      token.kind = TokenKind::kInvalid;
      token.fail("a name must follow '@'",
                 at(0) == '[' ? "bpftrace's maps are globals here: global map, and map[tid()] = 1" : "");
    } else if (sigil == '$' && only_dollars) {
      // `$$` at the end of a path: $x->list[0]$$
      token.kind = TokenKind::kOperator;
      token.op = op("$$");
      position_ = begin + 1;
    }
  }
}

void Lexer::read_operator(Token& token) {
  token.kind = TokenKind::kOperator;
  for (std::string_view candidate : kOperators) {
    if (candidate[0] != at(0) || text_.substr(position_, candidate.size()) != candidate) continue;
    token.op = op(candidate);
    position_ += candidate.size();
    return;
  }
  if (kSingles.find(at(0)) == std::string_view::npos) return read_invalid(token);
  token.op = op(text_.substr(position_++, 1));
}

// One error for a run of bytes that cannot stand in a script.
void Lexer::read_invalid(Token& token) {
  token.kind = TokenKind::kInvalid;
  auto is_invalid = [](char c) {
    return !is_name(c) && !is_blank(c) && c != '"' && c != '\'' && c != '@' && c != '#' &&
           kSingles.find(c) == std::string_view::npos;
  };
  char first = text_[position_++];
  if (static_cast<unsigned char>(first) > 0x20 && static_cast<unsigned char>(first) < 0x7f) {
    return token.fail(std::string("unexpected character '") + first + "'",
                      first == '\\' ? "lines need no continuation character" : "");
  }
  while (!ended() && is_invalid(text_[position_])) ++position_;
  std::string byte;
  for (int shift : {4, 0}) byte += "0123456789abcdef"[static_cast<unsigned char>(first) >> shift & 15];
  bool is_ascii = static_cast<unsigned char>(first) < 0x80;
  token.fail("invalid byte 0x" + byte, is_ascii ? "" : "names are ASCII; other characters may stand in strings and comments");
}

}  // namespace spile::syntax
