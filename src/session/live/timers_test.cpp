#include "session/live/timers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace spile::session {
namespace {

sema::Program with_timers(std::vector<std::pair<int64_t, int64_t>> intervals) {
  sema::Program program;
  for (auto [interval, randomize] : intervals) {
    sema::Probe probe;
    probe.index = static_cast<int>(program.probes.size());
    probe.kind = sema::ProbeKind::kTimer;
    probe.points.emplace_back();
    probe.points.back().interval_ns = interval;
    probe.points.back().randomize_ns = randomize;
    program.probes.push_back(std::move(probe));
  }
  return program;
}

TEST(Timers, AreDueOneIntervalAfterTheStart) {
  sema::Program program = with_timers({{100, 0}, {30, 0}});
  Timers timers(program);
  timers.start(1000);
  EXPECT_EQ(timers.next_due(), 1030);
  EXPECT_EQ(timers.take_due(1029), std::vector<int>{});
  EXPECT_EQ(timers.take_due(1030), std::vector<int>{1});
  EXPECT_EQ(timers.next_due(), 1060);
}

TEST(Timers, RunInOrderOfDueTime) {
  sema::Program program = with_timers({{50, 0}, {40, 0}, {45, 0}});
  Timers timers(program);
  timers.start(0);
  EXPECT_EQ(timers.take_due(60), (std::vector<int>{1, 2, 0}));
}

TEST(Timers, ThatFellBehindRunOnceAndGoOnFromNow) {
  sema::Program program = with_timers({{10, 0}});
  Timers timers(program);
  timers.start(0);
  EXPECT_EQ(timers.take_due(1000), std::vector<int>{0});
  EXPECT_EQ(timers.take_due(1000), std::vector<int>{});
  EXPECT_EQ(timers.next_due(), 1010);
}

TEST(Timers, CountTheTimesThatTheyMissed) {
  constexpr int64_t kMs = 1'000'000;
  sema::Program program = with_timers({{10 * kMs, 0}, {1000 * kMs, 0}, {10, 0}});
  program.probes[0].points[0].text = "timer.ms(10)";
  Timers timers(program);
  timers.start(0);  // the last one misses millions, but of less than 100 ms until then
  timers.take_due(kMs);
  EXPECT_THAT(timers.losses(), testing::IsEmpty());
  program = with_timers({{10 * kMs, 0}, {1000 * kMs, 0}});
  program.probes[0].points[0].text = "timer.ms(10)";
  timers = Timers(program);
  timers.start(0);
  for (int64_t now = 10; now <= 120; now += 10) timers.take_due(now * kMs);
  EXPECT_THAT(timers.losses(), testing::IsEmpty());
  timers.take_due(225 * kMs);  // due at 130; those of 140 to 220 are missed
  EXPECT_THAT(timers.losses(), testing::IsEmpty());
  timers.take_due(250 * kMs);  // due at 235; that of 245 is missed
  EXPECT_THAT(
      timers.losses(),
      testing::ElementsAre("timer.ms(10) ran 14 times, and missed 10: handlers that run in spile could not run so often"));
}

TEST(Timers, KeepTheirBeatWhenTakenALittleLate) {
  sema::Program program = with_timers({{10, 0}});
  Timers timers(program);
  timers.start(0);
  timers.take_due(13);
  EXPECT_EQ(timers.next_due(), 20);
}

TEST(Timers, StayWithinTheirRandomRangeAndAboveZero) {
  sema::Program program = with_timers({{100, 99}});
  for (int i = 0; i < 200; ++i) {
    Timers timers(program);
    timers.start(0);
    ASSERT_GE(*timers.next_due(), 1);
    ASSERT_LE(*timers.next_due(), 199);
  }
}

TEST(Timers, WithoutTimerProbesAreNeverDue) {
  sema::Program program;
  Timers timers(program);
  timers.start(0);
  EXPECT_EQ(timers.next_due(), std::nullopt);
}

}  // namespace
}  // namespace spile::session
