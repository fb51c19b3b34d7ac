#include "syntax/preprocessor.h"

#include <algorithm>

#include "base/text/number_text.h"

namespace spile::syntax {

const std::vector<std::string>& at_operators() {
  static const std::vector<std::string> names = {
      "avg",         "cast",     "choose_defined", "const",     "count", "defined", "entry",      "enum",
      "hist_linear", "hist_log", "kderef",         "kregister", "max",   "min",     "percentile", "perf",
      "probewrite",  "sum",      "uderef",         "uregister", "var",   "variance"};
  return names;
}

bool is_at_operator(std::string_view name) {
  const auto& names = at_operators();
  return std::find(names.begin(), names.end(), name) != names.end();
}

Preprocessor::Preprocessor(const SourceFile& file, const ParseOptions& options, Diagnostics& diagnostics)
    : options_(options), diagnostics_(diagnostics), lexer_(file) {
  if (!options.is_library) lexer_.read_as(options.systemtap_version);
}

// ---------------------------------------------------------------- errors

Diagnostic& Preprocessor::error(SourceRange range, std::string message) {
  if (stopped_) return ignored_ = {};
  if (++errors_ >= kMaximumErrors) stopped_ = true;
  return diagnostics_.error(range, std::move(message));
}

Diagnostic& Preprocessor::error(const Token& token, std::string message) {
  Diagnostic& diagnostic = error(token.range, std::move(message));
  if (token.macro) diagnostic.note(token.origin, "in the expansion of macro @" + token.macro->name);
  if (token.argument) {
    std::string text(token.text.substr(0, 60));
    diagnostic.note({}, "reading '" + text + "' of script argument $" + std::to_string(token.argument));
  }
  return diagnostic;
}

// Reports the lexer's problem with a token that will be used.
Token Preprocessor::checked(Token token) {
  if (!token.problem) return token;
  if (token.problem->is_warning) {
    diagnostics_.warning(token.range, token.problem->message).hint(token.problem->hint);
  } else {
    error(token, token.problem->message).hint(token.problem->hint);
    if (token.problem->hides_rest) stop();
  }
  token.problem.reset();
  return token;
}

// ---------------------------------------------------------------- the stream

Token Preprocessor::raw() {
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    if (frame.position < frame.tokens.size()) return std::move(frame.tokens[frame.position++]);
    leave_frame();
  }
  Token token;
  if (pushed_back_.empty()) {
    token = lexer_.next();
  } else {
    token = std::move(pushed_back_.back());
    pushed_back_.pop_back();
  }
  if (token.kind == TokenKind::kArgument && options_.used_arguments) {
    options_.used_arguments->insert(token.text.ends_with('#') ? 0 : static_cast<size_t>(token.number));
  }
  return token;
}

void Preprocessor::leave_frame() {
  size_t outer = frames_.back().conditions;
  frames_.pop_back();
  while (conditions_.size() > outer) {
    error(conditions_.back().open, "this %( is not closed before the end of the macro or argument").hint("close it with %)");
    conditions_.pop_back();
  }
}

// The token that raw() gives next, if it comes out of the same text; else kEnd.
const Token& Preprocessor::peek_raw() {
  static const Token none;
  if (!frames_.empty()) {
    Frame& frame = frames_.back();
    return frame.position < frame.tokens.size() ? frame.tokens[frame.position] : none;
  }
  if (pushed_back_.empty()) pushed_back_.push_back(lexer_.next());
  return pushed_back_.back();
}

// The next token with macros and arguments replaced, but conditions as they are.
Token Preprocessor::expanded() {
  while (!stopped_) {
    Token token = checked(raw());
    if (token.kind == TokenKind::kInvalid) continue;
    if (token.kind == TokenKind::kArgument && expand_argument(token)) continue;
    if (token.kind == TokenKind::kAt && expand_at(token)) continue;
    return token;
  }
  return {};
}

Token Preprocessor::next() {
  while (true) {
    Token token = expanded();
    if (token.kind == TokenKind::kEnd) {
      for (const Condition& condition : conditions_) error(condition.open, "this %( is never closed").hint("close it with %)");
      conditions_.clear();
      return token;
    }
    if (token.kind == TokenKind::kAt && token.text == "@define") {
      define(token);
    } else if (token.is(op("%("))) {
      open_condition(token);
    } else if (token.is(op("%:")) || token.is(op("%)"))) {
      size_t outer = frames_.empty() ? 0 : frames_.back().conditions;
      bool is_else = token.is(op("%:"));
      if (conditions_.size() <= outer || (is_else && conditions_.back().in_else)) {
        error(token, "'" + std::string(token.text) + "' without a '%( condition %?' before it");
        continue;
      }
      if (is_else) {
        skip(false);
      } else {
        conditions_.pop_back();
      }
    } else if (token.is(op("%?"))) {
      error(token, "'%?' without a '%( condition' before it");
    } else {
      return token;
    }
  }
}

// ---------------------------------------------------------------- arguments and macros

void Preprocessor::push(std::vector<Token> tokens, std::shared_ptr<Environment> environment, const Token& at) {
  expanded_tokens_ += tokens.size();
  if (frames_.size() >= kMaximumExpansions || expanded_tokens_ > kMaximumExpandedTokens) {
    error(at, frames_.size() >= kMaximumExpansions ? "macros and arguments nest too deeply here"
                                                   : "macros expand to too many tokens");
    stopped_ = true;
    return;
  }
  frames_.push_back({std::move(tokens), 0, std::move(environment), conditions_.size()});
}

// $1 @1 $# @#. True: replaced by tokens still to be read; false: token is the replacement.
bool Preprocessor::expand_argument(Token& token) {
  bool is_string = token.text[0] == '@';
  bool is_count = token.text == "$#" || token.text == "@#";
  size_t given = options_.arguments.size();
  token.kind = is_string ? TokenKind::kString : TokenKind::kNumber;
  if (is_count) {
    token.number = static_cast<int64_t>(given);
    token.value = std::to_string(given);
    return false;
  }
  auto number = static_cast<size_t>(token.number);
  if (number == 0) return false;  // reported
  if (options_.is_library) {
    error(token, "a library can't use script arguments").hint("pass it to a function or macro as a parameter");
    return false;
  }
  if (number > given) {
    std::string count = given == 0 ? "none was" : given == 1 ? "one was" : std::to_string(given) + " were";
    error(token, "script argument " + std::string(token.text) + " is missing: " + count + " given")
        .hint("arguments follow the script on the command line");
    token.number = 0;
    return false;
  }
  const std::string& text = options_.arguments[number - 1];
  if (is_string) {
    token.value = text;
    if (text.find('\0') != std::string::npos) error(token, "a string can't hold a NUL byte");
    return false;
  }
  std::vector<Token> tokens;
  Lexer lexer(text, token.range);
  lexer.read_as(options_.systemtap_version);
  for (Token part = lexer.next(); part.kind != TokenKind::kEnd; part = lexer.next()) {
    part.space_before |= tokens.empty() && token.space_before;
    part.argument = static_cast<uint32_t>(number);
    tokens.push_back(std::move(part));
  }
  push(std::move(tokens), nullptr, token);
  return true;
}

// @name: a parameter of the macro being read, or a macro. False: neither.
bool Preprocessor::expand_at(const Token& token) {
  std::string_view name = token.text.substr(1);
  std::shared_ptr<Environment> environment = frames_.empty() ? nullptr : frames_.back().environment;
  if (environment) {
    auto argument = environment->arguments.find(name);
    if (argument != environment->arguments.end()) {
      push(argument->second, environment->caller, token);
      return true;
    }
  }
  const Macro* macro = find_macro(name);
  if (!macro) return false;
  invoke(*macro, token, std::move(environment));
  return true;
}

bool Preprocessor::is_of_library(const Macro& macro) const {
  if (!options_.macros) return false;
  auto known = options_.macros->macros.find(macro.name);
  return known != options_.macros->macros.end() && &known->second == &macro;
}

const Macro* Preprocessor::find_macro(std::string_view name) const {
  // A macro of the library means the library's own ones, whatever the script calls its macros.
  const Environment* reading = frames_.empty() ? nullptr : frames_.back().environment.get();
  const bool in_library = reading && is_of_library(*reading->macro);
  auto own = own_.macros.find(name);
  if (own != own_.macros.end() && !in_library) return &own->second;
  if (!options_.macros) return nullptr;
  auto library = options_.macros->macros.find(name);
  return library != options_.macros->macros.end() ? &library->second : nullptr;
}

std::vector<std::string> Preprocessor::macro_names() const {
  std::vector<std::string> names;
  for (const auto& [name, macro] : own_.macros) names.push_back(name);
  if (options_.macros) {
    for (const auto& [name, macro] : options_.macros->macros) names.push_back(name);
  }
  return names;
}

// A macro may be used in an argument of itself, @m(@m(1)), but not in its own body, whoever calls whom.
bool Preprocessor::is_recursive(const Macro& macro) const {
  for (const Environment* e = frames_.empty() ? nullptr : frames_.back().environment.get(); e; e = e->caller.get()) {
    if (e->macro == &macro) return true;
  }
  return false;
}

void Preprocessor::invoke(const Macro& macro, const Token& at, std::shared_ptr<Environment> environment) {
  if (is_recursive(macro)) {
    error(at, "macro @" + macro.name + " expands to itself").note(macro.range, "defined here");
    return;
  }
  auto inner = std::make_shared<Environment>();
  inner->macro = &macro;
  inner->caller = std::move(environment);
  // @m of a macro without parameters is @m().
  bool collects = macro.takes_arguments && (!macro.parameters.empty() || peek_open_parenthesis());
  if (collects && !collect_arguments(macro, at, *inner)) return;

  std::vector<Token> body = macro.body;
  for (Token& token : body) {
    token.macro = &macro;
    token.origin = token.range;
    token.range = at.range;
  }
  if (is_of_library(macro)) rename_locals(body);
  if (!body.empty()) body.front().space_before = at.space_before;
  push(std::move(body), std::move(inner), at);
}

// One probe may use a macro for arrays whose keys have different types, so that each expansion needs variables of its own.
void Preprocessor::rename_locals(std::vector<Token>& body) {
  ++expansions_;
  for (Token& token : body) {
    if (token.kind != TokenKind::kIdentifier || !token.text.starts_with(kMacroLocal)) continue;
    token.text = renamed_.emplace_back(std::string(token.text) + "_" + std::to_string(expansions_));
  }
}

bool Preprocessor::collect_arguments(const Macro& macro, const Token& at, Environment& environment) {
  auto wants = [&] { return counted(macro.parameters.size(), "argument"); };
  if (!peek_open_parenthesis()) {
    error(at, "macro @" + macro.name + " takes " + wants() + " in parentheses").note(macro.range, "defined here");
    return false;
  }
  raw();
  std::vector<std::vector<Token>> arguments(1);
  std::vector<uint32_t> closers;  // of the brackets that are open inside the argument
  while (true) {
    Token token = checked(raw());
    if (token.kind == TokenKind::kEnd || stopped_) {
      error(at, "the arguments of macro @" + macro.name + " are never closed").hint("close them with ')'");
      return false;
    }
    if (closers.empty() && token.is(op(")"))) break;
    if (closers.empty() && token.is(op(","))) {
      arguments.emplace_back();
      continue;
    }
    if (token.is(op("("))) closers.push_back(op(")"));
    if (token.is(op("["))) closers.push_back(op("]"));
    if (token.is(op("{"))) closers.push_back(op("}"));
    if (token.is(op("%("))) closers.push_back(op("%)"));
    if (!closers.empty() && token.is(closers.back())) closers.pop_back();
    if (token.kind != TokenKind::kInvalid) arguments.back().push_back(std::move(token));
  }
  if (macro.parameters.empty() && arguments.size() == 1 && arguments[0].empty()) return true;
  if (arguments.size() != macro.parameters.size()) {
    error(at, "macro @" + macro.name + " takes " + wants() + ", not " + std::to_string(arguments.size()))
        .note(macro.range, "defined here");
    return false;
  }
  for (size_t i = 0; i < arguments.size(); ++i) environment.arguments[macro.parameters[i]] = std::move(arguments[i]);
  return true;
}

// ---------------------------------------------------------------- @define

void Preprocessor::define(const Token& at) {
  Macro macro;
  if (!read_definition(macro, at)) return skip_definition();
  SourceRange range = macro.range;
  if (is_at_operator(macro.name)) {
    diagnostics_.warning(range, "this macro replaces the language's operator @" + macro.name);
  }
  auto [place, is_new] = own_.macros.emplace(macro.name, std::move(macro));
  if (!is_new) {
    error(range, "macro @" + place->first + " is defined twice").note(place->second.range, "first defined here");
  }
}

bool Preprocessor::read_definition(Macro& macro, const Token& at) {
  TokenKind kind = peek_raw().kind;
  if (kind != TokenKind::kIdentifier && kind != TokenKind::kKeyword) {
    error(kind == TokenKind::kEnd ? at : peek_raw(), "expected a macro's name after @define")
        .hint("@define name(parameter) %( tokens %)");
    return false;
  }
  Token name = raw();
  macro.name = name.text;
  macro.range = name.range;
  if (peek_open_parenthesis() && !read_parameters(macro)) return false;
  return read_body(macro, at);
}

// Passes the rest of a definition that is wrong: through its body, or to the end of the line if none follows.
void Preprocessor::skip_definition() {
  size_t depth = 0;
  while (peek_raw().kind != TokenKind::kEnd && (depth > 0 || !peek_raw().line_start)) {
    Token token = raw();
    if (token.is(op("%("))) ++depth;
    if (token.is(op("%)")) && depth > 0 && --depth == 0) return;
  }
}

bool Preprocessor::read_parameters(Macro& macro) {
  macro.takes_arguments = true;
  raw();  // (
  Token token = checked(raw());
  if (token.is(op(")"))) return true;
  while (true) {
    if (token.kind != TokenKind::kIdentifier && token.kind != TokenKind::kKeyword) {
      error(token, "expected the name of a parameter of macro @" + macro.name);
      return false;
    }
    std::string name(token.text);
    if (std::find(macro.parameters.begin(), macro.parameters.end(), name) != macro.parameters.end()) {
      error(token, "macro @" + macro.name + " has two parameters '" + name + "'");
      return false;
    }
    macro.parameters.push_back(std::move(name));
    token = checked(raw());
    if (token.is(op(")"))) return true;
    if (!token.is(op(","))) {
      error(token, "expected ',' or ')' after a parameter of macro @" + macro.name);
      return false;
    }
    token = checked(raw());
  }
}

bool Preprocessor::read_body(Macro& macro, const Token& at) {
  if (!peek_raw().is(op("%("))) {
    error(peek_raw().kind == TokenKind::kEnd ? at : peek_raw(), "expected '%(' and the body of macro @" + macro.name)
        .hint("@define " + macro.name + " %( tokens %)");
    return false;
  }
  Token open = raw();
  Token token;
  for (size_t depth = 1;;) {
    token = checked(raw());
    if (token.kind == TokenKind::kEnd || stopped_) {
      error(open, "the body of macro @" + macro.name + " is never closed").hint("close it with %)");
      return false;
    }
    if (token.is(op("%("))) ++depth;
    if (token.is(op("%)")) && --depth == 0) return true;
    if (token.kind == TokenKind::kAt && token.text == "@define") {
      error(token, "a macro can't define a macro");
      continue;
    }
    if (token.kind != TokenKind::kInvalid) macro.body.push_back(std::move(token));
  }
}

}  // namespace spile::syntax
