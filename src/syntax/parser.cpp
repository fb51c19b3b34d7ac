#include "syntax/parser.h"

#include <algorithm>

#include "base/check.h"
#include "syntax/recursive_descent.h"

namespace spile::syntax {

// ---------------------------------------------------------------- tokens

const Token& Parser::peek(size_t ahead) {
  CHECK(ahead < ahead_.size());
  for (; ahead_count_ <= ahead; ++ahead_count_) ahead_[(ahead_first_ + ahead_count_) % ahead_.size()] = tokens_.next();
  return ahead_[(ahead_first_ + ahead) % ahead_.size()];
}

Token Parser::take() {
  peek();
  Token token = std::move(ahead_[ahead_first_]);
  ahead_first_ = (ahead_first_ + 1) % ahead_.size();
  --ahead_count_;
  last_ = token.range;
  return token;
}

bool Parser::accept(std::string_view operator_text) {
  if (!at(operator_text)) return false;
  take();
  return true;
}

bool Parser::accept_keyword(std::string_view name) {
  if (!at_keyword(name)) return false;
  take();
  return true;
}

bool Parser::expect(std::string_view operator_text, std::string_view where, const Token* opened) {
  if (accept(operator_text)) return true;
  std::string what = "'" + std::string(operator_text) + "'";
  if (!where.empty()) what += " " + std::string(where);
  Diagnostic& diagnostic = error_expected(what);
  if (opened) diagnostic.note(opened->range, "to match this '" + std::string(opened->text) + "'");
  return false;
}

std::string Parser::describe(const Token& token) {
  constexpr size_t kShown = 40;
  std::string text(token.text.substr(0, kShown));
  if (token.text.size() > kShown) text += "...";
  switch (token.kind) {
    case TokenKind::kEnd: return "the end of the script";
    case TokenKind::kString: return "a string";
    case TokenKind::kEmbedded: return "embedded code";
    case TokenKind::kKeyword: return "the keyword '" + text + "'";
    default: return "'" + text + "'";
  }
}

// Blocks that all end in the wrong place would say so one after the other: one error a place is enough.
Diagnostic& Parser::error_expected(std::string_view what) {
  SourceRange place = peek().range;
  bool again = last_expected_ && last_expected_.file == place.file && last_expected_.begin == place.begin;
  last_expected_ = place;
  if (again) return suppressed_ = {};
  return error_here("expected " + std::string(what) + ", found " + describe(peek()));
}

bool Parser::enter() {
  if (++depth_ <= kMaximumDepth) return true;
  if (depth_ == kMaximumDepth + 1) stop_here("the script nests deeper than " + std::to_string(kMaximumDepth) + " levels here");
  return false;
}

// Reports an error and ends the parse: constructs that are open here end in text that is not parsed.
void Parser::stop_here(std::string message) {
  error_here(std::move(message));
  tokens_.stop();
  ahead_count_ = 0;
}

ExpressionPtr Parser::finish(ExpressionPtr node) {
  int height = 0;
  const Expression* histogram = nullptr;
  for_each_child(*node, [&](const Expression& child) {
    height = std::max<int>(height, child.height);
    if (child.kind == ExpressionKind::kHistogram) histogram = &child;
  });
  if (histogram && node->kind != ExpressionKind::kPrint && node->kind != ExpressionKind::kHistogramIndex) {
    report_histogram(*histogram);
    return nullptr;
  }
  if (height >= kMaximumNesting) {
    tokens_.error(node->range, "this expression is too long").hint("compute it in several steps");
    return nullptr;
  }
  node->height = static_cast<uint16_t>(height + 1);
  return node;
}

// ---------------------------------------------------------------- recovery

// Whether a declaration starts here. `function` is also a component of probe points.
bool Parser::at_declaration() {
  return at_keyword("probe") || at_keyword("global") || at_keyword("private") || (at_keyword("function") && peek().space_before);
}

// Whether the declaration that starts here, within a block, is one of the top level, with a brace missing before it: it
// begins its line without a space.
bool Parser::starts_outside() {
  const SourceRange& range = peek().range;
  return peek().line_start && range.file && range.file->position(range.begin).column == 1;
}

// After a mistake between the parentheses of a statement's head: past its ')', if that comes before a brace.
bool Parser::skip_head() {
  for (int depth = 0; !at_end() && !at("{") && !at("}") && !at_declaration();) {
    if (at("(")) ++depth;
    bool closes = at(")");
    if (closes) --depth;
    take();
    if (closes && depth < 0) return true;
  }
  return false;
}

// To the end of this statement: after a ';', before a '}' of the block around, or before a statement that starts a
// line. Text between braces is passed as a whole, and so is an `else` or `catch` that belongs to the statement.
void Parser::skip_to_statement() {
  static constexpr std::string_view kStarts[] = {"if",     "while", "for",   "foreach",  "return",
                                                 "delete", "next",  "break", "continue", "try"};
  int depth = 0;
  while (!at_end() && !(at_declaration() && starts_outside())) {
    const Token& token = peek();
    if (depth == 0) {
      if (token.is(op("}"))) return;
      bool starts = token.line_start && std::find(std::begin(kStarts), std::end(kStarts), token.text) != std::end(kStarts);
      if (starts && token.kind == TokenKind::kKeyword) return;
    }
    if (at("{")) ++depth;
    if (at("}")) --depth;
    Token passed = take();
    bool ends = depth == 0 && (passed.is(op(";")) || passed.is(op("}")));
    if (ends && !at_keyword("else") && !at_keyword("catch")) return;
  }
}

void Parser::skip_to_declaration() {
  while (!at_end() && !at_declaration()) take();
}

// ---------------------------------------------------------------- entry points

namespace {

// Reports one error instead of hundreds for a file that is not text.
bool is_text(const SourceFile& file, Diagnostics& diagnostics) {
  std::string_view text = file.text();
  size_t nul = text.find('\0');
  if (nul == std::string_view::npos && !text.starts_with("\x7f"
                                                         "ELF"))
    return true;
  auto place = static_cast<uint32_t>(nul == std::string_view::npos ? 0 : nul);
  diagnostics.error({&file, place, place + 1}, "this is a binary file, not a script")
      .hint("a script is text; to probe a program, name it in process(\"PATH\") or with -c");
  return false;
}

}  // namespace

Script parse(const SourceFile& file, const ParseOptions& options, Diagnostics& diagnostics) {
  if (!is_text(file, diagnostics)) {
    Script script;
    script.file = &file;
    return script;
  }
  return Parser(file, options, diagnostics).parse_script();
}

void parse_macros(const SourceFile& file, const ParseOptions& options, Diagnostics& diagnostics, MacroLibrary& library) {
  if (!is_text(file, diagnostics)) return;
  ParseOptions library_options = options;
  library_options.is_library = true;
  MacroLibrary found = Parser(file, library_options, diagnostics).parse_macro_file();
  for (auto& [name, macro] : found.macros) {
    SourceRange range = macro.range;
    auto [place, is_new] = library.macros.emplace(name, std::move(macro));
    if (is_new) continue;
    diagnostics.error(range, "macro @" + name + " is defined twice").note(place->second.range, "first defined here");
  }
}

Script Parser::parse_script() {
  script_.file = &file_;
  while (!at_end()) parse_declaration();
  bool is_empty = script_.globals.empty() && script_.functions.empty() && script_.aliases.empty() && script_.probes.empty() &&
                  script_.embedded.empty();
  if (is_empty && options_.must_declare && !options_.is_library && !diagnostics_.has_errors())
    tokens_.error({&file_, 0, 0}, "the script is empty").hint("probe begin { println(\"hello\") exit() }");
  if (tokens_.has_too_many_errors()) diagnostics_.error({}, "too many errors; the rest of the script was not read");
  return std::move(script_);
}

MacroLibrary Parser::parse_macro_file() {
  if (!at_end())
    error_here("a file of macros (.stpm) can hold only macros (@define)").hint("probes and functions go into a .stp file");
  return tokens_.take_macros();
}

}  // namespace spile::syntax
