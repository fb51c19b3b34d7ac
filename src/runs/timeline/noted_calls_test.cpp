#include "runs/timeline/noted_calls.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "runs/timeline/timeline_files.h"

namespace spile::runs {
namespace {

using testing::HasSubstr;

struct NotedCalls : testing::Test {
  Timeline timeline;
  std::vector<NotedCall> calls;
  void call(const char* name, uint64_t begun, uint64_t ended, uint64_t stack, bool runs = false) {
    calls.push_back({begun, ended, stack, timeline.text(name), runs});
  }
  // "a b< >": by track the names with their depths.
  std::string tree(uint64_t from = 0) {
    add_noted_calls(timeline, {1, 2, "shop", "main"}, calls, from, [](uint64_t tick) { return static_cast<int64_t>(tick); });
    std::string text;
    nested_events(timeline, [&](uint32_t thread, std::span<const NestedEvent> events) {
      if (thread > 0) text += "| ";
      for (const NestedEvent& event : events) {
        const Timeline::Slice& slice = timeline.slices()[event.index];
        text += event.kind == NestedEvent::Kind::kBegin
                    ? fmt::format("<{}{} ", timeline.text_at(slice.name), slice.cut ? fmt::format("/{}", slice.cut) : "")
                    : "> ";
      }
    });
    return text;
  }
};

TEST_F(NotedCalls, NestByTime) {
  call("inner", 20, 30, 0x800);
  call("inner", 40, 50, 0x800);
  call("outer", 10, 60, 0x900);
  call("next", 70, 80, 0x900);
  EXPECT_EQ(tree(), "<outer <inner > <inner > > <next > ");
}

TEST_F(NotedCalls, AFunctionThatJumpsToAnotherHasItWithin) {
  call("jumped_to", 20, 30, 0x900);
  call("jumps", 10, 31, 0x900);
  EXPECT_EQ(tree(), "<jumps <jumped_to > > ");
}

TEST_F(NotedCalls, OnAnotherStackHaveATrackOfTheirOwn) {
  call("a", 10, 50, 0x900);
  call("b", 20, 70, 0x800);  // ends later than what would be around it
  call("c", 30, 40, 0xa00);  // its stack is above
  EXPECT_EQ(tree(), "<a > | <b > | <c > ");
  EXPECT_LT(timeline.threads()[1].id, 0);
  EXPECT_THAT(timeline.threads()[2].name, HasSubstr("main 2, stack 3"));
}

TEST_F(NotedCalls, ThatBeganEarlierOrStillRunAreCut) {
  call("main", 10, 100, 0xa00, true);
  call("old", 20, 40, 0x900);
  call("f", 45, 55, 0x900);
  call("g", 60, 70, 0x900);
  EXPECT_EQ(tree(50), "<main/3 <f/1 > <g > > ");
  EXPECT_EQ(timeline.slices()[1].begin_ns, 50);
  EXPECT_THAT(text_trees(timeline), HasSubstr("f (began=5 ns before)\n"));
  EXPECT_THAT(text_trees(timeline), HasSubstr("} main  still runs\n"));
}

TEST_F(NotedCalls, ThatAreForgedAreHarmless) {
  call("", ~uint64_t{0}, 0, 0);
  call("x", 0, ~uint64_t{0}, ~uint64_t{0});
  for (uint64_t i = 1; i < 100; ++i) call("y", i, 1000 + i, i << 40);
  EXPECT_EQ(add_noted_calls(timeline, {-1, -1, "", "\n"}, calls, 0, [](uint64_t tick) { return static_cast<int64_t>(tick); }),
            64u);
  EXPECT_EQ(timeline.missing().size(), 1u);
  EXPECT_FALSE(text_trees(timeline).empty());
  EXPECT_FALSE(chrome_trace(timeline, {}).empty());
  EXPECT_FALSE(speedscope_timeline(timeline, {}).empty());
}

}  // namespace
}  // namespace spile::runs
