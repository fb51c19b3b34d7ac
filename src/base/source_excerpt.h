#pragma once
// The line of a script in which something is wrong, with a caret below it, as compilers show it.

#include <string>
#include <string_view>

#include "base/source.h"

namespace spile {

// Returns two lines, the first of the lines of `range` and the carets below it:
//       3 | probe end { prnt("x") }
//         |             ^~~~
// A line of more than 160 bytes is cut to a window round the caret. color, off: escapes around the carets. REQUIRES: the range is
// not empty.
std::string source_excerpt(const SourceRange& range, std::string_view color = {}, std::string_view off = {});

}  // namespace spile
