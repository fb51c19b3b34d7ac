// Output: a record is put together at the end of the handler's scratch memory, then copied into the ring, which keeps
// the order of records of all CPUs.

#include "runtime/kernel_maps/kernel_maps.h"

namespace spile::rt {

SPILE_INLINE inline void write_ring(void* record, uint64_t size) {
  long failed = helper<long (*)(void*, void*, uint64_t, uint64_t)>(BPF_FUNC_ringbuf_output)(&spile_map_ring, record, size, 0);
  if (failed) count_skip(abi::kSkipOutputFull);
}

SPILE_INLINE inline void fill_header(Context* context, abi::RecordHeader* record, uint32_t kind, uint32_t id) {
  record->kind = static_cast<uint16_t>(kind);
  record->cpu = static_cast<uint16_t>(current_cpu());
  record->id = id;
  record->probe = context->probe;
  record->time = monotonic_ns();
}

extern "C" {

SPILE_INLINE char* spile_rt_record_begin(Context* context, uint32_t kind, uint32_t id, uint32_t payload) {
  if (payload > abi::kKernelRecordSize - sizeof(abi::RecordHeader) - spile_rt_record_owner_size) {
    count_skip(abi::kSkipOutputFull);
    return nullptr;
  }
  char* record = scratch_of(context) + (abi::kKernelScratchSize - abi::kKernelRecordSize);
  fill_header(context, reinterpret_cast<abi::RecordHeader*>(record), kind, id);
  return record + sizeof(abi::RecordHeader);
}

SPILE_INLINE char* spile_rt_record_put_long(char* at, int64_t value) {
  *reinterpret_cast<int64_t*>(at) = value;
  return at + 8;
}

SPILE_INLINE char* spile_rt_record_put_string(char* at, const char* text, uint32_t length) {
  uint64_t bytes = opaque(static_cast<uint64_t>(length));
  if (bytes >= spile_rt_string_size) bytes = spile_rt_string_size - 1;
  *reinterpret_cast<uint32_t*>(at) = static_cast<uint32_t>(bytes);
  read_kernel(at + 4, static_cast<uint32_t>(bytes), text);
  return at + ((4 + bytes + 7) & ~uint64_t{7});
}

SPILE_INLINE char* spile_rt_record_put_bytes(char* at, const void* bytes, uint32_t length) {
  read_kernel(at, length, bytes);
  return at + length;
}

SPILE_INLINE void spile_rt_record_end(Context* context, char* record, char* end) {
  char* begin = record - sizeof(abi::RecordHeader);
  uint64_t size = opaque(static_cast<uint64_t>(end - begin));
  if (size > abi::kKernelRecordSize - spile_rt_record_owner_size) return;
  if (spile_rt_record_owner_size > 0) {
    spile_rt_record_owner(context, reinterpret_cast<abi::RecordOwner*>(begin + size));
    size += sizeof(abi::RecordOwner);
  }
  reinterpret_cast<abi::RecordHeader*>(begin)->size = static_cast<uint32_t>(size);
  write_ring(begin, size);
}

SPILE_INLINE void spile_rt_exit_session(Context* context) {
  spile_kernel_control.exit_requested = 1;
  abi::OwnedHeader record = {};
  record.size = sizeof(abi::RecordHeader) + spile_rt_record_owner_size;
  fill_header(context, &record, abi::kExit, 0);
  write_ring(&record, record.size);
}

}  // extern "C"

}  // namespace spile::rt
