#include "engine/space/region.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace spile::engine {
namespace {

// What a process that was given the descriptor, or has it mapped, may try.
TEST(Region, CantBeChangedByWhoeverMapsIt) {
  auto region = Region::create(4, 4096, {}).value();
  EXPECT_NE(ftruncate(region->fd(), 0), 0);
  EXPECT_NE(ftruncate(region->fd(), 1 << 30), 0);
  EXPECT_NE(fallocate(region->fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
  EXPECT_NE(pwrite(region->fd(), "x", 1, 0), 1);
  EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, region->fd(), 0), MAP_FAILED);
  void* code = mmap(nullptr, region->size(), PROT_READ | PROT_EXEC, MAP_SHARED, region->fd(), 0);
  ASSERT_NE(code, MAP_FAILED);
  EXPECT_NE(mprotect(code, region->size(), PROT_READ | PROT_WRITE), 0);
  EXPECT_NE(madvise(code, 4096, MADV_REMOVE), 0);
  EXPECT_EQ(reinterpret_cast<const RegionHeader*>(code)->magic, kRegionMagic);
  munmap(code, region->size());
}

TEST(Region, PublishesItsJournalAndItsList) {
  auto region = Region::create(4, 4096, {}).value();
  region->place(Address(0x10000));
  void* code = mmap(nullptr, region->size(), PROT_READ, MAP_SHARED, region->fd(), 0);
  ASSERT_NE(code, MAP_FAILED);
  const auto* bytes = static_cast<const uint8_t*>(code);
  const auto* header = reinterpret_cast<const RegionHeader*>(bytes);
  const auto* list = reinterpret_cast<const abi::CodeRegionList*>(bytes + kRegionListOffset);
  JournalEntry entry{};
  entry.address = 0x5000;
  entry.length = 5;
  entry.trampoline_offset = 0x40;
  region->append_journal(entry);
  EXPECT_EQ(header->journal_count, 1u);
  EXPECT_EQ(memcmp(bytes + header->journal_offset, &entry, sizeof entry), 0);
  region->strike_from_journal({{Address(0x5000), Address(0x10040)}});
  EXPECT_EQ(reinterpret_cast<const JournalEntry*>(bytes + header->journal_offset)->length, 0u);
  region->list_region(Address(0x1000), Address(0x2000), false);
  region->list_region(Address(0x3000), Address(0x4000), true);
  EXPECT_EQ(list->count, 2u);
  EXPECT_EQ(list->ranges[1].begin, 0x3000 | abi::kForeignRegion);
  region->unlist_region(Address(0x1000));
  EXPECT_EQ(list->ranges[0].end, 0u);
  region->list_region(Address(0x7000), Address(0x8000), false);
  EXPECT_EQ(list->count, 2u);
  EXPECT_EQ(list->ranges[0].end, 0x8000u);
  munmap(code, region->size());
}

TEST(Region, IsNotOpenedAgainByOthers) {
  for (bool executable : {false, true}) {
    UniqueFd memory = create_memory("spile-test", 4096, executable).value();
    EXPECT_NE(ftruncate(memory.get(), 0), 0);
    EXPECT_EQ(fcntl(memory.get(), F_GET_SEALS) & F_SEAL_SHRINK, F_SEAL_SHRINK);
    if (geteuid() != 0) continue;
    std::string path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(memory.get());
    ASSERT_EQ(seteuid(65534), 0);
    UniqueFd again(open(path.c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(seteuid(0), 0);
    EXPECT_FALSE(again);
  }
}

}  // namespace
}  // namespace spile::engine
