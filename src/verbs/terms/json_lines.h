#pragma once
// JSON Lines of the verbs that ask, as docs/json.md describes them. Bytes that are not UTF-8 become U+FFFD.

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <time.h>

#include "base/address.h"
#include "base/print.h"
#include "base/text/json.h"

namespace spile::verbs {

inline void print_json(const Json& object) { print_to(stdout, "{}\n", object.dump()); }
// Addresses are texts, "0x4011d6": numbers of JSON hold 53 bits.
inline std::string json_address(FileAddress address) { return fmt::format("{:#x}", address.value); }
// Times are texts in UTC, "2026-11-25T15:20:10Z", of seconds since 1970; empty: no calendar has that time.
inline std::string json_time(int64_t seconds) {
  const time_t when = seconds;
  tm utc{};
  return gmtime_r(&when, &utc) ? fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", utc) : "";
}
// The same of ns since 1970; with_ms: "2025-11-25T15:20:10.250Z".
inline std::string json_time_of(int64_t ns, bool with_ms) {
  std::string text = json_time(ns / 1'000'000'000);
  if (with_ms && ns >= 0 && !text.empty()) text.insert(text.size() - 1, fmt::format(".{:03}", ns / 1'000'000 % 1000));
  return text;
}

}  // namespace spile::verbs
