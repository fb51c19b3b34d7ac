#pragma once
// Names from elsewhere (symbols, paths) as parts of lines that people and programs read: a newline in one must not forge a line.

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace spile {

// Returns the text with control characters as C's escapes: \n, \t, \r, others as \ooo.
inline std::string visible_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) out += c;
    else if (c == '\n') out += "\\n";
    else if (c == '\t') out += "\\t";
    else if (c == '\r') out += "\\r";
    else out += fmt::format("\\{:03o}", byte);
  }
  return out;
}

}  // namespace spile
