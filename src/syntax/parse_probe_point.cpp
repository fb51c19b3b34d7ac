// Probe points: components joined by dots, each perhaps with a literal in parentheses. Names may hold the glob `*`.
// {a,b} stands for the points with a and with b in that place, and is expanded here: no later pass sees it.
//
//   process("/bin/ls").function("main"), syscall.*open*.return ?, kernel.{function("f"),trace("g")} if (on) { }

#include <algorithm>

#include "syntax/recursive_descent.h"

namespace spile::syntax {

namespace {

// {a,b}.{c,d}... multiplies; beyond this it is a mistake.
constexpr size_t kMaximumAlternatives = 10'000;
constexpr size_t kMaximumComponents = 100;

}  // namespace

bool Parser::parse_points(std::vector<ProbePoint>& points) {
  do {
    if (!parse_point(points)) return false;
  } while (accept(","));
  return true;
}

bool Parser::parse_point(std::vector<ProbePoint>& points) {
  size_t from = points.size();
  if (!parse_components(points)) return false;
  if (!parse_marks(points, from)) return false;
  if (points.size() <= kMaximumAlternatives) return true;
  tokens_.error(points.back().range,
                "too many alternatives: more than " + std::to_string(kMaximumAlternatives) + " probe points");
  return false;
}

// ? ! if (condition), each at most once, for the points from `from` on.
bool Parser::parse_marks(std::vector<ProbePoint>& points, size_t from) {
  ExpressionPtr condition;
  bool optional = false, sufficient = false;
  while (true) {
    if (!optional && accept("?")) {
      optional = true;
    } else if (!sufficient && accept("!")) {
      sufficient = true;
    } else if (!condition && at_keyword("if")) {
      take();
      condition = parse_condition("if");
      if (!condition) return false;
    } else {
      break;
    }
  }
  for (size_t i = from; i < points.size(); ++i) {
    points[i].optional |= optional;
    points[i].sufficient |= sufficient;
    if (condition && points[i].condition) {
      tokens_.error(condition->range, "this probe point has a condition already")
          .note(points[i].condition->range, "the first condition");
      return false;
    }
    if (condition) points[i].condition = clone(*condition);
  }
  return true;
}

// Appends the points that a dotted sequence stands for: more than one where it holds alternatives.
bool Parser::parse_components(std::vector<ProbePoint>& points) {
  Nested nested(*this);
  if (!nested) return false;
  SourceRange begin = peek().range;
  std::vector<ProbePoint> heads(1);
  do {
    std::vector<ProbePoint> tails;
    if (at("{")) {
      if (!parse_alternatives(tails)) return false;
    } else {
      tails.emplace_back();
      if (!parse_component(tails.back().components.emplace_back())) return false;
    }
    for (const ProbePoint& head : heads) {
      if (!head.optional && !head.sufficient && !head.condition) continue;
      tokens_.error(since(begin), "'?', '!' and conditions are only possible after the last component")
          .hint("split the probe point: a.b ?, c.b");
      return false;
    }
    if (heads.size() * tails.size() > kMaximumAlternatives) {
      tokens_.error(since(begin), "too many alternatives: more than " + std::to_string(kMaximumAlternatives) + " probe points");
      return false;
    }
    std::vector<ProbePoint> joined;
    joined.reserve(heads.size() * tails.size());
    for (const ProbePoint& head : heads) {
      for (const ProbePoint& tail : tails) {
        ProbePoint& point = joined.emplace_back(clone(head));
        point.components.insert(point.components.end(), tail.components.begin(), tail.components.end());
        point.optional |= tail.optional;
        point.sufficient |= tail.sufficient;
        if (tail.condition) point.condition = clone(*tail.condition);
      }
    }
    heads = std::move(joined);
    if (heads.front().components.size() > kMaximumComponents) {
      tokens_.error(since(begin), "a probe point has at most " + std::to_string(kMaximumComponents) + " components");
      return false;
    }
  } while (accept("."));
  for (ProbePoint& point : heads) {
    point.range = since(begin);
    points.push_back(std::move(point));
  }
  return true;
}

// {a.b("x")?, c}
bool Parser::parse_alternatives(std::vector<ProbePoint>& points) {
  Token open = take();
  do {
    size_t from = points.size();
    if (!parse_components(points)) return false;
    if (!parse_marks(points, from)) return false;
  } while (accept(","));
  return expect("}", "after the alternatives", &open);
}

bool Parser::parse_component(PointComponent& component) {
  auto is_part = [](const Token& token) {
    return token.kind == TokenKind::kIdentifier || token.kind == TokenKind::kKeyword || token.is(op("*"));
  };
  if (!is_part(peek())) {
    Diagnostic& diagnostic = error_expected("the name of a probe point");
    if (peek().kind == TokenKind::kString)
      diagnostic.hint("names are written without quotes, parameters in parentheses: function(\"main\")");
    if (at(".")) diagnostic.hint("write one dot between two names");
    return false;
  }
  component.range = peek().range;
  do {
    Token part = take();
    component.name += part.text;
  } while (!peek().space_before && (is_part(peek()) || (peek().kind == TokenKind::kNumber && component.name.back() == '*')));
  if (at("(") && !parse_component_parameter(component)) return false;
  component.range = since(component.range);
  return true;
}

bool Parser::parse_component_parameter(PointComponent& component) {
  Token open = take();
  ExpressionPtr literal = parse_literal("a string or a number in parentheses");
  if (!literal) return false;
  if (auto* text = as<String>(literal)) component.text = std::move(text->value);
  if (auto* number = as<Number>(literal)) component.number = number->value;
  return expect(")", "after the parameter of '" + component.name + "'", &open);
}

}  // namespace spile::syntax
