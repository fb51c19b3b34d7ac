#include "syntax/print_format.h"

#include <optional>

namespace spile::syntax {

namespace {

// Neither widths nor precisions go beyond what a record of output holds.
constexpr int kMaximumWidth = 65535;

class FormatReader {
 public:
  explicit FormatReader(std::string_view format) : format_(format) {}

  ParsedFormat read() {
    while (position_ < format_.size() && result_.error.empty()) {
      size_t percent = format_.find('%', position_);
      add_literal(format_.substr(position_, percent - position_));
      if (percent == std::string_view::npos) break;
      position_ = percent;
      read_conversion();
    }
    return std::move(result_);
  }

 private:
  char at() const { return position_ < format_.size() ? format_[position_] : '\0'; }

  void add_literal(std::string_view text) {
    if (text.empty()) return;
    if (result_.parts.empty() || result_.parts.back().kind != FormatPart::Kind::kLiteral) result_.parts.emplace_back();
    result_.parts.back().literal += text;
  }

  void read_conversion() {
    size_t begin = position_++;
    FormatPart part;
    read_flags(part);
    if (!read_number(part.width, part.width_argument)) return;
    if (at() == '.') {
      ++position_;
      part.precision = 0;
      if (!read_number(part.precision, part.precision_argument)) return;
    }
    std::string_view whole = format_.substr(begin, position_ - begin);
    // Sizes are ignored: numbers always have 64 bits.
    while (at() != '\0' && std::string_view("hlLjztq").find(at()) != std::string_view::npos) ++position_;
    std::string_view with_size = format_.substr(begin, position_ - begin);
    char conversion = at();
    ++position_;
    if (conversion == '%') {
      if (whole != "%") return fail("'%%' takes no flags, width or precision", "");
      return add_literal("%");
    }
    std::optional<FormatPart::Kind> kind = kind_of(conversion);
    if (!kind) return fail_conversion(std::string(with_size), conversion);
    part.kind = *kind;
    result_.parts.push_back(std::move(part));
  }

  void read_flags(FormatPart& part) {
    for (;; ++position_) {
      switch (at()) {
        case '-': part.left = true; break;
        case '0': part.zero = true; break;
        case '+': part.plus = true; break;
        case ' ': part.space = true; break;
        case '#': part.alternate = true; break;
        default: return;
      }
    }
  }

  bool read_number(int& number, bool& from_argument) {
    if (at() == '*') {
      ++position_;
      from_argument = true;
      return true;
    }
    if (at() < '0' || at() > '9') return true;
    number = 0;
    for (; at() >= '0' && at() <= '9'; ++position_) {
      number = number * 10 + (at() - '0');
      if (number > kMaximumWidth) {
        fail("width or precision out of range in the format", "at most " + std::to_string(kMaximumWidth));
        return false;
      }
    }
    return true;
  }

  static std::optional<FormatPart::Kind> kind_of(char conversion) {
    switch (conversion) {
      case 'd':
      case 'i': return FormatPart::Kind::kSigned;
      case 'u': return FormatPart::Kind::kUnsigned;
      case 'o': return FormatPart::Kind::kOctal;
      case 'x': return FormatPart::Kind::kHex;
      case 'X': return FormatPart::Kind::kHexUpper;
      case 'p': return FormatPart::Kind::kPointer;
      case 's': return FormatPart::Kind::kString;
      case 'c': return FormatPart::Kind::kChar;
      case 'b': return FormatPart::Kind::kBinary;
      case 'm': return FormatPart::Kind::kMemory;
      case 'M': return FormatPart::Kind::kMemoryHex;
      default: return std::nullopt;
    }
  }

  void fail(std::string error, std::string hint) {
    result_.error = std::move(error);
    result_.hint = std::move(hint);
  }

  void fail_conversion(const std::string& before, char conversion) {
    if (conversion == '\0') return fail("the format ends within a conversion: '" + before + "'", "write %% for a percent sign");
    bool printable = conversion > 0x20 && conversion < 0x7f;
    std::string hint = "conversions are d i u o x X p s c b m M; write %% for a percent sign";
    if (std::string_view("eEfFgGaA").find(conversion) != std::string_view::npos) hint = "there is no floating point; use %d";
    // After a size without a conversion (%z at the end of a line), the error names the size.
    std::string shown = printable ? std::string(1, conversion) : before.size() > 1 ? "" : "?";
    fail("unknown conversion '" + before + shown + "' in the format", hint);
  }

  std::string_view format_;
  size_t position_ = 0;
  ParsedFormat result_;
};

}  // namespace

ParsedFormat parse_format(std::string_view format) { return FormatReader(format).read(); }

size_t count_format_arguments(const std::vector<FormatPart>& parts) {
  size_t count = 0;
  for (const FormatPart& part : parts) {
    count += part.width_argument + part.precision_argument + (part.kind != FormatPart::Kind::kLiteral);
  }
  return count;
}

}  // namespace spile::syntax
