#include "engine/space/arena_hold.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "abi/arena.h"
#include "engine/space/region.h"

namespace spile::engine {
namespace {

constexpr uint32_t kOwnerDied = 0x40000000;
constexpr uint64_t kSize = 4 * abi::kPageSize;

struct SharedArena {
  UniqueFd fd;
  uint8_t* bytes;
  SharedArena() : fd(create_memory("spile-arena", kSize, false).value()) {
    bytes = static_cast<uint8_t*>(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
  }
  ~SharedArena() { munmap(bytes, kSize); }
  uint32_t word() const {
    return __atomic_load_n(&reinterpret_cast<abi::ArenaHeader*>(bytes)->controller_futex[0], __ATOMIC_ACQUIRE);
  }
  void put_word(uint32_t value) { reinterpret_cast<abi::ArenaHeader*>(bytes)->controller_futex[0] = value; }
};

// A process that takes hold of arenas and then dies of a signal, or (0) lets go and ends. meanwhile(): here, while it lives.
template <typename Hold, typename Meanwhile>
int killed_holder(Hold hold, Meanwhile meanwhile, int signal = SIGKILL) {
  int ready[2], done[2];
  EXPECT_EQ(pipe(ready), 0);
  EXPECT_EQ(pipe(done), 0);
  pid_t child = fork();
  if (child == 0) {
    auto held = hold();
    (void)!write(ready[1], "r", 1);
    if (signal == 0) {
      char byte;
      (void)!read(done[0], &byte, 1);
      held.clear();
      _exit(0);
    }
    for (;;) pause();
  }
  char byte;
  EXPECT_EQ(read(ready[0], &byte, 1), 1);
  meanwhile(child);
  if (signal) kill(child, signal);
  (void)!write(done[1], "d", 1);
  int status = 0;
  waitpid(child, &status, 0);
  for (int fd : {ready[0], ready[1], done[0], done[1]}) close(fd);
  return status;
}

TEST(ArenaHold, MarksEveryArenaWhenItsHolderIsKilled) {
  SharedArena arenas[3];
  killed_holder(
      [&] {
        std::vector<ArenaHold> held;
        for (SharedArena& arena : arenas) held.push_back(ArenaHold::take(arena.fd.get()).value());
        held.erase(held.begin() + 1);
        return held;
      },
      [&](pid_t child) {
        EXPECT_EQ(arenas[0].word(), static_cast<uint32_t>(child));
        EXPECT_EQ(arenas[1].word(), 0u) << "let go";
        EXPECT_EQ(arenas[2].word(), static_cast<uint32_t>(child));
      });
  EXPECT_TRUE(arenas[0].word() & kOwnerDied);
  EXPECT_FALSE(arenas[1].word() & kOwnerDied);
  EXPECT_TRUE(arenas[2].word() & kOwnerDied);
}

TEST(ArenaHold, SharesNoAddress) {
  SharedArena arena;
  killed_holder(
      [&] {
        std::vector<ArenaHold> held;
        held.push_back(ArenaHold::take(arena.fd.get()).value());
        return held;
      },
      [&](pid_t) {
        abi::ArenaHeader& header = *reinterpret_cast<abi::ArenaHeader*>(arena.bytes);
        header.controller_futex[0] = 0;
        EXPECT_TRUE(std::all_of(arena.bytes, arena.bytes + kSize, [](uint8_t byte) { return byte == 0; }));
      });
}

TEST(ArenaHold, EndsWhateverTheTargetWroteThere) {
  for (uint8_t fill : {0x00, 0x41, 0xff}) {
    SharedArena arena;
    int status = killed_holder(
        [&] {
          std::vector<ArenaHold> held;
          held.push_back(ArenaHold::take(arena.fd.get()).value());
          return held;
        },
        [&](pid_t) { memset(arena.bytes, fill, kSize); }, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(arena.word(), 0u);
  }
}

TEST(ArenaHold, CanBeTakenAgain) {
  SharedArena arena;
  arena.put_word(kOwnerDied | 1234);
  {
    ArenaHold first = ArenaHold::take(arena.fd.get()).value();
    EXPECT_EQ(arena.word(), static_cast<uint32_t>(gettid()));
    first = ArenaHold::take(arena.fd.get()).value();
    ArenaHold moved = std::move(first);
  }
  EXPECT_EQ(arena.word(), 0u);
}

}  // namespace
}  // namespace spile::engine
