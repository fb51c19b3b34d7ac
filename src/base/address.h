#pragma once
// Addresses that must not be mixed. All are 64-bit and in bytes; sums and differences wrap around.

#include <compare>
#include <cstdint>
#include <functional>

namespace spile {

template <typename Tag>
struct StrongAddress {
  uint64_t value = 0;

  constexpr StrongAddress() = default;
  constexpr explicit StrongAddress(uint64_t v) : value(v) {}
  constexpr auto operator<=>(const StrongAddress&) const = default;
  constexpr StrongAddress operator+(int64_t delta) const { return StrongAddress(value + static_cast<uint64_t>(delta)); }
  constexpr StrongAddress operator-(int64_t delta) const { return StrongAddress(value - static_cast<uint64_t>(delta)); }
  constexpr int64_t operator-(StrongAddress other) const { return static_cast<int64_t>(value - other.value); }
};

// A run-time address in some process.
using Address = StrongAddress<struct RunTimeTag>;
// A virtual address as an ELF file states it (st_value, DW_AT_low_pc), before the loader adds its bias.
using FileAddress = StrongAddress<struct FileTag>;

}  // namespace spile

template <typename Tag>
struct std::hash<spile::StrongAddress<Tag>> {
  size_t operator()(spile::StrongAddress<Tag> a) const noexcept { return std::hash<uint64_t>{}(a.value); }
};
