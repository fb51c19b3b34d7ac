#pragma once
// Finds strings that consist of the script's own text: its literals, and strings put together from them. Whatever else a script
// prints may come from a traced program, and control characters in it are not sent to a terminal (docs/language.md,
// "Control characters"). The flow of control is not looked at: a variable is the script's own where everything that is ever
// put into it is.

#include <set>
#include <string>

#include "sema/program.h"

namespace spile::sema {

class OwnText {
 public:
  explicit OwnText(const Program& program);

  // Whether a string is the script's own, computed in a handler whose memory nobody else can write to; or an argument of %c.
  bool is_own(const syntax::Expression& expression) const;
  // The text of a literal, or of a global that nothing ever changes; null for other expressions.
  const std::string* constant(const syntax::Expression& expression) const;
  // All string literals of the script.
  const std::set<std::string>& literals() const { return literals_; }

 private:
  void look_at(const syntax::Statement& body, const syntax::Function* function);
  void look_at(const syntax::Expression& expression);
  void put(const syntax::Expression& target, const syntax::Expression& value);
  void note_written(const syntax::Expression& target);
  void spoil(const syntax::Expression& target);
  void spoil(const void* variable_or_function) { changed_ |= foreign_.insert(variable_or_function).second; }

  const Program& program_;
  std::set<const void*> foreign_;   // Locals, Globals and Functions that may hold or give other text
  std::set<const syntax::Global*> written_;
  std::set<std::string> literals_;
  bool changed_ = false;
};

}  // namespace spile::sema
