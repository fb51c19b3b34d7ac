#pragma once
// Finds strings that consist of the script's own text: its literals, and strings put together from them. Whatever else a script
// prints may come from a traced program, and control characters in it are not sent to a terminal (docs/language.md,
// "Control characters"). The flow of control is not looked at: a variable is the script's own where everything that is ever
// put into it is.

#include <set>
#include <string>

#include "sema/terms/program.h"

namespace spile::sema {

// REQUIRES: pass 2 has ended (types and sharing are known); the program outlives the object and does not change.
class OwnText {
 public:
  explicit OwnText(const Program& program);

  // Whether an expression is text of the script's own, if a handler computes it whose memory nobody else can write to; or is a
  // literal number, as an argument of %c. False: not known.
  bool is_own(const syntax::Expression& expression) const;
  // Returns the text of a literal, or of a global that nothing ever changes; null for other expressions. Valid as long as the
  // program.
  const std::string* constant(const syntax::Expression& expression) const;
  // Returns all string literals of the script, and initial values of its globals.
  const std::set<std::string>& literals() const { return literals_; }

 private:
  void look_at(const syntax::Statement& body, const syntax::Function* function);
  void look_at(const syntax::Expression& expression);
  void put(const syntax::Expression& target, const syntax::Expression& value);
  void note_written(const syntax::Expression& target);
  void spoil(const syntax::Expression& target);
  void spoil(const void* variable_or_function) { changed_ |= foreign_.insert(variable_or_function).second; }

  const Program& program_;
  std::set<const void*> foreign_;  // Locals, Globals and Functions that may hold or give other text
  std::set<const syntax::Global*> written_;
  std::set<std::string> literals_;
  bool changed_ = false;
};

}  // namespace spile::sema
