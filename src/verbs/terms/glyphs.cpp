#include "verbs/terms/glyphs.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>

namespace spile::verbs {

namespace {

std::string_view pick(std::span<const std::string_view> glyphs, double share) {
  if (!(share > 0)) return glyphs.front();
  const auto steps = static_cast<double>(glyphs.size() - 1);
  return glyphs[static_cast<size_t>(std::clamp(std::ceil(share * steps), 1.0, steps))];
}

}  // namespace

bool has_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = getenv(name);
    if (!value || !*value) continue;
    const std::string_view locale = value;
    return locale.find("UTF-8") != std::string_view::npos || locale.find("utf8") != std::string_view::npos;
  }
  return false;
}

std::string_view shade(double share, bool utf8) {
  static constexpr std::string_view kBlocks[] = {" ", "░", "▒", "▓", "█"}, kAscii[] = {" ", ".", ":", "*", "#"};
  return pick(utf8 ? std::span<const std::string_view>(kBlocks) : kAscii, share);
}

std::string_view bar_part(double share, bool utf8) {
  static constexpr std::string_view kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
                                    kAscii[] = {" ", "_", ".", "-", "=", "+", "*", "#"};
  return pick(utf8 ? std::span<const std::string_view>(kBlocks) : kAscii, share);
}

}  // namespace spile::verbs
