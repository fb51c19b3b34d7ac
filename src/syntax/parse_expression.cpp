// Expressions. Precedence, loosest first, as the language reference lists it:
//
//   , (where no list is)    = += .= <<< ...  (right)    ? :  (right)    ||    &&    |    ^    &    in    < > <= >= == != =~ !~
//   << >> >>>    . (concatenation)    + -    * / %    unary + - ! ~ ++ -- &    postfix ++ --  ->  []

#include "syntax/recursive_descent.h"

namespace spile::syntax {

namespace {

constexpr int kInPrecedence = 6;

std::optional<Binary::Operator> arithmetic(std::string_view text) {
  if (text == "+") return Binary::Operator::kAdd;
  if (text == "-") return Binary::Operator::kSubtract;
  if (text == "*") return Binary::Operator::kMultiply;
  if (text == "/") return Binary::Operator::kDivide;
  if (text == "%") return Binary::Operator::kModulo;
  if (text == "<<") return Binary::Operator::kShiftLeft;
  if (text == ">>") return Binary::Operator::kShiftRight;
  if (text == ">>>") return Binary::Operator::kShiftRightLogical;
  if (text == "&") return Binary::Operator::kAnd;
  if (text == "|") return Binary::Operator::kOr;
  if (text == "^") return Binary::Operator::kXor;
  return std::nullopt;
}

std::optional<Compare::Operator> comparison(uint32_t operation) {
  switch (operation) {
    case op("=="): return Compare::Operator::kEqual;
    case op("!="): return Compare::Operator::kNotEqual;
    case op("<"): return Compare::Operator::kLess;
    case op("<="): return Compare::Operator::kLessEqual;
    case op(">"): return Compare::Operator::kGreater;
    case op(">="): return Compare::Operator::kGreaterEqual;
    default: return std::nullopt;
  }
}

template <typename T>
std::unique_ptr<T> with_sides(ExpressionPtr left, ExpressionPtr right) {
  auto node = std::make_unique<T>(left->range.through(right->range));
  node->left = std::move(left);
  node->right = std::move(right);
  return node;
}

}  // namespace

int binary_precedence(const Token& token) {
  if (token.is_keyword("in")) return kInPrecedence;
  switch (token.op) {
    case op("||"): return 1;
    case op("&&"): return 2;
    case op("|"): return 3;
    case op("^"): return 4;
    case op("&"): return 5;
    case op("<"):
    case op(">"):
    case op("<="):
    case op(">="):
    case op("=="):
    case op("!="):
    case op("=~"):
    case op("!~"): return 7;
    case op("<<"):
    case op(">>"):
    case op(">>>"): return 8;
    case op("."): return 9;
    case op("+"):
    case op("-"): return 10;
    case op("*"):
    case op("/"):
    case op("%"): return 11;
    default: return 0;
  }
}

// ---------------------------------------------------------------- assignment, ?:

ExpressionPtr Parser::parse_expression() {
  ExpressionPtr expression = parse_printable();
  if (!as<Histogram>(expression)) return expression;
  report_histogram(*expression);
  return nullptr;
}

// Expressions joined by commas: where no list is, in parentheses, as a statement, in a for's head.
ExpressionPtr Parser::parse_sequence() { return parse_commas(parse_expression()); }

ExpressionPtr Parser::parse_commas(ExpressionPtr first) {
  while (first && at(",")) {
    take();
    ExpressionPtr right = parse_expression();
    if (!right) return nullptr;
    first = finish(with_sides<Comma>(std::move(first), std::move(right)));
  }
  return first;
}

// An expression, or a histogram alone.
ExpressionPtr Parser::parse_printable() {
  Nested nested(*this);
  if (!nested) return nullptr;
  ExpressionPtr left = parse_ternary();
  if (left && peek().kind == TokenKind::kOperator) left = parse_assignment(std::move(left));
  return left;
}

bool Parser::is_assignable(const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::kVariable:
    case ExpressionKind::kIndex:
    case ExpressionKind::kTargetVariable:
    case ExpressionKind::kAtOperation:
    case ExpressionKind::kDereference: return true;
    default: return false;
  }
}

// `target` itself where no assignment follows.
ExpressionPtr Parser::parse_assignment(ExpressionPtr target) {
  const Token& next = peek();
  auto operation = Assignment::Operator::kSet;
  std::optional<Binary::Operator> compound;
  if (next.is(op(".="))) {
    operation = Assignment::Operator::kConcatenate;
  } else if (next.is(op("<<<"))) {
    operation = Assignment::Operator::kAccumulate;
  } else if (!next.is(op("="))) {
    bool ends_in_equals = next.text.ends_with('=');
    compound = ends_in_equals ? arithmetic(next.text.substr(0, next.text.size() - 1)) : std::nullopt;
    if (!compound) return target;
    operation = Assignment::Operator::kArithmetic;
  }
  Token token = take();
  if (!is_assignable(*target)) {
    Diagnostic& diagnostic = tokens_.error(target->range, "can't assign to this: it is not a variable");
    if (token.is(op("="))) diagnostic.hint("== compares");
    return nullptr;
  }
  auto node = std::make_unique<Assignment>(target->range);
  node->op = operation;
  if (compound) node->arithmetic = *compound;
  node->target = std::move(target);
  node->value = parse_expression();
  if (!node->value) return nullptr;
  node->range = node->target->range.through(node->value->range);
  return finish(std::move(node));
}

ExpressionPtr Parser::parse_ternary() {
  ExpressionPtr condition = parse_binary(1);
  if (!condition || !at("?")) return condition;
  Token question = take();
  auto node = std::make_unique<Ternary>(condition->range);
  node->condition = std::move(condition);
  if (at(":")) {  // as GNU C and other languages have it
    error_here("the language has no '?:' without a value between them").hint("a ? a : b");
    return nullptr;
  }
  node->if_true = parse_expression();
  if (!node->if_true || !expect(":", "and the value for a false condition", &question)) return nullptr;
  node->if_false = parse_expression();
  if (!node->if_false) return nullptr;
  node->range = node->condition->range.through(node->if_false->range);
  return finish(std::move(node));
}

// ---------------------------------------------------------------- binary operators

// Operators of at least the precedence `minimum`, all left-associative.
ExpressionPtr Parser::parse_binary(int minimum) {
  ExpressionPtr left = parse_unary();
  while (left) {
    int precedence = binary_precedence(peek());
    if (precedence < minimum || precedence == 0) return left;
    Token operation = take();
    if (precedence == kInPrecedence) {
      left = parse_in(std::move(left));
    } else if (operation.is(op("=~")) || operation.is(op("!~"))) {
      left = parse_regex(operation, std::move(left));
    } else {
      Nested nested(*this);
      ExpressionPtr right = nested ? parse_binary(precedence + 1) : nullptr;
      if (!right) return nullptr;
      left = make_binary(operation, std::move(left), std::move(right));
    }
  }
  return left;
}

ExpressionPtr Parser::make_binary(const Token& operation, ExpressionPtr left, ExpressionPtr right) {
  if (operation.is(op("||")) || operation.is(op("&&"))) {
    auto node = with_sides<Logical>(std::move(left), std::move(right));
    node->is_and = operation.is(op("&&"));
    return finish(std::move(node));
  }
  if (operation.is(op("."))) {
    bool is_path = as<TargetVariable>(left) || as<AtOperation>(left) || as<Dereference>(left);
    if (is_path && !operation.space_before && as<Variable>(right)) {
      diagnostics_.warning(operation.range, "'.' joins strings here")
          .hint("members are accessed with '->', also in nested structures");
    }
    return finish(with_sides<Concatenation>(std::move(left), std::move(right)));
  }
  if (auto compare = comparison(operation.op)) {
    auto node = with_sides<Compare>(std::move(left), std::move(right));
    node->op = *compare;
    return finish(std::move(node));
  }
  auto node = with_sides<Binary>(std::move(left), std::move(right));
  node->op = *arithmetic(operation.text);
  return finish(std::move(node));
}

ExpressionPtr Parser::parse_regex(const Token& operation, ExpressionPtr subject) {
  if (peek().kind != TokenKind::kString) {
    error_expected("a pattern, a string literal, after '" + std::string(operation.text) + "'")
        .hint("patterns are compiled with the script and can't come from a variable");
    return nullptr;
  }
  auto node = std::make_unique<Regex>(subject->range);
  node->negated = operation.is(op("!~"));
  node->subject = std::move(subject);
  node->pattern_range = peek().range;
  node->pattern = parse_string_value();
  node->pattern_range = since(node->pattern_range);
  node->range = since(node->range);
  return finish(std::move(node));
}

// After `key in`.
ExpressionPtr Parser::parse_in(ExpressionPtr left) {
  auto node = std::make_unique<In>(left->range);
  node->indexes.push_back(std::move(left));
  return parse_container(std::move(node));
}

// The operand after 'in': an array, or a histogram, whose buckets are tested.
ExpressionPtr Parser::parse_container(std::unique_ptr<In> node) {
  if (peek().text == "@hist_log" || peek().text == "@hist_linear") {
    if (node->indexes.size() != 1 || !node->indexes[0]) {
      error_here("the buckets of a histogram have one subscript");
      return nullptr;
    }
    auto bucket = std::make_unique<HistogramIndex>(node->range);
    bucket->tests = true;
    bucket->bucket = std::move(node->indexes[0]);
    bucket->histogram = parse_histogram();
    if (!bucket->histogram) return nullptr;
    bucket->range = since(bucket->range);
    return finish(std::move(bucket));
  }
  node->array = parse_variable("the array after 'in'");
  if (!node->array) return nullptr;
  node->range = since(node->range);
  return finish(std::move(node));
}

// [k1, *] in array
ExpressionPtr Parser::parse_index_list_in() {
  Token open = take();
  auto node = std::make_unique<In>(open.range);
  if (!parse_indexes(node->indexes) || !expect("]", "after the subscripts", &open)) return nullptr;
  if (!accept_keyword("in")) {
    error_expected("'in' and an array after the subscripts").hint("[k1, k2] in array");
    return nullptr;
  }
  return parse_container(std::move(node));
}

// ---------------------------------------------------------------- unary operators

ExpressionPtr Parser::parse_unary() {
  const Token& next = peek();
  if (next.kind != TokenKind::kOperator) return parse_postfix();
  std::optional<Unary::Operator> operation;
  switch (next.op) {
    case op("+"): operation = Unary::Operator::kPlus; break;
    case op("-"):
      if (peek(1).kind == TokenKind::kNumber) return parse_literal("a number");
      operation = Unary::Operator::kMinus;
      break;
    case op("!"): operation = Unary::Operator::kNot; break;
    case op("~"): operation = Unary::Operator::kBitNot; break;
    case op("&"): return parse_address_of();
    case op("++"):
    case op("--"): break;
    default: return parse_postfix();
  }
  Nested nested(*this);
  if (!nested) return nullptr;
  Token token = take();
  // What ++ stands before is not what one stands behind: "--a ++b" are two statements.
  ExpressionPtr operand = operation ? parse_unary() : parse_primary();
  if (!operand) return nullptr;
  if (operation) {
    auto node = std::make_unique<Unary>(since(token.range));
    node->op = *operation;
    node->operand = std::move(operand);
    return finish(std::move(node));
  }
  if (!is_assignable(*operand)) {
    tokens_.error(operand->range, "'" + std::string(token.text) + "' needs a variable");
    return nullptr;
  }
  auto node = std::make_unique<Increment>(since(token.range));
  node->is_prefix = true;
  node->delta = token.is(op("++")) ? 1 : -1;
  node->operand = std::move(operand);
  return finish(std::move(node));
}

// &$x->y, &@cast(...)->y, &p->y: of traced data only.
ExpressionPtr Parser::parse_address_of() {
  Nested nested(*this);
  if (!nested) return nullptr;
  Token ampersand = take();
  bool in_parentheses = at("(");
  ExpressionPtr operand = parse_primary();
  if (!operand) return nullptr;
  if (auto* variable = as<TargetVariable>(operand)) {
    variable->address_of = true;
  } else if (auto* operation = as<AtOperation>(operand)) {
    operation->address_of = true;
  } else if (auto* dereference = as<Dereference>(operand)) {
    dereference->address_of = true;
  } else if (in_parentheses && !as<Number>(operand) && !as<String>(operand) && !as<Histogram>(operand)) {
    return operand;  // &(p): the address that p points to, which is p
  } else {
    tokens_.error(operand->range, "'&' can only take the address of traced data")
        .hint("&$variable->member; bitwise '&' needs an operand on each side");
    return nullptr;
  }
  operand->range = since(ampersand.range);
  return operand;
}

ExpressionPtr Parser::parse_postfix() {
  ExpressionPtr operand = parse_primary();
  while (operand && (at("++") || at("--"))) {
    if (!is_assignable(*operand)) break;  // f() ++x are two statements
    Token token = take();
    auto node = std::make_unique<Increment>(since(operand->range));
    node->is_prefix = false;
    node->delta = token.is(op("++")) ? 1 : -1;
    node->operand = std::move(operand);
    operand = finish(std::move(node));
  }
  return operand;
}

}  // namespace spile::syntax
