#include "cli/rc_file.h"

#include <fmt/format.h>
#include <stdlib.h>

#include "base/files/file.h"

namespace spile::cli {

Result<std::vector<std::string>> split_words(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      if (text[++i] == '\n') continue;  // a line goes on
      in_word = true;
      word += text[i];
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (c == '#' && !in_word) {
      while (i + 1 < text.size() && text[i + 1] != '\n') ++i;
    } else if (isspace(static_cast<unsigned char>(c))) {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return Error{fmt::format("a {} is never closed", quote), {}};
  if (in_word) words.push_back(std::move(word));
  return words;
}

Result<RcFile> read_rc_file() {
  const char *own = getenv("SPILE_DIR"), *systemtap = getenv("SYSTEMTAP_DIR"), *home = getenv("HOME");
  std::vector<std::string> places;
  if (own) {
    places.push_back(std::string(own) + "/rc");
  } else {
    if (home) places.push_back(std::string(home) + "/.spile/rc");
    if (systemtap) places.push_back(std::string(systemtap) + "/rc");
    else if (home) places.push_back(std::string(home) + "/.systemtap/rc");
  }
  for (const std::string& path : places) {
    const Result<std::string> text = read_file(path);
    if (!text.ok()) continue;
    auto words = split_words(*text);
    if (!words.ok()) return Error{fmt::format("{}: {}", path, words.error().message), {}};
    return RcFile{path, std::move(*words)};
  }
  return RcFile();
}

}  // namespace spile::cli
