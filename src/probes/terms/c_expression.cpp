#include "probes/terms/c_expression.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <limits>
#include <string>

namespace spile::probes {

namespace {

constexpr int kMaxDepth = 100;  // of parentheses and signs

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// ORDER C_OPERATORS: longer spellings before their beginnings.
struct Operator {
  std::string_view text;
  int precedence;  // higher binds closer
};
constexpr std::array<Operator, 18> kOperators = {{
    {"<<", 8},
    {">>", 8},
    {"<=", 7},
    {">=", 7},
    {"==", 6},
    {"!=", 6},
    {"&&", 2},
    {"||", 1},
    {"*", 10},
    {"/", 10},
    {"%", 10},
    {"+", 9},
    {"-", 9},
    {"<", 7},
    {">", 7},
    {"&", 5},
    {"^", 4},
    {"|", 3},
}};

class Evaluator {
 public:
  Evaluator(std::string_view text, const std::function<Result<int64_t>(std::string_view)>& find) : text_(text), find_(find) {}

  Result<int64_t> whole() {
    TRY(int64_t value, chain(1));
    skip_blanks();
    if (at_ != text_.size()) return unexpected();
    return value;
  }

 private:
  // Operands with the operators between them that bind at least as closely as `precedence`.
  Result<int64_t> chain(int precedence) {
    TRY(int64_t left, operand());
    while (const Operator* found = next_operator()) {
      if (found->precedence < precedence) break;
      at_ += found->text.size();
      TRY(int64_t right, chain(found->precedence + 1));
      TRY(left, apply(found->text, left, right));
    }
    return left;
  }

  Result<int64_t> operand() {
    if (++depth_ > kMaxDepth) return Error{"the expression is nested too deeply", ""};
    Result<int64_t> value = operand_here();
    --depth_;
    return value;
  }

  Result<int64_t> operand_here() {
    skip_blanks();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '(') {
      ++at_;
      TRY(int64_t value, chain(1));
      skip_blanks();
      if (at_ == text_.size() || text_[at_] != ')') return unexpected();
      ++at_;
      return value;
    }
    if (c == '-' || c == '~' || c == '!' || c == '+') {
      ++at_;
      TRY(int64_t value, operand());
      return c == '-'   ? static_cast<int64_t>(-static_cast<uint64_t>(value))
             : c == '~' ? ~value
             : c == '!' ? int64_t{value == 0}
                        : value;
    }
    if (is_digit(c)) return number();
    if (is_letter(c)) {
      const size_t begin = at_;
      while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
      return find_(text_.substr(begin, at_ - begin));
    }
    return unexpected();
  }

  Result<int64_t> number() {
    int base = 10;
    if (text_.substr(at_).starts_with("0x") || text_.substr(at_).starts_with("0X")) {
      base = 16;
      at_ += 2;
    } else if (text_[at_] == '0') {
      base = 8;
    }
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value, base);
    if (error == std::errc::result_out_of_range) return Error{fmt::format("a number in '{}' has more than 64 bits", text_), ""};
    if (error != std::errc()) return unexpected();
    at_ = static_cast<size_t>(end - text_.data());
    while (at_ < text_.size() && std::string_view("uUlL").find(text_[at_]) != std::string_view::npos) ++at_;
    if (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) return unexpected();
    return static_cast<int64_t>(value);
  }

  const Operator* next_operator() {
    skip_blanks();
    for (const Operator& each : kOperators) {
      if (text_.substr(at_).starts_with(each.text)) return &each;
    }
    return nullptr;
  }

  static Result<int64_t> apply(std::string_view op, int64_t left, int64_t right) {
    const auto a = static_cast<uint64_t>(left), b = static_cast<uint64_t>(right);
    if (op == "/" || op == "%") {
      if (right == 0) return Error{"division by zero", ""};
      if (left == std::numeric_limits<int64_t>::min() && right == -1) return op == "/" ? left : 0;
      return op == "/" ? left / right : left % right;
    }
    if ((op == "<<" || op == ">>") && b > 63) return Error{fmt::format("a shift by {}: there are 64 bits", right), ""};
    if (op == "<<") return static_cast<int64_t>(a << b);
    if (op == ">>") return left >> b;
    if (op == "*") return static_cast<int64_t>(a * b);
    if (op == "+") return static_cast<int64_t>(a + b);
    if (op == "-") return static_cast<int64_t>(a - b);
    if (op == "&") return left & right;
    if (op == "^") return left ^ right;
    if (op == "|") return left | right;
    if (op == "<") return left < right;
    if (op == ">") return left > right;
    if (op == "<=") return left <= right;
    if (op == ">=") return left >= right;
    if (op == "==") return left == right;
    if (op == "!=") return left != right;
    return op == "&&" ? left && right : left || right;
  }

  Error unexpected() const {
    if (at_ >= text_.size()) return Error{fmt::format("'{}' ends too early for a constant expression", text_), ""};
    return Error{fmt::format("'{}' is not an expression of constants: unexpected '{}'", text_, text_.substr(at_, 1)),
                 "names, integers, parentheses and C's operators"};
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
  }

  std::string_view text_;
  const std::function<Result<int64_t>(std::string_view)>& find_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<int64_t> evaluate_c(std::string_view expression, const std::function<Result<int64_t>(std::string_view)>& find) {
  return Evaluator(expression, find).whole();
}

}  // namespace spile::probes
