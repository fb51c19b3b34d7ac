#pragma once
// Completion: finds the words that are possible at a place of a script, which may be wrong or incomplete. It reads the tokens
// before the place, not a tree. Thread rule: one thread. Places are offsets in bytes; an offset behind the end means the end.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "editor/catalogue.h"

namespace spile::editor {

// Where in a script a place is.
struct Context {
  enum class Kind : uint8_t {
    kDeclaration,  // outside of all
    kPoint,        // in the list of probe points
    kCode,         // in a body
    kNothing       // in a comment, or in a string outside of a probe point
  } kind = Kind::kDeclaration;
  size_t begin = 0;         // offset of the word, or in kPoint of the probe point, that ends at the place
  std::string word;         // from there to the place
  std::string probe_point;  // kCode in a probe: its first point, as written; "": in a function
};
Context context_at(std::string_view text, size_t offset);

// The word around a place: in a probe point the name from the point's beginning, with dots and without parameters; elsewhere a
// name with its $ or @. name "": no word is there.
struct NameAt {
  size_t begin = 0, end = 0;  // offsets
  std::string name;
};
NameAt name_at(std::string_view text, size_t offset);

struct Candidate {
  std::string text;    // replaces Context::word
  std::string detail;  // a signature or type
  std::string documentation;
  Entry::Kind kind;
};

// Answer questions about the traced world. Either function may be absent.
struct WorldQueries {
  std::function<std::vector<std::string>(const std::string& pattern)> points;   // process("x").function("a*")
  std::function<std::vector<std::string>(const std::string& point)> variables;  // "$fd:long"
};

// Returns the words that are possible at a place, sorted by text, without duplicates: of equal ones, that of the first catalogue
// stays. catalogues: the script's own, the library's, the language's.
std::vector<Candidate> complete(std::string_view text, size_t offset, const std::vector<const Catalogue*>& catalogues,
                                const WorldQueries& world);

// Returns whether more must follow: a bracket, comment, string or %{ is open at the end of the text, or a declaration lacks its
// body.
bool is_incomplete(std::string_view text);

}  // namespace spile::editor
