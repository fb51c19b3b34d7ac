#pragma once
// Diagnostics: the mistakes in a script (the first of the three kinds of error): collected while a pass runs, printed with the
// source line and a caret, like a modern compiler's. Not thread-safe. The files that ranges point into outlive the diagnostics.
//
//   latency.stp:3:12: error: unresolved function 'prnt'
//       3 | probe end { prnt("x") }
//         |             ^~~~
//     hint: did you mean 'print'?

#include <string>
#include <string_view>
#include <vector>

#include "base/source.h"

namespace spile {

enum class Severity { kError, kWarning };

struct Diagnostic {
  Severity severity;
  SourceRange range;  // empty for mistakes outside of scripts, such as in the command line
  std::string message;
  std::string hint_text;  // what to do, as a phrase; "": none
  struct Note {
    SourceRange range;
    std::string message;
  };
  std::vector<Note> notes;

  Diagnostic& hint(std::string text) {
    hint_text = std::move(text);
    return *this;
  }
  // Adds another place that matters: "declared here".
  Diagnostic& note(SourceRange where, std::string text) {
    notes.push_back({where, std::move(text)});
    return *this;
  }
};

class Diagnostics {
 public:
  // The reference is valid until the next diagnostic is made: chain .hint() and .note() at once.
  Diagnostic& error(SourceRange range, std::string message);
  Diagnostic& warning(SourceRange range, std::string message);

  // Warnings are not counted.
  bool has_errors() const { return errors_ > 0; }
  size_t errors() const { return errors_; }
  const std::vector<Diagnostic>& all() const { return all_; }

  // Returns all diagnostics in the order in which they were made, one line or more each; of equal ones the first. with_warnings:
  // false for -w. color: with a terminal's escapes.
  std::string render(bool with_warnings = true, bool color = false) const;

 private:
  std::vector<Diagnostic> all_;
  size_t errors_ = 0;
};

// Returns the candidate nearest to `name` by edit distance, of those that differ from it by 1 to max(1, a third of its length)
// edits; of equally near ones, one that begins with `name`. "": no name is near enough.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace spile
