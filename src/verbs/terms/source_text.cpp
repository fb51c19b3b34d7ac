#include "verbs/terms/source_text.h"

#include <filesystem>
#include <fstream>

namespace spile::verbs {

namespace {

namespace fs = std::filesystem;
constexpr uintmax_t kLargest = uintmax_t{64} << 20;

std::string without_tabs(const std::string& line) {
  std::string text;
  for (char c : line) {
    if (c == '\t') text.append(8 - text.size() % 8, ' ');
    else if (c != '\r') text += c;
  }
  return text;
}

std::optional<std::vector<std::string>> read_lines(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kLargest) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(without_tabs(line));
  return lines;
}

}  // namespace

std::optional<std::vector<std::string>> read_source(const std::string& path, const std::string& folder) {
  if (folder.empty()) return read_lines(path);
  // "/build/redis-7.0/src/zmalloc.c" in FOLDER: redis-7.0/src/zmalloc.c, then src/zmalloc.c, then zmalloc.c.
  fs::path rest = fs::path(path).relative_path();
  while (!rest.empty()) {
    if (auto lines = read_lines(fs::path(folder) / rest)) return lines;
    fs::path shorter;
    for (auto part = std::next(rest.begin()); part != rest.end(); ++part) shorter /= *part;
    rest = shorter;
  }
  return read_lines(path);
}

}  // namespace spile::verbs
