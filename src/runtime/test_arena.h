#pragma once
// For the unit tests of core/ and process/: an arena of this process's own memory, as the controller would have made it, and the
// constants that codegen would have defined, here as variables (native_constants_test.cpp), so that a test can change
// them. Making a TestArena sets the variables and cells, so a test has one at a time, and catches faults and
// questions for the rest of the program.

#include <sys/mman.h>

#include "abi/spilled_returns.h"
#include "runtime/fault_catcher.h"
#include "runtime/interface.h"

extern "C" {
extern uint32_t test_in_controller asm("spile_rt_in_controller");
extern uint32_t test_slot_count asm("spile_rt_slot_count");
extern uint32_t test_string_size asm("spile_rt_string_size");
extern uint32_t test_ring_size asm("spile_rt_ring_size");
extern uint32_t test_record_owner_size asm("spile_rt_record_owner_size");
extern volatile spile::abi::ImageCells test_cells asm("spile_cells");
}

namespace spile::rt {

inline constexpr uint32_t kTestShards = 256, kTestEpochStride = 128 * 1024, kTestShadow = kTestShards + 2 * kTestEpochStride,
                          kTestShadowStride = 64, kTestShadowCapacity = 64,
                          kTestScratch = kTestShadow + kTestShadowStride * kTestShadowCapacity, kTestScratchSize = 64 * 1024,
                          kTestRing = kTestScratch + kTestScratchSize, kTestRingSize = 4096, kTestRingRoom = 1 << 20;
inline constexpr uint64_t kTestSlotStride = kTestRing + kTestRingRoom;
inline constexpr uint64_t kTestGlobals = abi::kPageSize, kTestGlobalsSize = 16 << 20;

class TestArena {
 public:
  // slots: how many there are, the controller's and the overflow slot included.
  explicit TestArena(uint32_t slots = 8) : size_(kTestGlobals + kTestGlobalsSize + slots * kTestSlotStride) {
    catch_faults();
    base_ = static_cast<char*>(mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    table_ = static_cast<abi::ProcessTable*>(
        mmap(nullptr, kTableSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    header()->magic = abi::kArenaMagic;
    header()->slot_count = slots;
    header()->size = size_;
    header()->slots_offset = kTestGlobals + kTestGlobalsSize;
    header()->slot_stride = kTestSlotStride;
    header()->enabled = 1;
    inherited()->slots = slots;
    test_in_controller = 0;
    test_slot_count = slots;
    test_string_size = 512;
    test_ring_size = kTestRingSize;
    test_cells.arena = reinterpret_cast<uint64_t>(base_);
    test_cells.process_table = reinterpret_cast<uint64_t>(table_);
    test_cells.host_context = 0;
    test_cells.host_drain = 0;
    test_cells.returned_begin = 0;
    test_cells.returned_end = 0;
  }
  ~TestArena() {
    munmap(base_, size_);
    munmap(table_, kTableSize);
  }

  abi::ArenaHeader* header() { return reinterpret_cast<abi::ArenaHeader*>(base_); }
  abi::ProcessTable* table() { return table_; }
  abi::InheritedState* inherited() {
    return reinterpret_cast<abi::InheritedState*>(reinterpret_cast<char*>(table_) + abi::kInheritedOffset);
  }
  abi::ThreadSlot* slot(uint32_t index) {
    return reinterpret_cast<abi::ThreadSlot*>(base_ + header()->slots_offset + index * kTestSlotStride);
  }
  // The address, and the offset into the arena, of byte `offset` of the memory for globals.
  char* global(uint64_t offset = 0) { return base_ + kTestGlobals + offset; }
  uint64_t global_offset(uint64_t offset = 0) { return kTestGlobals + offset; }

 private:
  static constexpr uint64_t kTableSize = abi::kInheritedOffset + abi::inherited_size(kTestShadowStride, kTestShadowCapacity);
  uint64_t size_;
  char* base_;
  abi::ProcessTable* table_;
};

}  // namespace spile::rt
