#pragma once
// The parser's inside: one class, a function for each rule of the grammar; its definitions are in the
// parse_*.cpp files, by the constructs that they parse.
//
// Rules: a function that can't continue reports one error and returns null (or false), and its callers return null too,
// up to the statement or declaration around, which skips to a place where parsing can go on. Binary operators climb
// precedences rather than recurse through one function for each, every way to nest counts against kMaximumDepth, and
// every way to chain against kMaximumNesting, so that no script overflows the stack, here or in a later pass.

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/preprocessor.h"
#include "syntax/visitor.h"

namespace spile::syntax {

// Levels of brackets, blocks and operators inside each other. A level costs the parser a dozen stack frames, which
// sanitizers make large.
inline constexpr int kMaximumDepth = 250;

// Parses one file, once: either function is called once. File, options and diagnostics outlive the parser.
class Parser {
 public:
  Parser(const SourceFile& file, const ParseOptions& options, Diagnostics& diagnostics)
      : file_(file), options_(options), diagnostics_(diagnostics), tokens_(file, options, diagnostics) {}

  Script parse_script();
  // Parses a file that may hold only macro definitions and conditions.
  MacroLibrary parse_macro_file();

 private:
  // ---- tokens (parser.cpp)
  // Returns the token `ahead` places behind the next one, at most 3; valid until the next call of peek or take.
  const Token& peek(size_t ahead = 0);
  Token take();
  bool at(std::string_view operator_text) { return peek().is(op(operator_text)); }
  bool at_keyword(std::string_view name) { return peek().is_keyword(name); }
  bool at_end() { return peek().kind == TokenKind::kEnd; }
  bool accept(std::string_view operator_text);
  bool accept_keyword(std::string_view name);
  // Reports "expected ..., found ..." where the operator is not next. `opened`: the bracket that it closes.
  bool expect(std::string_view operator_text, std::string_view where, const Token* opened = nullptr);
  SourceRange since(const SourceRange& first) const { return first.through(last_); }
  Diagnostic& error_here(std::string message) { return tokens_.error(peek(), std::move(message)); }
  Diagnostic& error_expected(std::string_view what);
  static std::string describe(const Token& token);

  // One level of nesting for as long as it lives.
  class Nested {
   public:
    explicit Nested(Parser& parser) : parser_(parser), ok_(parser.enter()) {}
    ~Nested() { --parser_.depth_; }
    explicit operator bool() const { return ok_; }

   private:
    Parser& parser_;
    bool ok_;
  };
  bool enter();
  void stop_here(std::string message);
  // Sets the height from the children's. Null where it is too large, reported.
  ExpressionPtr finish(ExpressionPtr node);
  template <typename T>
  std::unique_ptr<T> finish_as(std::unique_ptr<T> node) {
    return std::unique_ptr<T>(static_cast<T*>(finish(std::move(node)).release()));
  }

  // ---- recovery (parser.cpp)
  void skip_to_statement();
  bool skip_head();
  void skip_to_declaration();
  bool at_declaration();
  bool starts_outside();

  // ---- declarations (parse_declaration.cpp)
  void parse_declaration();
  bool parse_globals(bool is_private);
  std::unique_ptr<Global> parse_global();
  bool parse_array_size(Global& global);
  bool parse_initial_value(Global& global);
  bool parse_function(bool is_private);
  bool parse_parameters(Function& function);
  bool parse_parameter(Function& function);
  bool parse_type(ValueType& type);
  ExpressionPtr parse_literal(std::string_view what);
  bool parse_probe();
  std::unique_ptr<Block> parse_block_after(std::string_view what);
  void report_unknown_declaration();

  // ---- probe points (parse_probe_point.cpp)
  bool parse_points(std::vector<ProbePoint>& points);
  bool parse_point(std::vector<ProbePoint>& points);
  bool parse_components(std::vector<ProbePoint>& points);
  bool parse_alternatives(std::vector<ProbePoint>& points);
  bool parse_component(PointComponent& component);
  bool parse_component_parameter(PointComponent& component);
  bool parse_marks(std::vector<ProbePoint>& points, size_t from);

  // ---- statements (parse_statement.cpp)
  StatementPtr parse_statement();
  StatementPtr parse_keyword_statement();
  StatementPtr parse_statement_of_c();
  std::unique_ptr<Block> parse_block();
  StatementPtr parse_if();
  bool parse_branches(If& first);
  StatementPtr parse_while();
  StatementPtr parse_for();
  bool parse_for_head(For& loop, const Token& open);
  StatementPtr parse_foreach();
  StatementPtr parse_return();
  StatementPtr parse_delete();
  StatementPtr parse_try();
  StatementPtr parse_expression_statement();
  StatementPtr parse_embedded_statement();
  bool parse_foreach_header(Foreach& loop);
  bool parse_foreach_key(Foreach& loop, SourceRange& sorted);
  bool parse_foreach_source(Foreach& loop, SourceRange& sorted);
  bool parse_sort(Foreach& loop, int column, SourceRange& sorted);
  std::unique_ptr<Variable> parse_variable(std::string_view what);
  template <typename T>
  StatementPtr parse_simple();
  void hint_at_statement(const Expression& expression);

  // ---- expressions (parse_expression.cpp)
  ExpressionPtr parse_expression();
  ExpressionPtr parse_sequence();
  ExpressionPtr parse_commas(ExpressionPtr first);
  ExpressionPtr parse_printable();
  ExpressionPtr parse_condition(std::string_view of);
  ExpressionPtr parse_ternary();
  ExpressionPtr parse_binary(int minimum);
  ExpressionPtr make_binary(const Token& operation, ExpressionPtr left, ExpressionPtr right);
  ExpressionPtr parse_regex(const Token& operation, ExpressionPtr subject);
  ExpressionPtr parse_in(ExpressionPtr left);
  ExpressionPtr parse_unary();
  ExpressionPtr parse_address_of();
  ExpressionPtr parse_postfix();
  ExpressionPtr parse_primary();
  ExpressionPtr parse_name();
  ExpressionPtr parse_index_list_in();
  std::unique_ptr<Index> parse_index(Token name);
  bool parse_indexes(std::vector<ExpressionPtr>& indexes);
  bool parse_arguments(std::vector<ExpressionPtr>& arguments, const Token& name);
  ExpressionPtr parse_assignment(ExpressionPtr target);
  bool is_assignable(const Expression& expression);
  std::string parse_string_value();
  void report_no_expression();

  // ---- operations with @ and $ (parse_target.cpp)
  ExpressionPtr parse_target_variable();
  ExpressionPtr parse_at();
  ExpressionPtr parse_at_operation(const Token& name);
  bool parse_path(std::vector<PathStep>& path);
  ExpressionPtr parse_dereference(ExpressionPtr pointer);
  bool is_at_element_of(const Expression& pointer);
  bool parse_percent(Statistic& statistic);
  ExpressionPtr parse_statistic(const Token& name, Statistic::Operator operation);
  std::unique_ptr<Histogram> parse_histogram();
  ExpressionPtr parse_histogram_expression();
  ExpressionPtr parse_container(std::unique_ptr<In> node);
  ExpressionPtr parse_statistic_operand();
  bool parse_constant(int64_t& value, std::string_view what);
  void report_unknown_at(const Token& name);
  void report_histogram(const Expression& histogram);

  // ---- print and friends (parse_print.cpp)
  ExpressionPtr parse_print(const Token& name);
  bool parse_print_arguments(Print& print, const Token& name, const Token& open);
  bool parse_format_argument(Print& print, const Token& name);
  bool check_print_arguments(const Print& print, const Token& name);

  const SourceFile& file_;
  const ParseOptions& options_;
  Diagnostics& diagnostics_;
  Preprocessor tokens_;
  // A ring of the tokens read ahead: no rule looks further than three.
  std::array<Token, 4> ahead_;
  size_t ahead_first_ = 0;
  size_t ahead_count_ = 0;
  SourceRange last_;           // of the token taken last
  SourceRange last_expected_;  // of the token at which something else was expected last
  Diagnostic suppressed_;
  Script script_;
  int depth_ = 0;
  int else_ifs_ = 0;                    // that are open
  const Function* function_ = nullptr;  // whose body is being read
  bool slice_allowed_ = false;          // `*` may stand in the next subscript
};

// Returns the operator of "@count", "@sum" and so on; none for other names.
std::optional<Statistic::Operator> statistic_operator(std::string_view at_name);
// Whether the name is that of print, printf or another function with a Print node.
bool is_print_name(std::string_view name);
// The precedence of a binary operator, from 1; 0: none.
int binary_precedence(const Token& token);

}  // namespace spile::syntax
