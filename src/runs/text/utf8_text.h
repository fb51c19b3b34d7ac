#pragma once
// Texts of traced processes, for forms that hold nothing but UTF-8.

#include <string>
#include <string_view>

namespace spile::runs {

// Returns the text with U+FFFD in place of what is not UTF-8.
std::string valid_utf8(std::string_view text);

}  // namespace spile::runs
