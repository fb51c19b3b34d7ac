#include "runs/text/printf_text.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "abi/aggregate.h"
#include "runs/text/histogram_text.h"
#include "runtime/format.h"

namespace spile::runs {

// A length of 4 bytes, the bytes, and up to 7 more, so that the next argument is aligned.
std::string_view PayloadReader::next_string() {
  const uint64_t length = bytes_.fixed<uint32_t>();
  const uint64_t padded = ((sizeof(uint32_t) + length + 7) & ~uint64_t{7}) - sizeof(uint32_t);
  return bytes_.take(padded).substr(0, length);
}

namespace {

// Widths may be arguments of a record (`*`). No line of output needs more padding than this, and a word of a forged record must
// not become a page of output.
constexpr int64_t kMostColumns = 1 << 16, kMostForgedColumns = 1 << 10;

struct StringSink {
  std::string& out;
  void put(const char* text, uint64_t length) { out.append(text, length); }
  void fill(char byte, uint64_t count) { out.append(count, byte); }
};

rt::FormatField field_of(const syntax::FormatPart& part, PayloadReader& arguments, size_t& index, const TextRules& rules) {
  rt::FormatField field{0, part.width, part.precision};
  if (part.left) field.flags |= rt::kFormatLeft;
  if (part.zero) field.flags |= rt::kFormatZero;
  if (part.plus) field.flags |= rt::kFormatPlus;
  if (part.space) field.flags |= rt::kFormatSpace;
  if (part.alternate) field.flags |= rt::kFormatAlternate;
  auto next = [&](int64_t most) {
    ++index;
    return static_cast<int32_t>(std::clamp<int64_t>(arguments.next_long(), -most, most));
  };
  const int64_t most = rules.is_forgeable ? kMostForgedColumns : kMostColumns;
  // A script's -1 means "left, at least 1", which pads nothing; to FormatField it means "none", which does not either.
  if (part.width_argument) field.width = next(most);
  // The precision of a string is a limit, that of a number is digits to print.
  if (part.precision_argument) field.precision = next(part.kind == syntax::FormatPart::Kind::kString ? kMostColumns : most);
  return field;
}

// Whether an argument's text is the script's own, so that a terminal may obey it.
bool is_own(const syntax::OutputFormat& format, size_t index, std::string_view text, const TextRules& rules) {
  if (index >= format.own.size() || !format.own[index]) return false;
  return !rules.is_forgeable || (rules.literals && rules.literals->contains(text));
}

}  // namespace

void append_foreign(std::string& out, std::string_view text, const TextRules& rules) {
  if (rules.terminal) rules.terminal->append(out, text);
  else out += text;
}

void append_printf(std::string& out, const syntax::OutputFormat& format, PayloadReader& arguments, const TextRules& rules) {
  std::string made;
  size_t index = 0;  // into format.arguments
  for (const syntax::FormatPart& part : format.parts) {
    if (part.kind == syntax::FormatPart::Kind::kLiteral) {
      if (rules.terminal) rules.terminal->finish(out);
      out += part.literal;
      continue;
    }
    rt::FormatField field = field_of(part, arguments, index, rules);
    const size_t argument = index++;
    bool is_string = argument < format.arguments.size() && format.arguments[argument] == ValueType::kString;
    bool own = false;
    made.clear();
    StringSink sink{rules.terminal ? made : out};
    if (!is_string) {
      rt::format_long(sink, arguments.next_long(), static_cast<uint32_t>(part.kind), field);
      own = is_own(format, argument, made, rules);
    } else {
      std::string_view text = arguments.next_string();
      own = is_own(format, argument, text, rules);
      if (part.kind == syntax::FormatPart::Kind::kMemoryHex) rt::format_memory_hex(sink, text.data(), text.size(), field);
      else rt::format_text(sink, text.data(), text.size(), field);
    }
    if (!rules.terminal) continue;
    if (!own) {
      rules.terminal->append(out, made);
    } else {
      rules.terminal->finish(out);
      out += made;
    }
  }
}

namespace {

size_t bucket_count(const syntax::OutputFormat& format) {
  return format.is_log ? abi::kLogBuckets : size_t{abi::linear_buckets(format.low, format.high, format.width)} + 2;
}

void append_histogram(std::string& out, const syntax::OutputFormat& format, const char* payload, size_t size) {
  const size_t count = bucket_count(format), percentiles = format.has_summary ? std::size(syntax::kSummaryPercents) : 0;
  if (size != sizeof(abi::Aggregate) + (count + percentiles) * 8) {
    out += "<damaged histogram>\n";
    return;
  }
  std::vector<uint64_t> buckets(count);
  std::memcpy(buckets.data(), payload + sizeof(abi::Aggregate), count * 8);
  if (!format.has_summary) {
    out += histogram_text(format, buckets);
    return;
  }
  HistogramSummary summary;
  std::memcpy(&summary.aggregate, payload, sizeof summary.aggregate);
  std::memcpy(summary.percentiles.data(), payload + sizeof(abi::Aggregate) + count * 8, percentiles * 8);
  out += summarized_histogram_text(format, summary, buckets);
}

}  // namespace

void append_record_text(std::string& out, std::span<const syntax::OutputFormat> formats, const abi::RecordHeader& header,
                        const char* payload, size_t size, const TextRules& rules) {
  PayloadReader arguments(payload, size);
  const syntax::OutputFormat* format = header.id < formats.size() ? &formats[header.id] : nullptr;
  if (header.kind == abi::kText) {
    if (rules.is_forgeable) append_foreign(out, arguments.next_string(), rules);
    else out += arguments.next_string();
  } else if (header.kind == abi::kPrintf && format && format->kind == syntax::OutputFormat::Kind::kPrintf) {
    append_printf(out, *format, arguments, rules);
  } else if (header.kind == abi::kHistogram && format && format->kind == syntax::OutputFormat::Kind::kHistogram) {
    append_histogram(out, *format, payload, size);
  }
}

std::vector<uint64_t> addresses_in(std::string_view text, size_t most) {
  std::vector<uint64_t> addresses;
  while (addresses.size() < most) {
    size_t begin = text.find_first_not_of(" \n");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    std::string_view word = text.substr(0, text.find_first_of(" \n"));
    text.remove_prefix(word.size());
    if (word.starts_with("0x") || word.starts_with("0X")) word.remove_prefix(2);
    uint64_t address = 0;
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), address, 16);
    if (error != std::errc() || end != word.data() + word.size()) break;
    addresses.push_back(address);
  }
  return addresses;
}

std::string error_text(const syntax::ErrorText& error, PayloadReader& arguments) {
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

}  // namespace spile::runs
