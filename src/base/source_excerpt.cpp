#include "base/source_excerpt.h"

#include <algorithm>

namespace spile {

std::string source_excerpt(const SourceRange& range, std::string_view color, std::string_view off) {
  auto position = range.file->position(range.begin);
  std::string_view whole = range.file->line(position.line);
  // A line of megabytes is shown as a window round the caret.
  constexpr size_t kWindow = 160;
  size_t column = position.column - 1;
  size_t first = column > kWindow / 2 && whole.size() > kWindow ? column - kWindow / 2 : 0;
  std::string shown;
  for (char c : whole.substr(first, kWindow)) {
    shown += static_cast<unsigned char>(c) < 0x20 && c != '\t' ? '?' : c;
  }
  std::string number = std::to_string(position.line);
  std::string margin(std::max<size_t>(number.size(), 5), ' ');
  std::string out = margin.substr(number.size()) + number + " | " + shown + "\n";
  out += margin + " | ";
  for (size_t i = first; i < column; ++i) out += i - first < shown.size() && shown[i - first] == '\t' ? '\t' : ' ';
  size_t length = std::max<size_t>(
      1, std::min<size_t>(range.end - range.begin, shown.size() > column - first ? shown.size() - (column - first) : 1));
  out.append(color).append("^").append(length - 1, '~').append(off).append("\n");
  return out;
}

}  // namespace spile
