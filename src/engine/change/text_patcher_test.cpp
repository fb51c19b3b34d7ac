#include "engine/change/text_patcher.h"

#include <gtest/gtest.h>
#include <string.h>
#include <unistd.h>

#include <vector>

namespace spile::engine {
namespace {

using State = TextState;

constexpr uint8_t kOriginal[] = {0x55, 0x48, 0x89, 0xe5, 0x53}, kPatched[] = {0xe9, 0x06, 0x17, 0xcc, 0x06};

// A site in this process's own memory.
class TextPatcher : public testing::Test {
 protected:
  void SetUp() override {
    auto memory = TargetMemory::open(getpid());
    ASSERT_TRUE(memory.ok());
    memory_ = std::move(memory).value();
    site_.begin = Address(reinterpret_cast<uint64_t>(text_));
    site_.overwritten = sizeof kOriginal;
    memcpy(site_.original, kOriginal, sizeof kOriginal);
    memcpy(site_.patched, kPatched, sizeof kPatched);
  }
  void put(std::initializer_list<int> bytes) {
    size_t at = 0;
    for (int byte : bytes) text_[at++] = static_cast<uint8_t>(byte);
  }
  std::vector<int> text() const { return {text_, text_ + sizeof text_}; }
  // What was found, of each site that was not as expected.
  std::vector<State> restore() {
    std::vector<State> found;
    write_patches(memory_, {&site_, 1}, PatchDirection::kRestore, [&](size_t, State state) { found.push_back(state); });
    return found;
  }
  uint8_t text_[6] = {};
  TargetMemory memory_;
  PatchedSite site_;
};

TEST_F(TextPatcher, TakesOutThePatch) {
  put({0xe9, 0x06, 0x17, 0xcc, 0x06, 0x99});
  EXPECT_EQ(text_at(memory_, site_), State::kPatched);
  EXPECT_EQ(restore(), std::vector<State>());
  EXPECT_EQ(text(), (std::vector<int>{0x55, 0x48, 0x89, 0xe5, 0x53, 0x99}));
}

TEST_F(TextPatcher, LeavesTheBreakpointThatAnotherTracerHasSet) {
  for (int at : {0, 1, 4}) {
    put({0xe9, 0x06, 0x17, 0xcc, 0x06, 0x99});
    text_[at] = 0xcc;
    EXPECT_EQ(text_at(memory_, site_), State::kMixed) << at;
    EXPECT_EQ(restore(), std::vector<State>{State::kMixed}) << at;
    std::vector<int> wanted = {0x55, 0x48, 0x89, 0xe5, 0x53, 0x99};
    wanted[static_cast<size_t>(at)] = 0xcc;
    EXPECT_EQ(text(), wanted);
    EXPECT_EQ(text_at(memory_, site_), State::kOriginal) << at;
  }
}

TEST_F(TextPatcher, TakesOutWhatABreakpointHasLeftThatHasGone) {
  put({0x55, 0x06, 0x17, 0xcc, 0x06, 0x99});
  EXPECT_EQ(restore(), std::vector<State>{State::kMixed});
  EXPECT_EQ(text(), (std::vector<int>{0x55, 0x48, 0x89, 0xe5, 0x53, 0x99}));
}

TEST_F(TextPatcher, LeavesCodeOfOthersAlone) {
  const std::vector<int> hook = {0xe9, 0x10, 0x20, 0x30, 0x40, 0x99};
  put({0xe9, 0x10, 0x20, 0x30, 0x40, 0x99});
  EXPECT_EQ(restore(), std::vector<State>{State::kForeign});
  EXPECT_EQ(text(), hook);
  site_.begin = Address(8);
  EXPECT_EQ(restore(), std::vector<State>{State::kGone});
}

}  // namespace
}  // namespace spile::engine
