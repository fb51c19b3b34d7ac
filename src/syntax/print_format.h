#pragma once
// The format string of printf and sprintf, parsed once for all passes: C's, with SystemTap's conversions
// %d %i %u %o %x %X %p %s %c %b (the bytes of a number) %m %M (memory, raw and in hexadecimal) and %%.

#include <string>
#include <string_view>
#include <vector>

#include "syntax/tree.h"

namespace spile::syntax {

struct ParsedFormat {
  std::vector<FormatPart> parts;
  std::string error;  // empty: none; else `parts` is not to be used
  std::string hint;   // may be empty
};

// format: the literal's value, with escapes replaced.
ParsedFormat parse_format(std::string_view format);

// How many arguments the parts take, those of `*` included.
size_t count_format_arguments(const std::vector<FormatPart>& parts);

}  // namespace spile::syntax
