#pragma once
// Diagnostics: the mistakes in a script (the first of the three kinds of error): collected while a pass runs, printed with the
// source line and a caret, like a modern compiler's. One thread.
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
  SourceRange range;     // empty for mistakes outside of scripts, such as in the command line
  std::string message;
  std::string hint_text;
  struct Note {
    SourceRange range;
    std::string message;
  };
  std::vector<Note> notes;

  Diagnostic& hint(std::string text) { hint_text = std::move(text); return *this; }
  // Another place that matters: "declared here".
  Diagnostic& note(SourceRange where, std::string text) { notes.push_back({where, std::move(text)}); return *this; }
};

class Diagnostics {
 public:
  // The reference is valid until the next diagnostic is made: chain .hint() and .note() at once.
  Diagnostic& error(SourceRange range, std::string message);
  Diagnostic& warning(SourceRange range, std::string message);

  bool has_errors() const { return errors_ > 0; }
  size_t errors() const { return errors_; }
  const std::vector<Diagnostic>& all() const { return all_; }

  // All diagnostics in the order in which they were made, one line or more each; equal ones once. with_warnings: false for -w. color: with
  // a terminal's escapes.
  std::string render(bool with_warnings = true, bool color = false) const;

 private:
  std::vector<Diagnostic> all_;
  size_t errors_ = 0;
};

// The candidate nearest to `name` by edit distance, if near enough to suggest; else empty.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace spile
