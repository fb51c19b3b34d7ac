#pragma once
// Numbers as people read them. Thread rule: any thread.

#include <cstdint>
#include <string>
#include <string_view>

namespace spile {

// 268211 as "268,211".
std::string with_commas(uint64_t value);
// 6312044 as "6.3M"; below 1,000 as it is. The letters K, M, G, T, P and E are powers of 1,000.
std::string short_number(int64_t value);
// The word for a number of things: "probe" for 1, else "probes", or what is given as `many`: "was" and "were".
std::string_view plural(uint64_t number, std::string_view one, std::string_view many);
std::string plural(uint64_t number, std::string_view one);
// "1 probe", "12 probes".
std::string counted(uint64_t number, std::string_view one);
// 1234567 ns as "1.23 ms": three digits, and ns, us, ms or s.
std::string time_text(int64_t ns);

}  // namespace spile
