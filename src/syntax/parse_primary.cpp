// The smallest expressions: literals, names, subscripts, calls, parentheses.

#include <utility>

#include "syntax/recursive_descent.h"

namespace spile::syntax {

// Adjacent string literals are one.
std::string Parser::parse_string_value() {
  std::string value = std::move(take().value);
  while (peek().kind == TokenKind::kString) value += take().value;
  return value;
}

ExpressionPtr Parser::parse_primary() {
  const Token& next = peek();
  ExpressionPtr primary;
  switch (next.kind) {
    case TokenKind::kNumber:
    case TokenKind::kString: return parse_literal("a literal");
    case TokenKind::kIdentifier: primary = parse_name(); break;
    case TokenKind::kDollar: return parse_target_variable();
    case TokenKind::kAt: primary = parse_at(); break;
    case TokenKind::kEmbedded: {
      Token code = take();
      if (!options_.guru && !options_.is_library) {
        tokens_.error(code, "embedded code needs guru mode").hint("run spile with -g");
      }
      auto node = std::make_unique<Embedded>(code.range);
      node->code = std::move(code.value);
      return finish(std::move(node));
    }
    case TokenKind::kOperator:
      if (next.is(op("["))) return parse_index_list_in();
      if (next.is(op("("))) {
        Token open = take();
        primary = parse_commas(parse_printable());
        if (!primary || !expect(")", "", &open)) return nullptr;
        break;
      }
      [[fallthrough]];
    default: report_no_expression(); return nullptr;
  }
  if (primary && (at("->") || is_at_element_of(*primary))) return parse_dereference(std::move(primary));
  return primary;
}

// (p)[1], f(x)[1], a[k][1], @entry($p)[1]: the value points to an array. A statement may begin with a bracket, on a line of its
// own.
bool Parser::is_at_element_of(const Expression& pointer) {
  if (!at("[") || peek().line_start) return false;
  return !as<Histogram>(pointer) && !as<HistogramIndex>(pointer) && !as<Statistic>(pointer);
}

void Parser::report_no_expression() {
  Diagnostic& diagnostic = error_expected("an expression");
  const Token& next = peek();
  if (next.is(op("="))) diagnostic.hint("== compares, = assigns; there is no ===");
  if (next.is(op("*")) || next.is(op("%"))) diagnostic.hint("this operator needs a value on both sides");
  if (next.kind == TokenKind::kKeyword) {
    diagnostic.hint(next.line_start ? "the expression before it is not complete"
                                    : "'" + std::string(next.text) + "' is a keyword and can't name a variable");
  }
}

ExpressionPtr Parser::parse_name() {
  Token name = take();
  if (at("(")) {
    if (is_print_name(name.text)) return parse_print(name);
    auto call = std::make_unique<Call>(name.range, std::string(name.text));
    if (!parse_arguments(call->arguments, name)) return nullptr;
    call->range = since(name.range);
    return finish(std::move(call));
  }
  if (at("[")) return parse_index(std::move(name));
  return finish(std::make_unique<Variable>(name.range, std::string(name.text)));
}

bool Parser::parse_arguments(std::vector<ExpressionPtr>& arguments, const Token& name) {
  Token open = take();
  if (accept(")")) return true;
  do {
    arguments.push_back(parse_expression());
    if (!arguments.back()) return false;
  } while (accept(","));
  return expect(")", "after the arguments of '" + std::string(name.text) + "'", &open);
}

// `name` was taken, the next token is '['.
std::unique_ptr<Index> Parser::parse_index(Token name) {
  bool slice = std::exchange(slice_allowed_, false);
  Token open = take();
  auto index = std::make_unique<Index>(name.range);
  index->array = std::make_unique<Variable>(name.range, std::string(name.text));
  if (!parse_indexes(index->indexes) || !expect("]", "after the subscript", &open)) return nullptr;
  index->range = since(name.range);
  for (const ExpressionPtr& subscript : index->indexes) {
    if (subscript || slice) continue;
    tokens_.error(index->range, "a slice with '*' can be deleted, iterated (foreach) or tested ([k, *] in array), not read");
    return nullptr;
  }
  return finish_as(std::move(index));
}

// Subscripts up to, but without, the ']'. `*` gives null.
bool Parser::parse_indexes(std::vector<ExpressionPtr>& indexes) {
  do {
    if (at("*") && (peek(1).is(op(",")) || peek(1).is(op("]")))) {
      take();
      indexes.push_back(nullptr);
      continue;
    }
    if (at("]")) {
      error_expected("a subscript");
      return false;
    }
    indexes.push_back(parse_expression());
    if (!indexes.back()) return false;
  } while (accept(","));
  return true;
}

}  // namespace spile::syntax
