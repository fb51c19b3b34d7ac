#include "runs/timeline/timeline.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "runs/timeline/perfetto_file.h"

namespace spile::runs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// "<a@10 <b@20 !i@25 >b@30 >a@90": begins, instants and ends of all threads, with their times.
std::string events_of(const Timeline& timeline, uint64_t* crossed = nullptr) {
  std::string text;
  const uint64_t count = nested_events(timeline, [&](uint32_t thread, std::span<const NestedEvent> events) {
    if (thread > 0) text += "| ";
    for (const NestedEvent& event : events) {
      const bool is_instant = event.kind == NestedEvent::Kind::kInstant;
      const uint32_t name = is_instant ? timeline.instants()[event.index].name : timeline.slices()[event.index].name;
      text += fmt::format("{}{}@{} ",
                          is_instant                                ? "!"
                          : event.kind == NestedEvent::Kind::kBegin ? "<"
                                                                    : ">",
                          timeline.text_at(name), event.time_ns);
    }
  });
  if (crossed) *crossed = count;
  return text;
}

struct Example : testing::Test {
  Timeline timeline;
  uint32_t thread = timeline.add_thread(timeline.add_process(7, "shop"), 8, "worker");
  void slice(const char* name, int64_t begin, int64_t end, uint32_t depth) {
    timeline.add_slice({.begin_ns = begin, .end_ns = end, .thread = thread, .name = timeline.text(name), .depth = depth});
  }
};

TEST_F(Example, PutsSlicesInOrderWhateverTheOrderTheyCameIn) {
  slice("b", 20, 30, 1);
  slice("c", 30, 40, 1);
  slice("a", 10, 90, 0);
  timeline.add_instant({.time_ns = 25, .thread = thread, .name = timeline.text("i")});
  uint64_t crossed = 1;
  EXPECT_EQ(events_of(timeline, &crossed), "<a@10 <b@20 !i@25 >b@30 <c@30 >c@40 >a@90 ");
  EXPECT_EQ(crossed, 0u);
}

TEST_F(Example, NestsByDepthAtEqualTimes) {
  slice("inner", 10, 20, 2);
  slice("outer", 10, 20, 1);
  slice("next", 20, 20, 1);
  EXPECT_EQ(events_of(timeline), "<outer@10 <inner@10 >inner@20 >outer@20 <next@20 >next@20 ");
}

TEST_F(Example, CutsOffSlicesThatCross) {
  slice("a", 10, 50, 0);
  slice("b", 20, 70, 1);  // longer than what it is within
  slice("c", 40, 60, 1);  // begins before b has ended
  slice("d", 55, 80, 0);
  uint64_t crossed = 0;
  EXPECT_EQ(events_of(timeline, &crossed), "<a@10 <b@20 >b@40 <c@40 >c@50 >a@50 <d@55 >d@80 ");
  EXPECT_EQ(crossed, 3u);
}

TEST_F(Example, GapsInDepthsAreNoLevels) {
  slice("a", 10, 50, 0);
  slice("d", 20, 30, 3);
  slice("b", 35, 40, 1);
  EXPECT_EQ(events_of(timeline), "<a@10 <d@20 >d@30 <b@35 >b@40 >a@50 ");
}

TEST_F(Example, ASliceIsNotWithinOneThatHasEnded) {
  slice("a", 10, 20, 0);
  slice("b", 30, 40, 1);
  uint64_t crossed = 1;
  EXPECT_EQ(events_of(timeline, &crossed), "<a@10 >a@20 <b@30 >b@40 ");
  EXPECT_EQ(crossed, 0u);
}

TEST_F(Example, KeepsEqualNamesAndThreadsOnce) {
  EXPECT_EQ(timeline.text("x"), timeline.text("x"));
  EXPECT_EQ(timeline.text(""), 0u);
  EXPECT_EQ(timeline.add_thread(0, 8, ""), thread);
  EXPECT_EQ(timeline.threads()[thread].name, "worker");
  timeline.add_thread(0, 8, "renamed");
  EXPECT_EQ(timeline.threads()[thread].name, "renamed");
  EXPECT_EQ(timeline.add_counter("n"), timeline.add_counter("n"));
  EXPECT_NE(timeline.add_counter("n"), timeline.add_counter("n", "", 0));
  timeline.note_missing("calls", 2);
  timeline.note_missing("calls", 3);
  timeline.note_missing("others", 0);
  EXPECT_THAT(timeline.missing(), ElementsAre(Pair("calls", 5)));
}

TEST_F(Example, ForgedTimesAndTextsAreHarmless) {
  slice("\xff\n", INT64_MIN, INT64_MAX, ~0u);
  slice("", INT64_MAX, INT64_MIN, 0);
  slice(std::string(100000, 'x').c_str(), -5, 5, 1);
  timeline.add_instant({.time_ns = INT64_MAX, .thread = thread});
  timeline.add_value({.time_ns = INT64_MIN, .counter = timeline.add_counter("\xfe"), .value = 1e300});
  EXPECT_EQ(timeline.slices()[1].end_ns, INT64_MAX);
  EXPECT_EQ(timeline.text_at(timeline.slices()[2].name).size(), Timeline::kLongestText);
  const std::string trace = perfetto_trace(timeline, {"t", "s", "h"}, {});
  EXPECT_THAT(trace, HasSubstr("\xef\xbf\xbd"));
}

}  // namespace
}  // namespace spile::runs
