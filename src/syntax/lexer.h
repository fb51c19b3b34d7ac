#pragma once
// Text to tokens. The lexer knows no context: probe-point names such as `sys*open.{a,b}` come out as the tokens they
// are made of, and the parser glues those without a space between.
//
// Mistakes don't stop it: a token carries what is wrong with it (`problem`) beside the best guess of its value, and the
// preprocessor reports that only if the token is not skipped by a condition.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/source.h"

namespace spile::syntax {

enum class TokenKind : uint8_t {
  kEnd,
  kInvalid,  // unusable; problem says why
  kIdentifier,
  kKeyword,
  kNumber,
  kString,
  kEmbedded,  // %{ C %}
  kAt,        // @name
  kDollar,    // $name, $$name; trailing dollars are part of text
  kArgument,  // $1 @1 $# @#
  kOperator,  // everything else, preprocessor's %( %? %: %) too
};

// Packs an operator's characters into a number, so that comparing is one instruction. REQUIRES: at most 4 characters.
constexpr uint32_t op(std::string_view text) {
  uint32_t packed = 0;
  for (char c : text) packed = packed << 8 | static_cast<unsigned char>(c);
  return packed;
}

struct Macro;

// An error in a token.
struct Problem {
  std::string message;
  std::string hint;
  bool is_warning = false;
  bool hides_rest = false;  // the rest of the script was read as part of it
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  bool space_before = false;  // white space or a comment, or the start of the text
  bool line_start = false;    // first token of its line
  uint32_t op = 0;            // kOperator: op("->")
  int64_t number = 0;         // kNumber
  SourceRange range;
  std::string_view text;                   // as written, with sigils and quotes; a view into a file or an argument
  std::string value;                       // kString: escapes replaced; kEmbedded: the code
  std::shared_ptr<const Problem> problem;  // null: none
  // Set by the preprocessor for tokens that stand elsewhere than `range`, which is then the place of use.
  const Macro* macro = nullptr;  // out of this macro's body
  SourceRange origin;            // there
  uint32_t argument = 0;         // number of the script argument that it was pasted from; 0: none

  // Sets the problem, in place of an earlier one.
  void fail(std::string message, std::string hint = {}, bool hides_rest = false);
  // Sets a warning as the problem, unless there is one already.
  void warn(std::string message, std::string hint = {});

  bool is(uint32_t packed) const { return op == packed; }
  bool is_keyword(std::string_view name) const { return kind == TokenKind::kKeyword && text == name; }
};

class Lexer {
 public:
  // The whole of a file. The file outlives the tokens.
  explicit Lexer(const SourceFile& file) : file_(&file), text_(file.text()) { skip_byte_order_mark(); }
  // Text from elsewhere (a script argument): all tokens get the range `place`. The text outlives the tokens.
  Lexer(std::string_view text, SourceRange place) : place_(place), text_(text) {}

  // Reads as SystemTap `version` ("2.9") did (--compatible): later syntax has its earlier meaning. REQUIRES: next() was not
  // called yet.
  void read_as(const std::string& version);

  // Returns the next token; kEnd again and again at the end.
  Token next();

 private:
  void skip_byte_order_mark();
  bool skip_blanks(Token& token);
  void read_identifier(Token& token);
  void read_number(Token& token);
  void read_string(Token& token);
  void read_escape(Token& token);
  void read_quoted_character(Token& token);
  void read_embedded(Token& token);
  void read_sigil(Token& token);
  void read_operator(Token& token);
  void read_invalid(Token& token);

  char at(size_t ahead) const { return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0'; }
  bool ended() const { return position_ >= text_.size(); }
  SourceRange range(size_t begin, size_t end) const;

  bool knows_private_ = true;              // since 3.0; before, a name like any other
  bool knows_hexadecimal_escapes_ = true;  // \x41, since 2.3
  const SourceFile* file_ = nullptr;
  SourceRange place_;
  std::string_view text_;
  size_t position_ = 0;
};

// Whether the language of today reserves the name, whatever read_as() said.
bool is_keyword(std::string_view name);

}  // namespace spile::syntax
