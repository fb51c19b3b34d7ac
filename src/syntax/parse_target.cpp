// Expressions that start with $ or @: traced variables and their paths, the language's @operations, statistics and histograms.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "syntax/recursive_descent.h"

namespace spile::syntax {

namespace {

// What the @operations with general arguments take. `strings`: the first argument that must be a string literal, and
// all after it.
struct AtForm {
  std::string_view name;
  size_t minimum, maximum;
  size_t strings;
  bool has_path;
  std::string_view usage;
};

constexpr size_t kNoStrings = 99;
constexpr int64_t kMaximumVarianceBits = 62;

constexpr std::array<AtForm, 13> kAtForms = {{
    {"@var", 1, 2, 0, true, "@var(\"name@file.c\", \"module\")"},
    {"@cast", 2, 3, 1, true, "@cast(pointer, \"type\", \"module\")"},
    {"@const", 1, 1, 0, false, "@const(\"NAME\")"},
    {"@enum", 1, 2, 0, false, "@enum(\"NAME\", \"module\")"},
    {"@enumname", 1, 3, kNoStrings, false, "@enumname($x), @enumname(value, \"type\", \"module\")"},
    {"@enum_name", 1, 3, kNoStrings, false, "@enum_name($x), @enum_name(value, \"type\", \"module\")"},
    {"@sizeof", 1, 2, 1, false, "@sizeof(\"type\", \"module\")"},
    {"@choose_defined", 2, 2, kNoStrings, false, "@choose_defined($a, $b)"},
    {"@kderef", 2, 2, kNoStrings, false, "@kderef(size, address)"},
    {"@uderef", 2, 2, kNoStrings, false, "@uderef(size, address)"},
    {"@kregister", 1, 1, kNoStrings, false, "@kregister(number)"},
    {"@uregister", 1, 1, kNoStrings, false, "@uregister(number)"},
    {"@probewrite", 1, 1, kNoStrings, false, "@probewrite(variable)"},
}};

// Cuts `$` or `$$` off the end of a name, and gives the step that it stands for.
std::optional<PathStep::Kind> take_pretty_mark(std::string& name) {
  size_t last = name.find_last_not_of('$');
  if (last == std::string::npos) return std::nullopt;
  size_t marks = name.size() - last - 1;
  if (marks == 0 || marks > 2) return std::nullopt;
  name.resize(last + 1);
  return marks == 1 ? PathStep::Kind::kPretty : PathStep::Kind::kPrettyDeep;
}

PathStep pretty_step(PathStep::Kind kind, SourceRange range) {
  range.begin = range.end - (kind == PathStep::Kind::kPretty ? 1 : 2);
  PathStep step;
  step.kind = kind;
  step.range = range;
  return step;
}

struct Decimal {
  int64_t value, scale;  // the number is value / scale; scale: 1, 10, 100 or 1000
};

// "99.9": digits, perhaps with a point and one to three decimals.
std::optional<Decimal> read_decimal(std::string_view text) {
  Decimal number{0, 1};
  bool behind_point = false;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool has_digits_around = at > 0 && at + 1 < text.size();
    if (text[at] == '.' && !behind_point && has_digits_around) {
      behind_point = true;
      continue;
    }
    if (text[at] < '0' || text[at] > '9' || number.scale == 1000 || number.value > 100000) return std::nullopt;
    number.value = 10 * number.value + (text[at] - '0');
    if (behind_point) number.scale *= 10;
  }
  return text.empty() ? std::nullopt : std::optional(number);
}

}  // namespace

std::optional<Statistic::Operator> statistic_operator(std::string_view at_name) {
  if (at_name == "@count") return Statistic::Operator::kCount;
  if (at_name == "@sum") return Statistic::Operator::kSum;
  if (at_name == "@min") return Statistic::Operator::kMin;
  if (at_name == "@max") return Statistic::Operator::kMax;
  if (at_name == "@avg") return Statistic::Operator::kAverage;
  if (at_name == "@variance") return Statistic::Operator::kVariance;
  if (at_name == "@percentile") return Statistic::Operator::kPercentile;
  return std::nullopt;
}

// ---------------------------------------------------------------- paths

ExpressionPtr Parser::parse_target_variable() {
  Token token = take();
  auto node = std::make_unique<TargetVariable>(token.range);
  node->name = token.text;
  if (auto mark = take_pretty_mark(node->name)) {
    node->path.push_back(pretty_step(*mark, token.range));
  } else if (node->name.ends_with('$')) {
    tokens_.error(token, "too many '$' after the name").hint("$x$ prints a structure, $x$$ also prints nested structures");
    return nullptr;
  } else if (!parse_path(node->path)) {
    return nullptr;
  }
  node->range = since(token.range);
  return finish(std::move(node));
}

// ->member [index] ... and, at the end, $ or $$.
bool Parser::parse_path(std::vector<PathStep>& path) {
  while (true) {
    Token first = peek();
    PathStep step;
    if (accept("->")) {
      const Token& name = peek();
      if (name.kind != TokenKind::kIdentifier && name.kind != TokenKind::kKeyword) {
        error_expected("the name of a member after '->'");
        return false;
      }
      step.kind = PathStep::Kind::kMember;
      step.name = name.text;
      SourceRange range = take().range;
      auto mark = take_pretty_mark(step.name);
      step.range = first.range.through(range);
      path.push_back(std::move(step));
      if (mark) {
        path.push_back(pretty_step(*mark, range));
        return true;
      }
    } else if (at("[")) {
      do {  // [i, j] is [i][j]
        take();
        ExpressionPtr index = parse_expression();
        if (!index) return false;
        PathStep& element = path.emplace_back();
        auto* number = as<Number>(index);
        element.kind = number ? PathStep::Kind::kElement : PathStep::Kind::kElementExpr;
        if (number) element.number = number->value;
        else element.expression = std::move(index);
        element.range = since(first.range);
      } while (at(","));
      if (!expect("]", "after the index", &first)) return false;
      path.back().range = since(first.range);
    } else if ((at("$") || at("$$")) && !first.space_before) {
      take();
      path.push_back(pretty_step(first.is(op("$")) ? PathStep::Kind::kPretty : PathStep::Kind::kPrettyDeep, first.range));
      return true;
    } else {
      return true;
    }
  }
}

ExpressionPtr Parser::parse_dereference(ExpressionPtr pointer) {
  auto node = std::make_unique<Dereference>(pointer->range);
  node->pointer = std::move(pointer);
  if (!parse_path(node->path)) return nullptr;
  node->range = since(node->range);
  return finish(std::move(node));
}

// ---------------------------------------------------------------- @operations

ExpressionPtr Parser::parse_at() {
  if (auto operation = statistic_operator(peek().text)) {
    Token name = take();
    return parse_statistic(name, *operation);
  }
  if (peek().text == "@hist_log" || peek().text == "@hist_linear") return parse_histogram_expression();
  Token name = take();
  Token open = peek();
  if (name.text == "@defined" || name.text == "@entry") {
    ExpressionPtr operand;
    if (!expect("(", "after '" + std::string(name.text) + "'") || !(operand = parse_expression())) return nullptr;
    if (!expect(")", "after the operand of '" + std::string(name.text) + "'", &open)) return nullptr;
    if (name.text == "@defined") {
      auto node = std::make_unique<Defined>(since(name.range));
      node->operand = std::move(operand);
      return finish(std::move(node));
    }
    auto node = std::make_unique<Entry>(since(name.range));
    node->operand = std::move(operand);
    return finish(std::move(node));
  }
  if (name.text == "@perf") {
    auto node = std::make_unique<Perf>(name.range);
    if (!expect("(", "after '@perf'")) return nullptr;
    if (peek().kind != TokenKind::kString) {
      error_expected("the counter's name, a string").hint("@perf(\"instructions\")");
      return nullptr;
    }
    node->counter = parse_string_value();
    if (!expect(")", "after the counter's name", &open)) return nullptr;
    node->range = since(name.range);
    return finish(std::move(node));
  }
  return parse_at_operation(name);
}

ExpressionPtr Parser::parse_at_operation(const Token& name) {
  auto form = std::find_if(kAtForms.begin(), kAtForms.end(), [&](const AtForm& f) { return f.name == name.text; });
  if (form == kAtForms.end()) {
    report_unknown_at(name);
    return nullptr;
  }
  auto node = std::make_unique<AtOperation>(name.range);
  node->name = name.text;
  if (!at("(")) {
    error_expected("'(' after '" + node->name + "'").hint(std::string(form->usage));
    return nullptr;
  }
  if (!parse_arguments(node->arguments, name)) return nullptr;
  node->range = since(name.range);
  if (node->arguments.size() < form->minimum || node->arguments.size() > form->maximum) {
    std::string wants = std::to_string(form->minimum);
    if (form->maximum != form->minimum) wants += " or " + std::to_string(form->maximum);
    tokens_
        .error(node->range, node->name + " takes " + wants + (wants == "1" ? " argument, not " : " arguments, not ") +
                                std::to_string(node->arguments.size()))
        .hint(std::string(form->usage));
    return nullptr;
  }
  for (size_t i = form->strings; i < node->arguments.size(); ++i) {
    if (as<String>(node->arguments[i])) continue;
    tokens_.error(node->arguments[i]->range, "this argument of " + node->name + " must be a string literal")
        .hint(std::string(form->usage));
    return nullptr;
  }
  if (form->has_path && !parse_path(node->path)) return nullptr;
  node->range = since(name.range);
  return finish(std::move(node));
}

void Parser::report_unknown_at(const Token& name) {
  std::vector<std::string> known = tokens_.macro_names();
  known.insert(known.end(), at_operators().begin(), at_operators().end());
  std::string near = nearest_name(name.text.substr(1), known);
  if (at("=") || at("[") || at("++")) {
    const std::string map(name.text.substr(1));
    tokens_.error(name, "unknown operator or macro '" + std::string(name.text) + "'")
        .hint(fmt::format("bpftrace's maps are globals here: global {0}, and {0}[tid()] = 1", map));
    return;
  }
  tokens_.error(name, "unknown operator or macro '" + std::string(name.text) + "'")
      .hint(near.empty() ? "define a macro before its first use: @define " + std::string(name.text.substr(1)) + " %( ... %)"
                         : "did you mean '@" + near + "'?");
}

// ---------------------------------------------------------------- statistics

// A number literal, perhaps negative.
bool Parser::parse_constant(int64_t& value, std::string_view what) {
  if (peek().kind == TokenKind::kNumber || (at("-") && peek(1).kind == TokenKind::kNumber)) {
    ExpressionPtr number = parse_literal(what);
    value = as<Number>(number)->value;
    return true;
  }
  error_expected(what);
  return false;
}

// The aggregate of a statistic: a global, or an element of an array.
ExpressionPtr Parser::parse_statistic_operand() {
  ExpressionPtr stats = parse_expression();
  if (!stats || as<Variable>(stats) || as<Index>(stats)) return stats;
  tokens_.error(stats->range, "statistics need a global or an element of an array").hint("collect values first: stats <<< value");
  return nullptr;
}

// The second argument of @percentile: a number of 0 to 100, as any expression, or with a fraction as a literal: "99.9".
bool Parser::parse_percent(Statistic& statistic) {
  if (!expect(",", "and the percentage: @percentile(stats, 99)")) return false;
  statistic.percent = parse_expression();
  if (!statistic.percent) return false;
  const SourceRange range = statistic.percent->range;
  if (const auto* text = as<String>(statistic.percent)) {
    std::optional<Decimal> decimal = read_decimal(text->value);
    if (!decimal) {
      tokens_.error(range, "expected a percentage with at most three decimals, found \"" + text->value + "\"")
          .hint("@percentile(stats, \"99.9\")");
      return false;
    }
    statistic.percent_scale = decimal->scale;
    statistic.percent = std::make_unique<Number>(range, decimal->value);
  }
  const auto* number = as<Number>(statistic.percent);
  if (!number || (number->value >= 0 && number->value <= 100 * statistic.percent_scale)) return true;
  tokens_.error(range, "a percentage goes from 0 to 100");
  return false;
}

ExpressionPtr Parser::parse_statistic(const Token& name, Statistic::Operator operation) {
  auto node = std::make_unique<Statistic>(name.range);
  node->op = operation;
  Token open = peek();
  if (!expect("(", "after '" + std::string(name.text) + "'")) return nullptr;
  node->stats = parse_statistic_operand();
  if (!node->stats) return nullptr;
  if (operation == Statistic::Operator::kVariance && accept(",") &&
      !parse_constant(node->bits, "the number of bits to shift by")) {
    return nullptr;
  }
  if (operation == Statistic::Operator::kPercentile && !parse_percent(*node)) return nullptr;
  if (!expect(")", "after the operand of '" + std::string(name.text) + "'", &open)) return nullptr;
  node->range = since(name.range);
  if (node->bits < 0 || node->bits > kMaximumVarianceBits) {
    tokens_.error(node->range, "@variance shifts by 0 to " + std::to_string(kMaximumVarianceBits) + " bits");
    return nullptr;
  }
  return finish(std::move(node));
}

std::unique_ptr<Histogram> Parser::parse_histogram() {
  Token name = take();
  auto node = std::make_unique<Histogram>(name.range);
  node->is_log = name.text == "@hist_log";
  Token open = peek();
  if (!expect("(", "after '" + std::string(name.text) + "'")) return nullptr;
  node->stats = parse_statistic_operand();
  if (!node->stats) return nullptr;
  if (!node->is_log) {
    bool ok = expect(",", "and the lower bound: @hist_linear(stats, low, high, width)") &&
              parse_constant(node->low, "the lower bound, a number") &&
              expect(",", "and the upper bound: @hist_linear(stats, low, high, width)") &&
              parse_constant(node->high, "the upper bound, a number") &&
              expect(",", "and the width of a bucket: @hist_linear(stats, low, high, width)") &&
              parse_constant(node->width, "the width of a bucket, a number");
    if (!ok) return nullptr;
  }
  if (accept(",")) {
    ExpressionPtr unit = parse_expression();
    if (!unit) return nullptr;
    const auto* text = as<String>(unit);
    constexpr size_t kLongestUnit = 16;
    if (!text || text->value.size() > kLongestUnit) {
      tokens_.error(unit->range, "expected the unit of the values, at most 16 characters in quotes")
          .hint(std::string(name.text) + (node->is_log ? "(stats, \"ns\")" : "(stats, low, high, width, \"ns\")"));
      return nullptr;
    }
    node->has_summary = true;
    node->unit = text->value;
  }
  if (!expect(")", "after the operand of '" + std::string(name.text) + "'", &open)) return nullptr;
  node->range = since(name.range);
  return finish_as(std::move(node));
}

// @hist_log(stats), or one of its buckets.
ExpressionPtr Parser::parse_histogram_expression() {
  std::unique_ptr<Histogram> histogram = parse_histogram();
  if (!histogram || !at("[")) return histogram;
  Token open = take();
  auto node = std::make_unique<HistogramIndex>(histogram->range);
  node->histogram = std::move(histogram);
  node->bucket = parse_expression();
  if (!node->bucket || !expect("]", "after the bucket", &open)) return nullptr;
  node->range = since(node->range);
  return finish(std::move(node));
}

void Parser::report_histogram(const Expression& histogram) {
  tokens_.error(histogram.range, "a histogram is not a value: it can be printed, iterated or subscripted")
      .hint("print(@hist_log(stats)), foreach (bucket in @hist_log(stats)) or @hist_log(stats)[bucket]");
}

}  // namespace spile::syntax
