#include "probes/terms/source_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace spile::probes {

namespace {

bool read_number(std::string_view text, int& number) {
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && failure == std::errc() && end == text.data() + text.size();
}

// "3,7-9"
bool read_ranges(std::string_view text, std::vector<std::pair<int, int>>& ranges) {
  while (true) {
    size_t comma = std::min(text.find(','), text.size());
    std::string_view one = text.substr(0, comma);
    size_t dash = one.find('-');
    int first = 0, last = 0;
    if (!read_number(one.substr(0, dash), first)) return false;
    last = first;
    if (dash != std::string_view::npos && !read_number(one.substr(dash + 1), last)) return false;
    if (last < first) return false;
    ranges.emplace_back(first, last);
    if (comma == text.size()) return true;
    text.remove_prefix(comma + 1);
  }
}

// "f+12" and "f+0xc"; what follows the '+' of C++'s operator+ is not a number.
void read_offset(SourceSpec& spec) {
  const size_t plus = spec.name.rfind('+');
  if (plus == std::string::npos || plus == 0) return;
  std::string_view digits = std::string_view(spec.name).substr(plus + 1);
  const bool hexadecimal = digits.starts_with("0x");
  if (hexadecimal) digits.remove_prefix(2);
  uint64_t offset = 0;
  auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), offset, hexadecimal ? 16 : 10);
  if (digits.empty() || failure != std::errc() || end != digits.data() + digits.size()) return;
  spec.offset = offset;
  spec.name.resize(plus);
}

}  // namespace

bool SourceSpec::matches(int line, int declared) const {
  int number = lines == Lines::kRelative ? line - declared : line;
  if (lines == Lines::kNone || lines == Lines::kAll) return true;
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const auto& range) { return number >= range.first && number <= range.second; });
}

Result<SourceSpec> parse_source_spec(const std::string& text) {
  SourceSpec spec;
  // Rust has had "[closure@main.rs:3]" in names.
  size_t separator = text.find('@');
  while (separator != std::string::npos && std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(separator), '[') !=
                                               std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(separator), ']'))
    separator = text.find('@', separator + 1);
  spec.name = text.substr(0, separator);
  if (spec.name.empty()) {
    return Error{separator == std::string::npos ? "function needs a name" : "function needs a name before '@'",
                 "'*' matches all functions: \"*@file.c:12\""};
  }
  if (separator == std::string::npos) {
    read_offset(spec);
    return spec;
  }
  spec.file = text.substr(separator + 1);
  size_t mark = spec.file.find_last_of(":+");
  // A file may be called "c++": what follows the last mark is a line, or the mark belongs to the name.
  bool is_line = mark != std::string::npos && mark + 1 < spec.file.size() &&
                 (isdigit(static_cast<unsigned char>(spec.file[mark + 1])) || spec.file[mark + 1] == '*');
  if (mark != std::string::npos && spec.file[mark] == ':') is_line = true;
  if (is_line) {
    std::string lines = spec.file.substr(mark + 1);
    bool relative = spec.file[mark] == '+';
    spec.file.resize(mark);
    if (lines == "*") {
      spec.lines = SourceSpec::Lines::kAll;
    } else {
      spec.lines = relative ? SourceSpec::Lines::kRelative : SourceSpec::Lines::kListed;
      if (!read_ranges(lines, spec.ranges))
        return Error{fmt::format("malformed line number '{}' in \"{}\"", lines, text),
                     "lines are given as 12, 10-20, 3,7-9 or *, or as +2 from the function's declaration"};
    }
  }
  if (spec.file.empty()) return Error{fmt::format("a source file is missing after '@' in \"{}\"", text), "\"*@file.c:12\""};
  return spec;
}

}  // namespace spile::probes
