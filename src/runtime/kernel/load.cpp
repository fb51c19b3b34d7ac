// Reads of memory of processes and of the kernel, by helpers, which check the address. Words go by the program's stack (arch.h);
// strings are read word by word, so that they may have any length.

#include "runtime/core/core.h"
#include "runtime/core/load_text.h"

namespace spile::rt {

extern "C" {

SPILE_INLINE bool spile_rt_load(Context*, uint64_t address, uint32_t size, bool is_signed, int64_t* value) {
  uint64_t word = 0;
  bool is_read = size == 1   ? load_word<1>(address, &word)
                 : size == 2 ? load_word<2>(address, &word)
                 : size == 4 ? load_word<4>(address, &word)
                             : load_word<8>(address, &word);
  uint32_t shift = 64 - 8 * size;
  *value = is_signed ? static_cast<int64_t>(word << shift) >> shift : static_cast<int64_t>(word);
  return is_read;
}

SPILE_INLINE bool spile_rt_store(Context*, uint64_t address, uint32_t size, int64_t value) {
  auto word = static_cast<uint64_t>(value);
  return size == 1   ? store_word<1>(address, word)
         : size == 2 ? store_word<2>(address, word)
         : size == 4 ? store_word<4>(address, word)
                     : store_word<8>(address, word);
}

[[gnu::noinline]] bool spile_rt_load_bytes(Context*, uint64_t address, char* out, uint32_t count) {
  return load_range(address, out, count);
}

SPILE_INLINE int64_t spile_rt_load_string(Context*, uint64_t address, char* out, uint32_t limit) {
  out[0] = 0;
  // The last byte of `out` stays the NUL's, where the text is as long as the buffer.
  uint32_t most = limit < spile_rt_string_size ? limit : spile_rt_string_size - 1;
  int64_t length = load_text(address, out, most);
  out[length < 0 ? 0 : length] = 0;
  return length;
}

}  // extern "C"

}  // namespace spile::rt
