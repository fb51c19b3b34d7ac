#include "session/printf_text.h"

#include <algorithm>
#include <cstring>

namespace spile::session {

int64_t PayloadReader::next_long() {
  int64_t value = 0;
  if (left_ < sizeof value) {
    left_ = 0;
    return 0;
  }
  std::memcpy(&value, at_, sizeof value);
  at_ += sizeof value;
  left_ -= sizeof value;
  return value;
}

std::string_view PayloadReader::next_string() {
  uint32_t length = 0;
  if (left_ < sizeof length) {
    left_ = 0;
    return {};
  }
  std::memcpy(&length, at_, sizeof length);
  size_t padded = (sizeof length + static_cast<size_t>(length) + 7) & ~size_t{7};
  if (padded > left_) {
    left_ = 0;
    return {};
  }
  std::string_view text(at_ + sizeof length, length);
  at_ += padded;
  left_ -= padded;
  return text;
}

std::string error_text(const codegen::ErrorText& error, PayloadReader& arguments) {
  std::string out;
  for (size_t i = 0; i < error.text.size(); ++i) {
    char next = error.text[i] == '%' && i + 1 < error.text.size() ? error.text[i + 1] : 0;
    if (next == 0) {
      out += error.text[i];
      continue;
    }
    ++i;
    char number[32];
    switch (next) {
      case 'd': out += std::to_string(arguments.next_long()); break;
      case 'u': out += std::to_string(static_cast<uint64_t>(arguments.next_long())); break;
      case 'x':
      case 'p':
        snprintf(number, sizeof number, "0x%llx", static_cast<unsigned long long>(arguments.next_long()));
        out += number;
        break;
      case 's': out += arguments.next_string(); break;
      default: out += next; break;
    }
  }
  return out;
}

}  // namespace spile::session
