#pragma once
// A catalogue of the names that a script can use: functions, probe aliases and globals of scripts and of the library (not yet
// macros), each with its signature, the place of its declaration and the comment above it; and the language's own words.
// Completion, hovering and "go to definition" use it. Thread rule: one thread.

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
  SourceRange place;          // of the declaration; its file is null for the language's own words
};

class Catalogue {
 public:
  // Returns a catalogue of the language's keywords, @operators, print functions and kinds of probe points.
  static Catalogue of_language();

  // Adds the declarations of a script. Copies everything but the source file, which must outlive the catalogue; the script need
  // not.
  void add(const syntax::Script& script);

  // Returns the entries of that name, in the order added; they are valid until this is destroyed. A kind of probe point is found
  // by its name without parameters, such as "timer.ms".
  std::vector<const Entry*> find(std::string_view name) const;
  // Returns the entries whose name begins with `prefix`, sorted by name; "": all.
  std::vector<const Entry*> beginning_with(std::string_view prefix) const;

 private:
  void add(Entry entry);

  std::multimap<std::string, Entry, std::less<>> entries_;
};

// Returns the comment that ends on the line before that of `offset`: a /* */, or all adjoining lines of // or #, without the
// marks; "": that line has no comment.
std::string comment_above(std::string_view text, size_t offset);

}  // namespace spile::editor
