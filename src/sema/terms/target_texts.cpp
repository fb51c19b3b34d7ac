#include "sema/terms/target_texts.h"

#include <fmt/format.h>

#include <optional>

#include "abi/value_plan.h"
#include "sema/terms/intrinsics.h"
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
  return !path.empty() && (path.back().kind == PathStep::Kind::kPretty || path.back().kind == PathStep::Kind::kPrettyDeep);
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

std::string shown_name(const std::string& name) {
  std::string shown;
  for (char c : name) {
    if (c >= 0x20 && c < 0x7f) shown += c;
    else shown += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
  }
  return shown;
}

void append_literal(Print& print, const std::string& text) {
  if (text.empty()) return;
  FormatPart part;
  part.literal = text;
  print.parts.push_back(part);
  for (char c : text) print.format += c == '%' ? std::string("%%") : std::string(1, c);
}

void append_string(Print& print, ExpressionPtr value) {
  FormatPart part;
  part.kind = FormatPart::Kind::kString;
  print.parts.push_back(part);
  print.format += "%s";
  print.arguments.push_back(std::move(value));
}

ExpressionPtr reached_from(const Expression& base, const std::vector<PathStep>& path) {
  ExpressionPtr value = clone(base);
  for (const PathStep& step : path) path_of(*value)->push_back(copy(step));
  return value;
}

namespace {

ExpressionPtr call_of(const char* name, ExpressionPtr value, std::optional<int64_t> number) {
  SourceRange range = value->range;
  auto call = std::make_unique<Call>(range, name);
  call->intrinsic = find_intrinsic(name);
  call->arguments.push_back(std::move(value));
  if (number) call->arguments.push_back(std::make_unique<Number>(range, *number));
  return call;
}

// Elements `first` to `end` of an array of characters that lies in registers, the first one lowest.
ExpressionPtr packed_letters(const Expression& array, size_t first, size_t end) {
  auto binary = [&](Binary::Operator op, ExpressionPtr left, ExpressionPtr right) -> ExpressionPtr {
    auto made = std::make_unique<Binary>(array.range);
    made->op = op;
    made->left = std::move(left);
    made->right = std::move(right);
    return made;
  };
  auto number = [&](size_t value) { return std::make_unique<Number>(array.range, static_cast<int64_t>(value)); };
  ExpressionPtr word = number(0);
  for (size_t i = first; i < end; ++i) {
    std::vector<PathStep> element(1);
    element[0].kind = PathStep::Kind::kElement;
    element[0].number = static_cast<int64_t>(i);
    ExpressionPtr letter = binary(Binary::Operator::kAnd, reached_from(array, element), number(0xff));
    letter = binary(Binary::Operator::kShiftLeft, std::move(letter), number(8 * (i - first)));
    word = binary(Binary::Operator::kOr, std::move(word), std::move(letter));
  }
  return word;
}

ExpressionPtr letters_of(const Expression& array, size_t count) {
  ExpressionPtr call = call_of("__pretty_letters", packed_letters(array, 0, std::min<size_t>(count, 8)), std::nullopt);
  auto& arguments = static_cast<Call&>(*call).arguments;
  arguments.push_back(packed_letters(array, 8, count));
  arguments.push_back(std::make_unique<Number>(array.range, static_cast<int64_t>(count)));
  return call;
}

// A string in quotes, or the address where it can't be read; a wide character as a letter. Handlers in the kernel have no
// functions for that: strings as they are, and numbers.
void append_text(Print& print, const Expression& base, const PrettyPart& part, Domain domain) {
  bool is_string = !part.path.empty() && part.path.back().kind == PathStep::Kind::kText;
  FormatPart format = part.format;
  ExpressionPtr value = reached_from(base, part.path);
  if (domain == Domain::kKernel) {
    if (!is_string) format.kind = FormatPart::Kind::kSigned;
  } else if (is_string) {
    int64_t most = part.path.back().number;
    path_of(*value)->pop_back();
    value = part.letters ? letters_of(*value, part.letters) : call_of("__pretty_string", std::move(value), most);
  } else {
    value = call_of("__pretty_letter", std::move(value), std::nullopt);
  }
  bool quotes = is_string && domain == Domain::kKernel;
  if (quotes) append_literal(print, "\"");
  print.parts.push_back(format);
  print.format += format.kind == FormatPart::Kind::kString ? "%s" : "%i";
  print.arguments.push_back(std::move(value));
  if (quotes) append_literal(print, "\"");
}

// The header of abi/value_plan.h, and the plan.
std::string with_header(const std::string& plan, const Limits& limits) {
  std::string whole;
  for (int64_t limit : {limits.max_pretty_depth, limits.max_pretty_elements, limits.max_pretty_string}) {
    for (int shift = 0; shift < 32; shift += 8) whole += static_cast<char>(limit >> shift);
  }
  return whole + plan;
}

// The call of the runtime that prints a whole value.
ExpressionPtr walk_of(const Expression& base, const PrettyPart& part, const Limits& limits) {
  auto plan = std::make_unique<String>(base.range, with_header(part.plan, limits));
  if (part.words == 0) {
    ExpressionPtr place = reached_from(base, part.path);
    if (part.is_object) {
      if (auto* variable = as<TargetVariable>(*place)) variable->address_of = true;
      if (auto* operation = as<AtOperation>(*place)) operation->address_of = true;
      if (auto* dereference = as<Dereference>(*place)) dereference->address_of = true;
    }
    ExpressionPtr call = call_of(part.names_code ? "__pretty_named" : "__pretty_value", std::move(place), std::nullopt);
    static_cast<Call&>(*call).arguments.push_back(std::move(plan));
    return call;
  }
  ExpressionPtr call = call_of(part.names_code ? "__pretty_named_words" : "__pretty_words", std::move(plan), std::nullopt);
  for (uint32_t word = 0; word < abi::kMostValueWords; ++word) {
    ExpressionPtr value = std::make_unique<Number>(base.range, 0);
    if (word < part.words) {
      std::vector<PathStep> path = {};
      for (const PathStep& step : part.path) path.push_back(copy(step));
      path.emplace_back().kind = PathStep::Kind::kWord;
      path.back().number = 8 * static_cast<int64_t>(word);
      value = reached_from(base, path);
    }
    static_cast<Call&>(*call).arguments.push_back(std::move(value));
  }
  return call;
}

}  // namespace

ExpressionPtr sprintf_of(const Expression& base, const std::vector<PrettyPart>& parts, Domain domain, const Limits& limits) {
  auto print = empty_sprintf(base.range);
  print->if_unreadable = "ERROR";
  for (const PrettyPart& part : parts) {
    append_literal(*print, shown_name(part.literal));
    if (!part.has_value) continue;
    if (!part.plan.empty()) {
      append_string(*print, walk_of(base, part, limits));
      continue;
    }
    if (part.format.kind == FormatPart::Kind::kString) {
      append_text(*print, base, part, domain);
      continue;
    }
    print->parts.push_back(part.format);
    print->format += "%i";  // for dumps; the parts are what counts
    print->arguments.push_back(reached_from(base, part.path));
  }
  return print;
}

}  // namespace spile::sema
