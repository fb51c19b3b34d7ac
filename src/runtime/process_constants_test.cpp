// The constants of runtime/interface.h and the image's cells, for the unit tests. Not declared const here, and
// interface.h is not included, so that tests may change them.

#include <cstdint>

#include "abi/arena.h"

extern "C" {
uint32_t spile_rt_string_size = 512;
uint32_t spile_rt_in_controller = 0;
uint32_t spile_rt_arena_pages = 0;                                      // confines nothing: see TestArena
uint32_t spile_rt_slots_page = 1 + (16 << 20) / spile::abi::kPageSize;  // TestArena's
uint32_t spile_rt_slot_stride = 256 + 2 * 128 * 1024 + 64 * 64 + 64 * 1024 + (1 << 20);
uint32_t spile_rt_slot_count = 8;
uint32_t spile_rt_shared_size = 0;
uint32_t spile_rt_shards_offset = 256;
uint32_t spile_rt_epoch_stride = 128 * 1024;
uint32_t spile_rt_shadow_offset = 256 + 2 * 128 * 1024;
uint32_t spile_rt_shadow_stride = 64;
uint32_t spile_rt_shadow_capacity = 64;
uint32_t spile_rt_frames_page = 0;
uint32_t spile_rt_entries_page = 1;  // TestArena's globals
uint32_t spile_rt_entry_registers = 2;
uint32_t spile_rt_scratch_offset = 256 + 2 * 128 * 1024 + 64 * 64;
uint32_t spile_rt_scratch_size = 64 * 1024;
uint32_t spile_rt_ring_offset = 256 + 2 * 128 * 1024 + 64 * 64 + 64 * 1024;
uint32_t spile_rt_ring_size = 4096;
uint32_t spile_rt_record_owner_size = 0;
uint32_t spile_rt_calls_offset = 256 + 2 * 128 * 1024 + 64 * 64 + 64 * 1024 + 4096;
uint32_t spile_rt_calls_capacity = 16;
uint32_t spile_rt_kernel_code_page = 0;
uint32_t spile_rt_processes_page = 0;
uint32_t spile_rt_max_backtrace = 128;
volatile spile::abi::ImageCells spile_cells = {};
}
