#pragma once
// Between lexer and parser: a stream of tokens in which conditions are decided, macros expanded and script arguments
// pasted, anywhere a token may stand.
//
//   %( kernel_v >= "5.10" && CONFIG_BPF == "y" %? tokens %: other tokens %)
//   @define swap(a, b) %( @b, @a %)      @swap(1, 2)
//   $1 pastes the first argument's text as tokens, @1 is that text as a string, $# and @# are their number
//
// Tokens out of a macro's body or an argument get the range of the place of use, so that every range lies in one file
// and grows from left to right; where they were written is kept beside (Token::origin). Work is bounded: expansions
// nest at most kMaximumExpansions deep, and give at most kMaximumExpandedTokens tokens. Names in the library's macros that
// begin with kMacroLocal are other names in each expansion.

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "syntax/lexer.h"
#include "syntax/parse_options.h"

namespace spile::syntax {

struct Macro {
  std::string name;              // without the @
  SourceRange range;             // of the name in its definition
  bool takes_arguments = false;  // @define m(...), even with none between
  std::vector<std::string> parameters;
  std::vector<Token> body;  // raw: conditions and macros in it are decided where it is used
};

// Macros that scripts see without defining them: those of the tapset library's .stpm files. A script's own hide them.
struct MacroLibrary {
  std::map<std::string, Macro, std::less<>> macros;
};

inline constexpr std::string_view kMacroLocal = "__local_";
inline constexpr size_t kMaximumExpansions = 200;
inline constexpr size_t kMaximumExpandedTokens = 500'000;
// After this many errors the run ends: further ones are rarely worth reading.
inline constexpr size_t kMaximumErrors = 20;

class Preprocessor {
 public:
  // All three, and options.macros, outlive the preprocessor. Tokens that it returns point into `file`, into macros
  // (Token::macro), into options.arguments and into the preprocessor.
  Preprocessor(const SourceFile& file, const ParseOptions& options, Diagnostics& diagnostics);

  // The next token for the parser: never kInvalid, kArgument, @define or one of %( %? %: %). kEnd once too many errors
  // were reported.
  Token next();

  // Reports an error at a token or range; where the token came from a macro or an argument, with a note that says so. The
  // reference is valid until the next error. The error of number kMaximumErrors stops the stream. Once stopped, errors are
  // dropped: they would be about the end of the script, which is not where the stream has stopped.
  Diagnostic& error(const Token& token, std::string message);
  Diagnostic& error(SourceRange range, std::string message);

  // Ends the stream of tokens early.
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }
  bool has_too_many_errors() const { return errors_ >= kMaximumErrors; }

  // Returns the macro that @name stands for here; null: no macro has this name (without the @).
  const Macro* find_macro(std::string_view name) const;
  // Returns the names of all macros, the library's too, for hints.
  std::vector<std::string> macro_names() const;
  // Hands over the macros that the file has defined. REQUIRES: next() is not called any more.
  MacroLibrary take_macros() { return std::move(own_); }

 private:
  // The parameters of the macro whose body, or whose argument's text, is being read.
  struct Environment {
    const Macro* macro;
    std::map<std::string, std::vector<Token>, std::less<>> arguments;
    std::shared_ptr<Environment> caller;  // where the arguments were written
  };
  // Tokens that are read before the rest of the file.
  struct Frame {
    std::vector<Token> tokens;
    size_t position = 0;
    std::shared_ptr<Environment> environment;
    size_t conditions = 0;  // conditions that were open when it was entered
  };
  struct Condition {
    Token open;
    bool in_else = false;
  };
  // One side of a comparison in a condition.
  struct Operand {
    enum class Kind : uint8_t { kNumber, kText, kVersion, kPattern } kind = Kind::kNumber;
    int64_t number = 0;
    bool is_flag = false;     // guru_mode
    bool is_setting = false;  // CONFIG_...; unset, it equals "" and 0
    std::string text;
  };

  Token raw();
  Token expanded();
  Token checked(Token token);
  const Token& peek_raw();
  bool peek_open_parenthesis() { return peek_raw().is(op("(")); }
  void leave_frame();
  bool expand_at(const Token& token);
  bool expand_argument(Token& token);
  void invoke(const Macro& macro, const Token& at, std::shared_ptr<Environment> environment);
  bool collect_arguments(const Macro& macro, const Token& at, Environment& environment);
  bool is_recursive(const Macro& macro) const;
  bool is_of_library(const Macro& macro) const;
  void rename_locals(std::vector<Token>& body);
  void push(std::vector<Token> tokens, std::shared_ptr<Environment> environment, const Token& at);

  void define(const Token& at);
  bool read_definition(Macro& macro, const Token& at);
  bool read_parameters(Macro& macro);
  bool read_body(Macro& macro, const Token& at);
  void skip_definition();

  void open_condition(const Token& open);
  void skip(bool stop_at_else);
  bool evaluate_any(Token& token, bool& ok);
  bool evaluate_all(Token& token, bool& ok);
  bool evaluate_comparison(Token& token, bool& ok);
  bool read_operand(Token& token, Operand& operand);
  bool read_name(const Token& token, Operand& operand);
  bool compare(const Token& comparison, Operand left, Operand right, bool& ok);

  const ParseOptions& options_;
  Diagnostics& diagnostics_;
  Lexer lexer_;
  std::vector<Token> pushed_back_;  // of the file, at most one
  std::vector<Frame> frames_;
  std::vector<Condition> conditions_;
  MacroLibrary own_;
  std::deque<std::string> renamed_;  // texts of tokens
  size_t expansions_ = 0;            // of the library's macros
  size_t expanded_tokens_ = 0;
  size_t errors_ = 0;
  bool stopped_ = false;
  Diagnostic ignored_;
};

// Whether @name (given without the @) is an operator of the language. A macro of such a name replaces it, with a warning.
bool is_at_operator(std::string_view name);
const std::vector<std::string>& at_operators();

}  // namespace spile::syntax
