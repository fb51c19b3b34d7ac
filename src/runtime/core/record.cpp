// Output records into the slot's ring (abi/record.h). One writer, the slot's holder; one reader, the controller.
//
//   tail ......... head ....... pad | wraps          head and tail count bytes for ever; position = count & (size - 1)
//
// A thread whose ring is full waits for the reader, within bounds (wait_for_room); else the record is lost, and counted.
//
// `begin` checks for room and hands out the place; nothing is visible to the reader before `end` moves the head. Where
// a record would wrap, the rest of the ring is filled by a kPad record, of which only the first 8 bytes are written
// (there may be no room for more), and which becomes visible with the record after it.

#include "runtime/core/core.h"

namespace spile::rt {

namespace {

SPILE_INLINE inline char* ring_of(abi::ThreadSlot* slot) { return bytes_of(slot) + spile_rt_ring_offset; }

SPILE_INLINE inline void fill_with_pad(char* at, uint64_t size) {
  abi::RecordHeader* pad = reinterpret_cast<abi::RecordHeader*>(at);
  pad->size = static_cast<uint32_t>(size);
  pad->kind = abi::kPad;
}

// A record of `size` bytes did not fit. If only the padding before it fits, that is written: it alone would stand in
// the way of a record larger than half the ring for ever. In the controller the host then empties the ring; true: try
// again.
SPILE_COLD bool make_room(abi::ThreadSlot* slot, uint64_t size) {
  uint64_t head = slot->ring_head;
  uint64_t position = head & (ring_size_of(slot) - 1);
  uint64_t rest = ring_size_of(slot) - position;
  uint64_t needed = rest < size ? rest + size : size;
  if (size <= ring_size_of(slot) && rest < size && head + rest - load_acquire(&slot->ring_tail) <= ring_size_of(slot)) {
    fill_with_pad(ring_of(slot) + position, rest);
    store_release(&slot->ring_head, head + rest);
    needed = size;
  }
  if (size <= ring_size_of(slot) && drain_own_ring(slot)) return true;
  if (needed <= ring_size_of(slot) && wait_for_room(slot, needed)) return true;
  count_skip(slot, abi::kSkipOutputFull);
  return false;
}

struct [[gnu::packed, gnu::may_alias]] Word32 {
  uint32_t value;
};
struct [[gnu::packed, gnu::may_alias]] Word64 {
  uint64_t value;
};

}  // namespace

extern "C" {

SPILE_INLINE char* spile_rt_record_begin(Context* context, uint32_t kind, uint32_t id, uint32_t payload) {
  abi::ThreadSlot* slot = context->slot;
  if (!spile_rt_in_controller && controller_gone(context->arena)) {
    count_skip(slot, abi::kSkipControllerGone);
    return nullptr;
  }
  uint64_t size = (sizeof(abi::RecordHeader) + static_cast<uint64_t>(payload) + 7) & ~uint64_t{7};
  if (spile_rt_record_owner_size > 0) size += sizeof(abi::RecordOwner);
  char* ring = ring_of(slot);
  uint64_t position;
  for (;;) {
    uint64_t head = slot->ring_head;
    position = head & (ring_size_of(slot) - 1);
    uint64_t tail = load_acquire(&slot->ring_tail);
    // Where all has been read and the first quarter is used up, go back to the start: a thread that prints little then
    // touches no more of its ring than that.
    bool wraps = position + size > ring_size_of(slot) || (head == tail && position >= ring_size_of(slot) / 4 && position >= size);
    uint64_t pad = unlikely(wraps) ? ring_size_of(slot) - position : 0;
    if (likely(head + pad + size - tail <= ring_size_of(slot))) {
      if (unlikely(pad)) {
        fill_with_pad(ring + position, pad);
        position = 0;
      }
      break;
    }
    if (!make_room(slot, size)) return nullptr;
  }
  abi::RecordHeader* record = reinterpret_cast<abi::RecordHeader*>(ring + position);
  record->kind = static_cast<uint16_t>(kind);
  record->cpu = current_cpu();
  record->id = id;
  record->probe = context->probe;
  record->time = time_counter();
  return reinterpret_cast<char*>(record + 1);
}

SPILE_INLINE char* spile_rt_record_put_long(char* at, int64_t value) {
  reinterpret_cast<Word64*>(at)->value = static_cast<uint64_t>(value);
  return at + 8;
}

SPILE_INLINE char* spile_rt_record_put_string(char* at, const char* text, uint32_t length) {
  uint64_t padded = (4 + static_cast<uint64_t>(length) + 7) & ~uint64_t{7};
  reinterpret_cast<Word64*>(at + padded - 8)->value = 0;
  reinterpret_cast<Word32*>(at)->value = length;
  copy_bytes(at + 4, text, length);
#if defined(__bpf__)
  return at + padded;
#else
  // Where the next argument goes is not worked out as a sum over all before it: for 32 strings LLVM took seconds.
  return opaque(at + padded);
#endif
}

SPILE_INLINE char* spile_rt_record_put_bytes(char* at, const void* bytes, uint32_t length) {
  copy_bytes(at, bytes, length);
  return at + length;
}

SPILE_INLINE void spile_rt_record_end(Context* context, char* record, char* end) {
  abi::ThreadSlot* slot = context->slot;
  abi::RecordHeader* header = reinterpret_cast<abi::RecordHeader*>(record) - 1;
  uint64_t size = static_cast<uint64_t>(end - reinterpret_cast<char*>(header) + 7) & ~uint64_t{7};
  if (spile_rt_record_owner_size > 0) {
    spile_rt_record_owner(context, reinterpret_cast<abi::RecordOwner*>(reinterpret_cast<char*>(header) + size));
    size += sizeof(abi::RecordOwner);
  }
  header->size = static_cast<uint32_t>(size);
  uint64_t head = slot->ring_head;
  // From the head to the record: 0, or what begin has filled with padding.
  uint64_t pad = (static_cast<uint64_t>(reinterpret_cast<char*>(header) - ring_of(slot)) - head) & (ring_size_of(slot) - 1);
  store_release(&slot->ring_head, head + pad + size);
}

// Any process can write to the header: spile believes its own handlers by their record, in a ring that is private to it.
SPILE_INLINE void spile_rt_exit_session(Context* context) {
  store_relaxed(&context->arena->exit_requested, 1u);
  if (!spile_rt_in_controller) return;
  if (char* record = spile_rt_record_begin(context, abi::kExit, 0, 0)) spile_rt_record_end(context, record, record);
}

// Handlers that run already go on; the controller ends the session when it comes to the record.
SPILE_INLINE void spile_rt_note_error(Context* context, uint64_t most) {
  if (spile_rt_in_controller) return;
  uint32_t errors = __atomic_add_fetch(&context->arena->errors, 1u, __ATOMIC_RELAXED);
  if (errors > most) store_relaxed(&context->arena->enabled, 0u);
}

SPILE_INLINE bool spile_rt_exiting(Context* context, uint64_t most) {
  return load_relaxed(&context->arena->exit_requested) != 0 || load_relaxed(&context->arena->errors) > most;
}

}  // extern "C"

}  // namespace spile::rt
