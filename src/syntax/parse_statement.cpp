// Statements. They need no separators, and line ends don't matter; a ';' after a simple statement belongs to it, one
// anywhere else is the empty statement.

#include <algorithm>

#include "syntax/recursive_descent.h"

namespace spile::syntax {

std::unique_ptr<Block> Parser::parse_block() {
  Token open = take();
  auto block = std::make_unique<Block>(open.range);
  while (!at("}")) {
    if (at_end() || (at_declaration() && starts_outside())) {
      error_expected("'}' at the end of the block").note(open.range, "to match this '{'");
      return nullptr;
    }
    if (StatementPtr statement = parse_statement()) {
      block->statements.push_back(std::move(statement));
    } else {
      skip_to_statement();
    }
  }
  take();
  block->range = since(open.range);
  return block;
}

StatementPtr Parser::parse_statement() {
  Nested nested(*this);
  if (!nested) return nullptr;
  if (at("{")) return parse_block();
  if (at(";")) return std::make_unique<Null>(take().range);
  if (peek().kind == TokenKind::kEmbedded) return parse_embedded_statement();
  if (peek().kind == TokenKind::kKeyword) return parse_keyword_statement();
  if (StatementPtr of_c = parse_statement_of_c()) return of_c;
  return parse_expression_statement();
}

// do, goto, and what stands in a switch: names here. Reports them where only C would go on so; null: a statement of ours.
StatementPtr Parser::parse_statement_of_c() {
  const Token word = peek(), next = peek(1);
  if (word.kind != TokenKind::kIdentifier) return nullptr;
  const bool is_name = next.kind == TokenKind::kIdentifier;
  const bool is_literal = next.kind == TokenKind::kNumber || next.kind == TokenKind::kString;
  if (word.text == "do" && (is_name || next.is(op("{")) || (next.kind == TokenKind::kKeyword && !next.is_keyword("in")))) {
    error_here("the language has no 'do'").hint("while (1) { ... if (!condition) break }");
    take();
    parse_statement();
    if (accept_keyword("while")) parse_condition("while");
  } else if ((word.text == "case" && (is_name || is_literal)) || (word.text == "default" && next.is(op(":")))) {
    error_here("the language has no 'switch'").hint("if (x == 1) { ... } else if (x == 2) { ... } else { ... }");
    for (int depth = 0; !at_end() && (depth > 0 || !at("}"));) {
      depth += at("{") ? 1 : at("}") ? -1 : 0;
      take();
    }
  } else if (word.text == "goto" && is_name) {
    error_here("the language has no 'goto'").hint("'break' leaves a loop, 'return' a function and 'next' a probe");
    take(), take();
  } else {
    return nullptr;
  }
  return std::make_unique<Null>(since(word.range));
}

StatementPtr Parser::parse_keyword_statement() {
  std::string_view word = peek().text;
  if (word == "if") return parse_if();
  if (word == "while") return parse_while();
  if (word == "for") return parse_for();
  if (word == "foreach") return parse_foreach();
  if (word == "return") return parse_return();
  if (word == "delete") return parse_delete();
  if (word == "try") return parse_try();
  if (word == "next") return parse_simple<Next>();
  if (word == "break") return parse_simple<Break>();
  if (word == "continue") return parse_simple<Continue>();
  Diagnostic& diagnostic = error_expected("a statement");
  if (word == "else") diagnostic.hint("there is no 'if' before this 'else'; a ';' after its block would end it");
  if (word == "catch") diagnostic.hint("'catch' follows the block of a 'try'");
  if (word == "long" || word == "string") diagnostic.hint("variables are used without a declaration; types are inferred");
  if (word == "limit" || word == "in") diagnostic.hint("'" + std::string(word) + "' is a keyword and can't name a variable");
  if (word == "global" || word == "private")
    diagnostic.hint("declare globals outside of probes; other variables are local without a declaration");
  if (word == "probe" || word == "function") diagnostic.hint("probes and functions can't be nested; is a '}' missing before it?");
  take();
  return nullptr;
}

template <typename T>
StatementPtr Parser::parse_simple() {
  auto statement = std::make_unique<T>(take().range);
  accept(";");
  return statement;
}

StatementPtr Parser::parse_embedded_statement() {
  Token code = take();
  if (!options_.guru && !options_.is_library) {
    tokens_.error(code, "embedded code needs guru mode").hint("run spile with -g");
  }
  auto statement = std::make_unique<EmbeddedStatement>(code.range);
  statement->code = std::move(code.value);
  return statement;
}

// ---------------------------------------------------------------- expression statements

StatementPtr Parser::parse_expression_statement() {
  auto statement = std::make_unique<ExpressionStatement>(peek().range);
  if (at("}") || at_end()) {
    error_expected("a statement");
    return nullptr;
  }
  statement->expression = parse_sequence();
  if (!statement->expression) return nullptr;
  hint_at_statement(*statement->expression);
  statement->range = since(statement->range);
  accept(";");
  return statement;
}

// `print "x"` and `int x` would be two statements each: a variable that is only named, and something else.
void Parser::hint_at_statement(const Expression& expression) {
  const auto* variable = as<Variable>(expression);
  if (!variable || at(";") || at("}")) return;
  const Token& next = peek();
  bool value_follows = next.kind == TokenKind::kString || next.kind == TokenKind::kNumber ||
                       next.kind == TokenKind::kIdentifier || next.kind == TokenKind::kDollar;
  if (!value_follows || next.line_start) return;
  if (is_print_name(variable->name)) {
    tokens_.error(variable->range, "'" + variable->name + "' needs parentheses around its arguments")
        .hint(variable->name + "(" + std::string(next.text.substr(0, 40)) + ")");
  } else if (next.kind == TokenKind::kIdentifier) {
    bool is_type = variable->name == "int" || variable->name == "char" || variable->name == "var" || variable->name == "let" ||
                   variable->name == "local" || variable->name == "my" || variable->name == "const";
    if (is_type)
      tokens_.error(variable->range, "variables are used without a declaration")
          .hint("leave '" + variable->name + "' out; types are inferred");
  }
}

StatementPtr Parser::parse_return() {
  auto statement = std::make_unique<Return>(take().range);
  if (!function_) tokens_.error(statement->range, "'return' is only possible in a function").hint("use 'next' to leave a probe");
  static constexpr std::string_view kNoValue[] = {";", "}"};
  bool ends = std::any_of(std::begin(kNoValue), std::end(kNoValue), [&](std::string_view text) { return at(text); });
  if (!ends && peek().kind != TokenKind::kKeyword && !at_end()) {
    statement->value = parse_expression();
    if (!statement->value) return nullptr;
  }
  statement->range = since(statement->range);
  accept(";");
  return statement;
}

StatementPtr Parser::parse_delete() {
  auto statement = std::make_unique<Delete>(take().range);
  slice_allowed_ = peek().kind == TokenKind::kIdentifier && peek(1).is(op("["));
  statement->target = parse_expression();
  if (!statement->target) return nullptr;
  if (!as<Variable>(statement->target) && !as<Index>(statement->target)) {
    tokens_.error(statement->target->range, "only a global, or an element of an array, can be deleted");
    return nullptr;
  }
  statement->range = since(statement->range);
  accept(";");
  return statement;
}

// ---------------------------------------------------------------- control

ExpressionPtr Parser::parse_condition(std::string_view of) {
  Token open = peek();
  if (!expect("(", "after '" + std::string(of) + "'")) return nullptr;
  ExpressionPtr condition = parse_expression();
  if (condition && expect(")", "after the condition", &open)) return condition;
  if (of != "if" || !at("{")) skip_head();
  return nullptr;
}

StatementPtr Parser::parse_if() {
  auto statement = std::make_unique<If>(peek().range);
  int outer = else_ifs_;
  bool ok = parse_branches(*statement);
  else_ifs_ = outer;
  return ok ? std::move(statement) : nullptr;
}

// A chain of `else if` is parsed in a loop: it may be longer than blocks may be deep.
bool Parser::parse_branches(If& first) {
  std::vector<If*> chain = {&first};
  while (true) {
    If& statement = *chain.back();
    take();
    statement.condition = parse_condition("if");
    if (!statement.condition) return false;
    statement.then_branch = parse_statement();
    if (!statement.then_branch) return false;
    if (peek().text == "elif" || peek().text == "elsif") {
      error_here("expected 'else if'").hint("write 'else if' instead of '" + std::string(peek().text) + "'");
      return false;
    }
    if (!accept_keyword("else")) break;
    if (!at_keyword("if")) {
      statement.else_branch = parse_statement();
      if (!statement.else_branch) return false;
      break;
    }
    if (++else_ifs_ > kMaximumNesting) {
      stop_here("more than " + std::to_string(kMaximumNesting) + " 'else if' in a row");
      return false;
    }
    auto next = std::make_unique<If>(peek().range);
    chain.push_back(next.get());
    statement.else_branch = std::move(next);
  }
  for (If* statement : chain) statement->range = since(statement->range);
  return true;
}

StatementPtr Parser::parse_while() {
  auto statement = std::make_unique<While>(take().range);
  statement->condition = parse_condition("while");
  if (!statement->condition) return nullptr;
  statement->body = parse_statement();
  if (!statement->body) return nullptr;
  statement->range = since(statement->range);
  return statement;
}

StatementPtr Parser::parse_for() {
  auto statement = std::make_unique<For>(take().range);
  Token open = peek();
  if (!expect("(", "after 'for'")) return nullptr;
  if (!parse_for_head(*statement, open)) {
    skip_head();
    return nullptr;
  }
  statement->body = parse_statement();
  if (!statement->body) return nullptr;
  statement->range = since(statement->range);
  return statement;
}

bool Parser::parse_for_head(For& loop, const Token& open) {
  if (!at(";") && !(loop.init = parse_sequence())) return false;
  if (as<In>(loop.init) && at(")")) {
    tokens_.error(loop.init->range, "'for' can't iterate over an array").hint("use foreach (key in array)");
    return false;
  }
  if (!at(";") && as<Variable>(loop.init) && peek().kind == TokenKind::kIdentifier) {
    tokens_.error(loop.init->range, "variables are used without a declaration").hint("leave the type out");
    return false;
  }
  if (!expect(";", "after the first part of 'for'")) return false;
  if (!at(";") && !(loop.condition = parse_sequence())) return false;
  if (!expect(";", "after the condition of 'for'")) return false;
  if (!at(")") && !(loop.step = parse_sequence())) return false;
  return expect(")", "after the last part of 'for'", &open);
}

StatementPtr Parser::parse_try() {
  auto statement = std::make_unique<Try>(take().range);
  if (!at("{")) {
    error_expected("'{' after 'try'");
    return nullptr;
  }
  statement->body = parse_block();
  if (!statement->body) return nullptr;
  if (!accept_keyword("catch")) {
    error_expected("'catch' after the block of 'try'").hint("try { ... } catch (message) { ... }");
    return nullptr;
  }
  if (at("(")) {
    Token open = take();
    statement->message = parse_variable("the variable for the error's message");
    if (!statement->message || !expect(")", "after the variable", &open)) return nullptr;
  }
  if (!at("{")) {
    error_expected("'{' after 'catch'");
    return nullptr;
  }
  statement->handler = parse_block();
  if (!statement->handler) return nullptr;
  statement->range = since(statement->range);
  return statement;
}

// ---------------------------------------------------------------- foreach

std::unique_ptr<Variable> Parser::parse_variable(std::string_view what) {
  if (peek().kind != TokenKind::kIdentifier) {
    Diagnostic& diagnostic = error_expected(what);
    if (peek().kind == TokenKind::kKeyword) diagnostic.hint("a keyword can't be a name");
    return nullptr;
  }
  Token name = take();
  return std::make_unique<Variable>(name.range, std::string(name.text));
}

StatementPtr Parser::parse_foreach() {
  auto loop = std::make_unique<Foreach>(take().range);
  Token open = peek();
  if (!expect("(", "after 'foreach'")) return nullptr;
  if (!parse_foreach_header(*loop)) return nullptr;
  if (accept_keyword("limit") && !(loop->limit = parse_expression())) return nullptr;
  if (!expect(")", "at the end of foreach's head", &open)) return nullptr;
  loop->body = parse_statement();
  if (!loop->body) return nullptr;
  loop->range = since(loop->range);
  return loop;
}

// value- = [k1, k2+] in array[*, 1] @sum -
bool Parser::parse_foreach_header(Foreach& loop) {
  SourceRange sorted;
  if (peek().kind == TokenKind::kIdentifier) {
    // The sort mark and the '=' may come as one token: v+=k is v+ = k here.
    bool marked = peek(1).is(op("+")) || peek(1).is(op("-"));
    bool joined = peek(1).is(op("+=")) || peek(1).is(op("-="));
    if (peek(1).is(op("=")) || joined || (marked && peek(2).is(op("=")))) {
      loop.value = parse_variable("a variable");
      if (joined) {
        sorted = peek().range;
        loop.sort_direction = peek().is(op("+=")) ? 1 : -1;
      } else if (!parse_sort(loop, 0, sorted)) {
        return false;
      }
      take();
    }
  }
  if (at("[")) {
    Token open = take();
    do {
      if (!parse_foreach_key(loop, sorted)) return false;
    } while (accept(","));
    if (!expect("]", "after foreach's variables", &open)) return false;
  } else if (!parse_foreach_key(loop, sorted)) {
    return false;
  }
  if (!accept_keyword("in")) {
    error_expected("'in' and the array").hint("foreach ([a, b] in array)");
    return false;
  }
  return parse_foreach_source(loop, sorted);
}

bool Parser::parse_foreach_key(Foreach& loop, SourceRange& sorted) {
  auto key = parse_variable("a variable for a subscript");
  if (!key) return false;
  loop.keys.push_back(std::move(key));
  return parse_sort(loop, static_cast<int>(loop.keys.size()), sorted);
}

// + or -, if there is one. column: of Foreach::sort_column.
bool Parser::parse_sort(Foreach& loop, int column, SourceRange& sorted) {
  if (!at("+") && !at("-")) return true;
  Token mark = take();
  if (sorted) {
    tokens_.error(mark, "foreach can sort by one column only").note(sorted, "it sorts by this one already");
    return false;
  }
  sorted = mark.range;
  loop.sort_direction = mark.is(op("+")) ? 1 : -1;
  loop.sort_column = column;
  return true;
}

bool Parser::parse_foreach_source(Foreach& loop, SourceRange& sorted) {
  if (peek().text == "@hist_log" || peek().text == "@hist_linear") {
    if (loop.keys.size() != 1 || sorted) {
      error_here("the buckets of a histogram have one subscript and one order").hint("foreach (bucket in @hist_log(stats))");
      return false;
    }
    loop.histogram = parse_histogram();
    return loop.histogram != nullptr;
  }
  loop.array = parse_variable("the array");
  if (!loop.array) return false;
  if (at("[")) {
    Token open = take();
    if (!parse_indexes(loop.slice) || !expect("]", "after the slice", &open)) return false;
    if (loop.slice.size() != loop.keys.size()) {
      tokens_.error(since(open.range), "the slice has " + std::to_string(loop.slice.size()) + " subscripts, but foreach has " +
                                           std::to_string(loop.keys.size()) + " variables");
      return false;
    }
  }
  if (peek().kind == TokenKind::kAt) {
    Token name = peek();
    loop.sort_by = statistic_operator(name.text);
    if (!loop.sort_by || loop.sort_by == Statistic::Operator::kPercentile) {
      error_here("expected @count, @sum, @min, @max, @avg or @variance to sort by");
      return false;
    }
    take();
    if (!at("+") && !at("-")) {
      error_expected("'+' or '-' after " + std::string(name.text))
          .hint("foreach (key in array " + std::string(name.text) + " -)");
      return false;
    }
  }
  return parse_sort(loop, 0, sorted);
}

}  // namespace spile::syntax
