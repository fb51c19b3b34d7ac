// Reads of traced memory at addresses that may be bad. A fault is the traced thread's own SIGSEGV or SIGBUS; the engine
// sees it first and, if the instruction is in the image's fix-up table, moves the program counter to its resume
// address. The table is section .spile.fixups: pairs of 32-bit distances, each from its own place, to the two
// instructions.
//
// Where nobody would catch the fault (the controller, where such addresses mean nothing; or when the controller has
// died) no load is done.

#include "runtime/core/core.h"
#include "runtime/core/load_text.h"

namespace spile::rt {

namespace {

// Memory of the process that the controller's handler is about, which stands still. The bytes read.
SPILE_COLD uint64_t read_subject(const abi::Subject* subject, uint64_t address, void* out, uint64_t size) {
  struct {
    void* base;
    uint64_t size;
  } local = {out, size}, remote = {reinterpret_cast<void*>(address), size};
  if (!may_access(out, size, true)) return 0;
  long result = system_call(__NR_process_vm_readv, subject->tid, reinterpret_cast<long>(&local), 1, reinterpret_cast<long>(&remote), 1, 0);
  return result < 0 ? 0 : static_cast<uint64_t>(result);
}

// Up to a page's end at a time: what lies behind it need not be there.
SPILE_COLD int64_t read_subject_text(const abi::Subject* subject, uint64_t address, char* out, uint32_t limit) {
  uint32_t length = 0;
  while (length < limit) {
    uint64_t chunk = abi::kPageSize - ((address + length) & (abi::kPageSize - 1));
    if (chunk > limit - length) chunk = limit - length;
    if (read_subject(subject, address + length, out + length, chunk) != chunk) return -1;
    for (uint64_t i = 0; i < chunk; ++i) {
      if (!out[length + i]) return length + static_cast<int64_t>(i);
    }
    length += static_cast<uint32_t>(chunk);
  }
  return length;
}

SPILE_COLD bool load_from_subject(const abi::Subject* subject, uint64_t address, uint32_t size, bool is_signed, int64_t* value) {
  uint64_t word = 0;
  if (size > 8 || read_subject(subject, address, &word, size) != size) return false;
  uint32_t shift = 64 - 8 * size;
  *value = is_signed ? static_cast<int64_t>(word << shift) >> shift : static_cast<int64_t>(word);
  return true;
}

}  // namespace

extern "C" {

SPILE_INLINE bool spile_rt_load(Context* context, uint64_t address, uint32_t size, bool is_signed, int64_t* value) {
  *value = 0;
  if (const abi::Subject* subject = subject_of(context)) return load_from_subject(subject, address, size, is_signed, value);
  if (spile_rt_in_controller || controller_gone(context->arena)) return false;
  uint64_t word = 0;
  switch (size) {
    case 1:
      if (!load_word<1>(address, &word)) return false;
      *value = is_signed ? static_cast<int8_t>(word) : static_cast<int64_t>(word);
      return true;
    case 2:
      if (!load_word<2>(address, &word)) return false;
      *value = is_signed ? static_cast<int16_t>(word) : static_cast<int64_t>(word);
      return true;
    case 4:
      if (!load_word<4>(address, &word)) return false;
      *value = is_signed ? static_cast<int32_t>(word) : static_cast<int64_t>(word);
      return true;
    case 8:
      if (!load_word<8>(address, &word)) return false;
      *value = static_cast<int64_t>(word);
      return true;
    default:
      return false;
  }
}

SPILE_INLINE bool spile_rt_store(Context* context, uint64_t address, uint32_t size, int64_t value) {
  if (spile_rt_in_controller || controller_gone(context->arena)) return false;
  auto word = static_cast<uint64_t>(value);
  switch (size) {
    case 1:
      return store_word<1>(address, word);
    case 2:
      return store_word<2>(address, word);
    case 4:
      return store_word<4>(address, word);
    case 8:
      return store_word<8>(address, word);
    default:
      return false;
  }
}

[[gnu::noinline]] bool spile_rt_load_bytes(Context* context, uint64_t address, char* out, uint32_t count) {
  const abi::Subject* subject = subject_of(context);
  if (subject) return read_subject(subject, address, out, count) == count;
  if (spile_rt_in_controller || controller_gone(context->arena)) return count == 0;
  return load_range(address, out, count);
}

SPILE_INLINE int64_t spile_rt_load_string(Context* context, uint64_t address, char* out, uint32_t limit) {
  out[0] = 0;
  // The last byte of `out` stays the NUL's, where the text is as long as the buffer.
  uint32_t most = limit < spile_rt_string_size ? limit : spile_rt_string_size - 1;
  const abi::Subject* subject = subject_of(context);
  if (!subject && (spile_rt_in_controller || controller_gone(context->arena))) return -1;
  int64_t length = subject ? read_subject_text(subject, address, out, most) : load_text(address, out, most);
  out[length < 0 ? 0 : length] = 0;
  return length;
}

}  // extern "C"

}  // namespace spile::rt
