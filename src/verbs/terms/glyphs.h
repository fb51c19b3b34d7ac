#pragma once
// Characters by which terminals show amounts. ASCII where the locale is not UTF-8.

#include <cstddef>
#include <string_view>

namespace spile::verbs {

// Whether the environment names a locale of UTF-8 (LC_ALL, LC_CTYPE, LANG: the first that is set).
bool has_utf8();

// share: from 0 to 1. Only a share of 0 is a blank.
std::string_view shade(double share, bool utf8);     // fills a cell
std::string_view bar_part(double share, bool utf8);  // as high as the share, in a row of such

}  // namespace spile::verbs
