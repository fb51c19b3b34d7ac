#include "session/stack_table.h"

#include <cstring>

namespace spile::session {

uint32_t StringPool::add(const std::string& text) {
  auto [known, added] = offsets_.try_emplace(text, static_cast<uint32_t>(bytes_.size()));
  if (added) bytes_.insert(bytes_.end(), text.c_str(), text.c_str() + text.size() + 1);
  return known->second;
}

uint64_t StackTable::write(std::span<uint8_t> arena, const std::function<uint64_t(uint64_t bytes)>& allocate) {
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
  uint64_t at = allocate(size);
  if (at == 0) return 0;
  uint8_t* base = arena.data() + at;
  auto put = [&](uint64_t offset, const auto& part) {
    if (!part.empty()) std::memcpy(base + offset, part.data(), part.size() * sizeof part[0]);
  };
  std::memcpy(base, &header, sizeof header);
  put(header.pages, pages);
  put(header.pcs, pcs);
  put(header.rules, rules);
  put(header.symbols, symbols);
  put(header.lines, lines);
  put(header.text, text.bytes());
  return at;
}

}  // namespace spile::session
