// Traced memory. The upper half of the address space is the kernel's; the helpers refuse the wrong half.

#include "runtime/kernel_maps/kernel_maps.h"

namespace spile::rt {

template <typename Unsigned, typename Signed>
SPILE_INLINE inline bool load_as(uint64_t address, bool is_signed, int64_t* value) {
  Unsigned got = 0;
  const void* from = reinterpret_cast<const void*>(address);
  long failed = static_cast<int64_t>(address) < 0 ? read_kernel(&got, sizeof got, from) : read_user(&got, sizeof got, from);
  *value = is_signed ? static_cast<int64_t>(static_cast<Signed>(got)) : static_cast<int64_t>(got);
  return failed == 0;
}

extern "C" {

SPILE_INLINE bool spile_rt_load(Context*, uint64_t address, uint32_t size, bool is_signed, int64_t* value) {
  switch (size) {
    case 1: return load_as<uint8_t, int8_t>(address, is_signed, value);
    case 2: return load_as<uint16_t, int16_t>(address, is_signed, value);
    case 4: return load_as<uint32_t, int32_t>(address, is_signed, value);
    default: return load_as<uint64_t, int64_t>(address, is_signed, value);
  }
}

SPILE_INLINE int64_t spile_rt_load_string(Context*, uint64_t address, char* out, uint32_t limit) {
  // The helpers count the NUL.
  uint64_t most = limit < spile_rt_string_size ? limit + 1 : spile_rt_string_size;
  most = opaque(most);
  if (most > spile_rt_string_size) most = spile_rt_string_size;
  auto room = static_cast<uint32_t>(most);
  const void* from = reinterpret_cast<const void*>(address);
  long length = static_cast<int64_t>(address) < 0 ? read_kernel_string(out, room, from) : read_user_string(out, room, from);
  if (length < 0) *out = 0;
  return length < 0 ? -1 : length - 1;
}

}  // extern "C"

}  // namespace spile::rt
