#include "session/stacks/stack_table.h"

#include <cstring>

namespace spile::session {

uint32_t StringPool::add(const std::string& text) {
  auto [known, added] = offsets_.try_emplace(text, static_cast<uint32_t>(bytes_.size()));
  if (added) bytes_.insert(bytes_.end(), text.c_str(), text.c_str() + text.size() + 1);
  return known->second;
}

std::vector<uint8_t> StackTable::bytes() {
  header.row_count = static_cast<uint32_t>(pcs.size());
  header.page_count = static_cast<uint32_t>(pages.size());
  header.symbol_count = static_cast<uint32_t>(symbols.size());
  header.line_count = static_cast<uint32_t>(lines.size());
  uint64_t size = sizeof header;
  auto place = [&](const auto& part) {
    uint64_t at = size;
    size = (size + part.size() * sizeof part[0] + 7) / 8 * 8;
    return at;
  };
  header.pages = place(pages);
  header.pcs = place(pcs);
  header.rules = place(rules);
  header.symbols = place(symbols);
  header.lines = place(lines);
  header.text = place(text.bytes());
  std::vector<uint8_t> result(size);
  auto put = [&](uint64_t offset, const auto& part) {
    if (!part.empty()) std::memcpy(result.data() + offset, part.data(), part.size() * sizeof part[0]);
  };
  std::memcpy(result.data(), &header, sizeof header);
  put(header.pages, pages);
  put(header.pcs, pcs);
  put(header.rules, rules);
  put(header.symbols, symbols);
  put(header.lines, lines);
  put(header.text, text.bytes());
  return result;
}

}  // namespace spile::session
