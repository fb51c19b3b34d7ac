// =~ by a pattern's table, one look-up a byte (regex/match.h has the same for memory that need not be proved). Groups are not
// remembered: what finds them walks through instructions, which the verifier would follow.

#include "regex/program.h"
#include "runtime/kernel_maps/kernel_maps.h"

namespace spile::rt {

extern "C" {

SPILE_INLINE bool spile_rt_regex_test(const void* block, const char* text) {
  const auto* table = static_cast<const regex::Table*>(block);
  const auto* next = reinterpret_cast<const uint16_t*>(table + 1);
  const uint32_t stride = table->stride, cells = table->cells;
  uint64_t state = forget(table->start);
#pragma clang loop unroll(disable)
  for (uint32_t i = 0; i < spile_rt_string_size - 1; ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte == 0 || state <= regex::kAcceptState) break;
    const uint64_t cell = opaque(state * stride + table->class_of[byte]);
    if (cell >= cells) break;
    state = next[cell];
  }
  state = forget(state);
  if (state > regex::kAcceptState) {
    const uint64_t cell = opaque(state * stride + stride - 1);
    if (cell < cells) state = next[cell];
  }
  return forget(state) == regex::kAcceptState;
}

}  // extern "C"

}  // namespace spile::rt
