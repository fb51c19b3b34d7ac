#include "debuginfo/dwarf/sought_name.h"

#include <string.h>

namespace spile::debuginfo {
namespace {

// Calls found(offset) where the name is followed by the end of its string, or by arguments of a template.
template <typename Found>
void each_name(std::string_view text, std::string_view name, Found found) {
  for (size_t from = 0; from < text.size();) {
    const void* at = memmem(text.data() + from, text.size() - from, name.data(), name.size());
    if (!at) return;
    const size_t begin = static_cast<size_t>(static_cast<const char*>(at) - text.data()), end = begin + name.size();
    if (end < text.size() && (text[end] == '\0' || text[end] == '<') && !found(begin)) return;
    from = begin + 1;
  }
}

}  // namespace

void SoughtName::look_at(uint64_t begin, std::string_view strings) {
  // Linkers let a name be the end of a longer one, so there may be many.
  each_name(strings, text_, [&](size_t at) {
    if (begin + at > UINT32_MAX) return false;
    offsets_.insert(static_cast<uint32_t>(begin + at));
    low_halves_.set((begin + at) & 0xffff);
    return true;
  });
}

bool SoughtName::is_in(std::string_view string) const {
  return string.starts_with(text_) && (string.size() == text_.size() || string[text_.size()] == '<');
}

}  // namespace spile::debuginfo
