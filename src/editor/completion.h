#pragma once
// Completion: the words that are possible at a position of a script, which may be wrong or incomplete. They are found from the
// tokens before the place, not from a tree. One thread.

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
  size_t begin = 0;           // of the word, or the probe point, that ends at the place
  std::string word;           // from there to the place
  std::string probe_point;    // kCode in a probe: its first point, as written
};
Context context_at(std::string_view text, size_t offset);

// The word around a place: a name with its dots in a probe point, one with its $ or @ elsewhere. Empty: none there.
struct NameAt {
  size_t begin = 0, end = 0;
  std::string name;
};
NameAt name_at(std::string_view text, size_t offset);

struct Candidate {
  std::string text;           // replaces Context::word
  std::string detail;         // a signature or type
  std::string documentation;
  Entry::Kind kind;
};

// Answers questions about the traced world. Both may be empty.
struct WorldQueries {
  std::function<std::vector<std::string>(const std::string& pattern)> points;           // process("x").function("a*")
  std::function<std::vector<std::string>(const std::string& point)> variables;          // "$fd:long"
};

// Sorted by text, without duplicates. Several catalogues: the script's own, the library's, the language's.
std::vector<Candidate> complete(std::string_view text, size_t offset, const std::vector<const Catalogue*>& catalogues,
                                const WorldQueries& world);

// Whether something is open at the end of the text (a bracket, a comment, a string, %{), so that more must follow.
bool is_incomplete(std::string_view text);

}  // namespace spile::editor
