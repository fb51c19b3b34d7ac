#include "sema/terms/embedded_code.h"

#include <algorithm>
#include <cctype>

namespace spile::sema {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t' || text.front() == '\n')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n')) text.remove_suffix(1);
  return text;
}

void note(std::string_view word, EmbeddedTraits& traits) {
  constexpr std::string_view kRead = "pragma:read:", kWrite = "pragma:write:";
  if (word == "pure") traits.pure = true;
  if (word == "stable") traits.stable = true;
  if (word == "string") traits.string = true;
  if (word == "unmangled") traits.unmangled = true;
  if (word == "guru") traits.guru = true;
  if (word == "unprivileged" || word == "myproc-unprivileged") traits.unprivileged = true;
  if (word.starts_with(kRead)) traits.reads.emplace_back(word.substr(kRead.size()));
  if (word.starts_with(kWrite)) traits.writes.emplace_back(word.substr(kWrite.size()));
}

}  // namespace

EmbeddedTraits embedded_traits(std::string_view code) {
  EmbeddedTraits traits;
  for (size_t open = code.find("/*"); open != code.npos; open = code.find("/*", open)) {
    size_t close = code.find("*/", open + 2);
    if (close == code.npos) break;
    note(trimmed(code.substr(open + 2, close - open - 2)), traits);
    open = close + 2;
  }
  return traits;
}

std::string name_in_c(std::string_view code) {
  code = trimmed(code);
  const auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  const bool is_name = !code.empty() && !std::isdigit(static_cast<unsigned char>(code[0])) && std::ranges::all_of(code, is_part);
  return is_name ? std::string(code) : std::string();
}

}  // namespace spile::sema
