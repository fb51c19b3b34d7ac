#pragma once
// A name that is looked for in debug information. There a name is an offset into .debug_str, an index of such an offset, or, if
// it is short, in place (DWARF 5, section 7.5.5).

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>

namespace spile::debuginfo {

// A name as units refer to it. Any thread, once it has looked at the strings.
class SoughtName {
 public:
  explicit SoughtName(std::string name) : text_(std::move(name)) {}
  // How many bytes of the next part of .debug_str a part must have, so that nothing between them is missed.
  size_t overlap() const { return text_.size() + 1; }
  // strings: a part of .debug_str. begin: of the part in the section.
  void look_at(uint64_t begin, std::string_view strings);

  // Whether the string at an offset of .debug_str is the name; it may have arguments of a template ("max<int>"), which patterns
  // leave out.
  bool is_at(uint64_t offset) const {
    return low_halves_.test(offset & 0xffff) && offset <= UINT32_MAX && offsets_.contains(static_cast<uint32_t>(offset));
  }
  // Whether a string, without its zero, is the name.
  bool is_in(std::string_view string) const;

 private:
  std::string text_;
  std::unordered_set<uint32_t> offsets_;
  std::bitset<1 << 16> low_halves_;  // of the offsets
};

}  // namespace spile::debuginfo
