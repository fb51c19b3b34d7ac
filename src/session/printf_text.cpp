#include "session/printf_text.h"

#include <algorithm>
#include <cstring>

#include "runtime/format.h"
#include "session/histogram_text.h"

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

namespace {

// Widths come from scripts' arguments too (`*`): no line of output needs more padding than this.
constexpr int64_t kMostColumns = 1 << 16;

struct StringSink {
  std::string& out;
  void put(const char* text, uint64_t length) { out.append(text, length); }
  void fill(char byte, uint64_t count) { out.append(count, byte); }
};

rt::FormatField field_of(const syntax::FormatPart& part, PayloadReader& arguments, size_t& index) {
  rt::FormatField field{0, part.width, part.precision};
  if (part.left) field.flags |= rt::kFormatLeft;
  if (part.zero) field.flags |= rt::kFormatZero;
  if (part.plus) field.flags |= rt::kFormatPlus;
  if (part.space) field.flags |= rt::kFormatSpace;
  if (part.alternate) field.flags |= rt::kFormatAlternate;
  auto next = [&] {
    ++index;
    return static_cast<int32_t>(std::clamp<int64_t>(arguments.next_long(), -kMostColumns, kMostColumns));
  };
  if (part.width_argument) {
    field.width = next();
    // -1 means "none" to FormatField; a script's -1 means "left, at least 1", which pads nothing either.
  }
  if (part.precision_argument) field.precision = next();
  return field;
}

}  // namespace

void append_printf(std::string& out, const codegen::OutputFormat& format, PayloadReader& arguments) {
  StringSink sink{out};
  size_t index = 0;  // into format.arguments
  for (const syntax::FormatPart& part : format.parts) {
    if (part.kind == syntax::FormatPart::Kind::kLiteral) {
      out += part.literal;
      continue;
    }
    rt::FormatField field = field_of(part, arguments, index);
    bool is_string = index < format.arguments.size() && format.arguments[index] == ValueType::kString;
    ++index;
    if (!is_string) {
      rt::format_long(sink, arguments.next_long(), static_cast<uint32_t>(part.kind), field);
      continue;
    }
    std::string_view text = arguments.next_string();
    if (part.kind == syntax::FormatPart::Kind::kMemoryHex) {
      rt::format_memory_hex(sink, text.data(), text.size(), field);
    } else {
      rt::format_text(sink, text.data(), text.size(), field);
    }
  }
}

void append_record_text(std::string& out, std::span<const codegen::OutputFormat> formats, const abi::RecordHeader& header,
                        const char* payload, size_t size) {
  PayloadReader arguments(payload, size);
  if (header.kind == abi::kText) {
    out += arguments.next_string();
  } else if (header.id >= formats.size()) {
    return;
  } else if (header.kind == abi::kPrintf) {
    append_printf(out, formats[header.id], arguments);
  } else if (header.kind == abi::kHistogram && size >= sizeof(abi::Aggregate)) {
    std::vector<uint64_t> buckets((size - sizeof(abi::Aggregate)) / 8);
    std::memcpy(buckets.data(), payload + sizeof(abi::Aggregate), buckets.size() * 8);
    if (buckets.size() >= 2) out += histogram_text(formats[header.id], buckets);
  }
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
