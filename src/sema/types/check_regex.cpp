// Reports a pattern that is not a regular expression, with a caret inside its literal. A part of refuse-unavailable.

#include "regex/regex.h"
#include "sema/terms/elaboration.h"

namespace spile::sema {

namespace {

// Where the literal's text has the byte of its value at `offset`: escapes take more than one.
uint32_t source_offset(std::string_view literal, size_t offset) {
  size_t at = 1;  // after the quote
  for (size_t i = 0; i < offset && at < literal.size(); ++i) at += literal[at] == '\\' ? 2 : 1;
  return static_cast<uint32_t>(std::min(at, literal.size() - 1));
}

}  // namespace

void check_regex(const syntax::Regex& expression, Diagnostics& diagnostics) {
  regex::Outcome outcome = regex::compile(expression.pattern);
  if (outcome.compiled) return;
  const regex::Mistake& mistake = outcome.mistake;
  SourceRange range = expression.pattern_range;
  std::string_view literal = range ? range.text() : std::string_view();
  if (literal.size() > 2 && literal.front() == '"') {
    range.end = range.begin + source_offset(literal, mistake.offset + mistake.length);
    range.begin += source_offset(literal, mistake.offset);
    range.end = std::max(range.end, range.begin + 1);
  }
  diagnostics.error(range, "regular expression: " + mistake.message).hint(mistake.hint);
}

}  // namespace spile::sema
