// The conditions of %( condition %? then %: else %): comparisons joined by && and ||, of which && binds tighter.
//
//   kernel_v kernel_vr systemtap_v   versions: == and != take a glob, the others compare as strverscmp(3) does
//   arch runtime systemtap_privilege CONFIG_*   texts: == and !=, with a glob on the right
//   CONFIG_* that is a number   a number, beside another one, which may be quoted
//   guru_mode, numbers, $#   numbers          "text" @1 @#   texts, compared byte by byte

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/text/glob.h"
#include "syntax/preprocessor.h"

namespace spile::syntax {

namespace {

bool is_comparison(const Token& token) {
  for (std::string_view name : {"==", "!=", "<", ">", "<=", ">="}) {
    if (token.is(op(name))) return true;
  }
  return false;
}

// The whole text as a number in C's notation.
std::optional<int64_t> as_number(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  int64_t value = strtoll(text.c_str(), &end, 0);
  if (text.empty() || errno != 0 || *end != 0) return std::nullopt;
  return value;
}

bool holds(uint32_t comparison, int order) {
  switch (comparison) {
    case op("=="): return order == 0;
    case op("!="): return order != 0;
    case op("<"): return order < 0;
    case op(">"): return order > 0;
    case op("<="): return order <= 0;
    default: return order >= 0;
  }
}

}  // namespace

void Preprocessor::open_condition(const Token& open) {
  Token token = expanded();
  bool ok = true;
  bool truth = evaluate_any(token, ok);
  if (ok && !token.is(op("%?"))) {
    error(token.kind == TokenKind::kEnd ? open : token, "expected '%?' after the condition")
        .hint("%( condition %? tokens %: tokens %)");
    ok = false;
  }
  if (!ok) {
    // Neither branch is better than the other; the first is read, so that mistakes in it show too.
    while (token.kind != TokenKind::kEnd && !token.is(op("%?")) && !token.is(op("%)"))) token = expanded();
    if (!token.is(op("%?"))) return;
    truth = true;
  }
  conditions_.push_back({open, false});
  if (!truth) skip(true);
}

// Passes what the innermost open condition excludes: up to its %: where that is asked for and there, or through its %),
// which ends it.
void Preprocessor::skip(bool stop_at_else) {
  size_t frame = frames_.size();
  Token wrong;
  for (size_t depth = 0;;) {
    bool at_end_of_frame = frame > 0 && frames_.back().position == frames_.back().tokens.size();
    if (at_end_of_frame) return leave_frame();
    Token token = raw();
    if (token.problem) wrong = token;
    if (token.kind == TokenKind::kEnd) {
      // An unclosed string or comment may have hidden the %).
      if (wrong.problem) checked(wrong);
      error(conditions_.back().open, "this %( is never closed").hint("close it with %)");
      return conditions_.pop_back();
    }
    if (depth == 0 && token.is(op("%:"))) {
      if (!stop_at_else) {
        error(token, "a second '%:' in this condition").note(conditions_.back().open.range, "the condition");
        continue;
      }
      conditions_.back().in_else = true;
      return;
    }
    // Macros are defined before conditions are decided. (A library may choose between definitions.)
    if (token.kind == TokenKind::kAt && token.text == "@define" && frames_.empty() && !options_.is_library) {
      define(checked(token));
      continue;
    }
    if (token.is(op("%("))) ++depth;
    if (token.is(op("%)")) && depth-- == 0) return conditions_.pop_back();
  }
}

bool Preprocessor::evaluate_any(Token& token, bool& ok) {
  bool truth = evaluate_all(token, ok);
  while (ok && token.is(op("||"))) {
    token = expanded();
    bool right = evaluate_all(token, ok);
    truth = truth || right;
  }
  return truth;
}

bool Preprocessor::evaluate_all(Token& token, bool& ok) {
  bool truth = evaluate_comparison(token, ok);
  while (ok && token.is(op("&&"))) {
    token = expanded();
    bool right = evaluate_comparison(token, ok);
    truth = truth && right;
  }
  return truth;
}

bool Preprocessor::evaluate_comparison(Token& token, bool& ok) {
  Operand left, right;
  ok = read_operand(token, left);
  if (!ok) return false;
  Token comparison = token;
  if (!is_comparison(comparison)) {
    error(comparison, "expected a comparison (== != < > <= >=) in the condition")
        .hint("'%(' starts a condition; a remainder needs a space before the parenthesis: a % (b)");
    ok = false;
    return false;
  }
  token = expanded();
  ok = read_operand(token, right);
  return ok && compare(comparison, std::move(left), std::move(right), ok);
}

// Reads one operand, and leaves in `token` the one after it.
bool Preprocessor::read_operand(Token& token, Operand& operand) {
  bool negative = token.is(op("-"));
  if (negative) token = expanded();
  if (token.kind == TokenKind::kNumber) {
    operand.number = negative ? static_cast<int64_t>(-static_cast<uint64_t>(token.number)) : token.number;
  } else if (token.kind == TokenKind::kString && !negative) {
    operand.kind = Operand::Kind::kText;
    operand.text = token.value;
  } else if (token.kind == TokenKind::kIdentifier && !negative) {
    if (!read_name(token, operand)) return false;
  } else {
    error(token, "expected a name, a string or a number in the condition")
        .hint("names: kernel_v kernel_vr arch runtime guru_mode systemtap_v systemtap_privilege CONFIG_...");
    return false;
  }
  token = expanded();
  return true;
}

bool Preprocessor::read_name(const Token& token, Operand& operand) {
  std::string_view name = token.text;
  operand.kind = Operand::Kind::kPattern;
  if (name == "kernel_v" || name == "kernel_vr") {
    operand.kind = Operand::Kind::kVersion;
    operand.text = options_.kernel_release;
    if (name == "kernel_v") operand.text.resize(std::min(operand.text.find('-'), operand.text.size()));
  } else if (name == "systemtap_v") {
    operand.kind = Operand::Kind::kVersion;
    operand.text = options_.systemtap_version;
  } else if (name == "arch") {
    operand.text = options_.architecture;
  } else if (name == "runtime") {
    operand.text = options_.runtime;
  } else if (name == "systemtap_privilege") {
    operand.text = options_.privilege;
  } else if (name == "guru_mode") {
    operand.kind = Operand::Kind::kNumber;
    operand.is_flag = true;
    operand.number = options_.guru;
  } else if (name.starts_with("CONFIG_")) {
    operand.is_setting = true;
    if (options_.kernel_config) operand.text = options_.kernel_config(name);
  } else {
    std::vector<std::string> names = {"kernel_v",    "kernel_vr",          "arch", "runtime", "guru_mode",
                                      "systemtap_v", "systemtap_privilege"};
    std::string near = nearest_name(name, names);
    error(token, "unknown name '" + std::string(name) + "' in the condition")
        .hint(near.empty() ? "names: kernel_v kernel_vr arch runtime guru_mode systemtap_v systemtap_privilege CONFIG_..."
                           : "did you mean '" + near + "'?");
    return false;
  }
  return true;
}

bool Preprocessor::compare(const Token& comparison, Operand left, Operand right, bool& ok) {
  using Kind = Operand::Kind;
  uint32_t with = comparison.op;
  bool is_equality = with == op("==") || with == op("!=");
  if (right.is_flag || (left.is_flag && !is_equality)) {
    ok = false;
    error(comparison, right.is_flag ? "write the name on the left of the comparison, and the number on the right"
                                    : "this name can only be compared with == and !=");
    return false;
  }
  // CONFIG_HZ >= 1000, CONFIG_HZ >= "1000"
  if (left.kind == Kind::kPattern && (right.kind == Kind::kNumber || right.kind == Kind::kText)) {
    std::optional<int64_t> wanted = right.kind == Kind::kNumber ? right.number : as_number(right.text);
    std::optional<int64_t> value = as_number(left.text);
    if (left.is_setting && left.text.empty()) value = 0;
    if (wanted && value) return holds(with, *value < *wanted ? -1 : *value > *wanted);
    // A setting that is not a number is unequal to every number, and neither above nor below it.
    if (right.kind == Kind::kNumber || (wanted && !is_equality)) return with == op("!=");
  }
  if ((left.kind == Kind::kNumber) != (right.kind == Kind::kNumber)) {
    ok = false;
    error(comparison, "a string can't be compared with a number");
    return false;
  }
  if (left.kind == Kind::kNumber) {
    return holds(with, left.number < right.number ? -1 : left.number > right.number);
  }
  if (right.kind == Kind::kVersion || right.kind == Kind::kPattern) {
    ok = left.kind != Kind::kText;
    if (!ok) error(comparison, "write the name on the left of the comparison, and the string on the right");
  }
  if (left.kind == Kind::kText) return holds(with, left.text.compare(right.text));
  if (is_equality) {
    bool matches = glob_matches_without_escapes(right.text, left.text);
    return matches == (with == op("=="));
  }
  if (left.kind == Kind::kPattern) {
    ok = false;
    error(comparison, "this name can only be compared with == and !=");
    return false;
  }
  return holds(with, strverscmp(left.text.c_str(), right.text.c_str()));
}

}  // namespace spile::syntax
