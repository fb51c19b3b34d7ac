#pragma once
// Numbers as people read them. Thread rule: any thread.

#include <cstdint>
#include <string>

namespace spile {

// 268211 as "268,211".
std::string with_commas(uint64_t value);
// 6312044 as "6.3M"; below 1,000 as it is. The letters K, M, G, T, P and E are powers of 1,000.
std::string short_number(int64_t value);
// 1234567 ns as "1.23 ms": three digits, and ns, us, ms or s.
std::string time_text(int64_t ns);

}  // namespace spile
