#pragma once
// A ModuleTable (abi/stack_tables.h) in the making: what is known of one file, or of the kernel's code, before it has a place in
// the arena. Thread rule: one thread.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "abi/stack_tables.h"
#include "base/address.h"

namespace spile::session {

// Collects NUL-terminated texts, equal ones once.
class StringPool {
 public:
  // Returns the text's offset.
  uint32_t add(const std::string& text);
  const std::vector<char>& bytes() const { return bytes_; }

 private:
  std::vector<char> bytes_;
  std::unordered_map<std::string, uint32_t> offsets_;
};

struct StackTable {
  abi::ModuleTable header{};  // bytes() fills in counts and offsets
  std::vector<uint32_t> pages, pcs;
  std::vector<abi::UnwindRule> rules;
  std::vector<abi::TableSymbol> symbols;  // ascending
  std::vector<abi::TableLine> lines;      // ascending
  StringPool text;

  bool contains(FileAddress address) const {
    return address.value >= header.text_begin && address.value - header.text_begin < header.text_size;
  }
  uint32_t offset_of(FileAddress address) const { return static_cast<uint32_t>(address.value - header.text_begin); }

  // Returns the table as it is to stand in an arena, wherever that is.
  std::vector<uint8_t> bytes();
};

}  // namespace spile::session
