#include "base/text/number_text.h"

#include <fmt/format.h>

#include <string_view>

namespace spile {

namespace {

constexpr std::string_view kLetters = " KMGTPE";

uint64_t magnitude(int64_t value) { return value < 0 ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value); }

}  // namespace

std::string with_commas(uint64_t value) {
  std::string digits = std::to_string(value);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string short_number(int64_t value) {
  constexpr uint64_t kExact = 1000;
  const uint64_t size = magnitude(value);
  const char* sign = value < 0 ? "-" : "";
  if (size < kExact) return fmt::format("{}{}", sign, size);
  double scaled = static_cast<double>(size);
  size_t letter = 0;
  for (; scaled >= 999.95 && letter + 1 < kLetters.size(); scaled /= 1000) ++letter;
  return fmt::format("{}{:.1f}{}", sign, scaled, kLetters[letter]);
}

std::string_view plural(uint64_t number, std::string_view one, std::string_view many) { return number == 1 ? one : many; }

std::string plural(uint64_t number, std::string_view one) { return fmt::format("{}{}", one, number == 1 ? "" : "s"); }

std::string counted(uint64_t number, std::string_view one) { return fmt::format("{} {}", number, plural(number, one)); }

std::string time_text(int64_t ns) {
  if (ns > -1000 && ns < 1000) return fmt::format("{} ns", ns);
  constexpr std::string_view kUnits[] = {"ns", "us", "ms", "s"};
  double scaled = static_cast<double>(ns);
  size_t unit = 0;
  const auto size = [&] { return scaled < 0 ? -scaled : scaled; };
  for (; size() >= 999.5 && unit + 1 < std::size(kUnits); scaled /= 1000) ++unit;
  return fmt::format("{:.{}f} {}", scaled, size() < 9.995 ? 2 : size() < 99.95 ? 1 : 0, kUnits[unit]);
}

}  // namespace spile
