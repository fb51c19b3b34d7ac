#pragma once
// A catalogue of the names that a script can use: functions, probe aliases, globals and macros of scripts and of the library, each with its
// signature, the place of its declaration and the comment above it; and the language's own words. Completion,
// hovering and "go to definition" use it. One thread.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"
#include "syntax/tree.h"

namespace spile::editor {

struct Entry {
  enum class Kind : uint8_t { kFunction, kAlias, kGlobal, kMacro, kKeyword, kOperator, kPoint };
  Kind kind;
  std::string name;           // "strlen", "syscall.open", "@count", "timer.ms(NUMBER)"
  std::string signature;      // "strlen:long (s:string)"
  std::string documentation;  // the comment above the declaration, without its marks; may be empty
  SourceRange place;          // of the declaration; nowhere for the language's own words
};

class Catalogue {
 public:
  // The language's keywords, @operators, print functions and kinds of probe points.
  static Catalogue of_language();

  // Adds the declarations of a script. Everything is copied but the source file, so the script may be destroyed.
  void add(const syntax::Script& script);

  // All of that name, in the order added. A probe point's name without parameters counts too: "timer.ms".
  std::vector<const Entry*> find(std::string_view name) const;
  // Returns the entries whose name begins with the text.
  std::vector<const Entry*> beginning_with(std::string_view prefix) const;

 private:
  void add(Entry entry);

  std::multimap<std::string, Entry, std::less<>> entries_;
};

// The comment that ends on the line before `offset`'s, or on that line: // # or /* */, without its marks.
std::string comment_above(std::string_view text, size_t offset);

}  // namespace spile::editor
