#include "sema/target_texts.h"

#include "syntax/visitor.h"

namespace spile::sema {

namespace {

using namespace syntax;

std::vector<PathStep>* path_of(Expression& x) {
  if (auto* variable = as<TargetVariable>(x)) return &variable->path;
  if (auto* operation = as<AtOperation>(x)) return &operation->path;
  if (auto* dereference = as<Dereference>(x)) return &dereference->path;
  return nullptr;
}

PathStep copy(const PathStep& step) {
  PathStep made{step.kind, step.range, step.name, step.number, nullptr};
  if (step.expression) made.expression = clone(*step.expression);
  return made;
}

}  // namespace

bool is_pretty(const std::vector<PathStep>& path) {
  return !path.empty() &&
         (path.back().kind == PathStep::Kind::kPretty || path.back().kind == PathStep::Kind::kPrettyDeep);
}

ExpressionPtr without_pretty(const Expression& expression) {
  ExpressionPtr copy = clone(expression);
  auto* path = path_of(*copy);
  if (path && is_pretty(*path)) path->pop_back();
  return copy;
}

std::unique_ptr<Print> empty_sprintf(const SourceRange& range) {
  auto print = std::make_unique<Print>(range);
  print->to_stream = false;
  print->with_format = true;
  print->format_range = range;
  return print;
}

void append_literal(Print& print, const std::string& text) {
  if (text.empty()) return;
  FormatPart part;
  part.literal = text;
  print.parts.push_back(part);
  for (char c : text) print.format += c == '%' ? std::string("%%") : std::string(1, c);
}

ExpressionPtr reached_from(const Expression& base, const std::vector<PathStep>& path) {
  ExpressionPtr value = clone(base);
  for (const PathStep& step : path) path_of(*value)->push_back(copy(step));
  return value;
}

void append(Print& print, const Expression& base, const std::vector<PrettyPart>& parts) {
  for (const PrettyPart& part : parts) {
    append_literal(print, part.literal);
    if (!part.has_value) continue;
    print.parts.push_back(part.format);
    print.format += part.format.kind == FormatPart::Kind::kString ? "%s" : "%i";  // for dumps; the parts are what counts
    print.arguments.push_back(reached_from(base, part.path));
  }
}

ExpressionPtr sprintf_of(const Expression& base, const std::vector<PrettyPart>& parts) {
  auto print = empty_sprintf(base.range);
  append(*print, base, parts);
  return print;
}

}  // namespace spile::sema
