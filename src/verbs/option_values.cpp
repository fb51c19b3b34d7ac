#include "verbs/option_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace spile::verbs {

Result<int> parse_number(const std::string& name, const std::string& text, int least, int most, const std::string& hint) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most)
    return Error{fmt::format("{} {}: not a number from {} to {}", name, text, least, most), hint};
  return number;
}

Result<int64_t> parse_time(const std::string& name, const std::string& text) {
  constexpr struct { const char* name; double ns; } kUnits[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
  double number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(end, static_cast<size_t>(text.data() + text.size() - end));
  const auto known = std::ranges::find_if(kUnits, [&](const auto& each) { return unit == each.name; });
  if (error != std::errc() || known == std::end(kUnits) || !std::isfinite(number) || number < 0 || number * known->ns > 1e18)
    return Error{fmt::format("{} {}: not a time", name, text), "a number and its unit: 500ns, 20us, 1.5ms, 2s"};
  return static_cast<int64_t>(number * known->ns);
}

Result<std::string> parse_function(const std::string& word) {
  for (const char c : word) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '"' || c == '\\' || c == 0x7f) return Error{fmt::format("'{}' is not the name or pattern of a function", word), {}};
  }
  if (word.empty()) return Error{"the name of a function is empty", {}};
  return word;
}

}  // namespace spile::verbs
