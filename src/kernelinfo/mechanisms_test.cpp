#include "kernelinfo/mechanisms.h"

#include <gmock/gmock.h>

namespace spile::kernelinfo {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Features kNew = {.tracing = true, .tracing_cookie = true, .multi = true, .multi_return_stack = true, .kprobe = true};
constexpr auto kTracing = Mechanism::kTracing, kMulti = Mechanism::kMulti, kKprobe = Mechanism::kKprobe;

TEST(Mechanisms, TriesTheCheapestFirst) {
  EXPECT_THAT(plan(kNew, {.described = true}), ElementsAre(kTracing, kMulti, kKprobe));
  EXPECT_THAT(plan(kNew, {.at_return = true, .described = true}), ElementsAre(kTracing, kMulti, kKprobe));
}

TEST(Mechanisms, NeedsDescribedFunctionsForTracing) {
  EXPECT_THAT(plan(kNew, {.described = false}), ElementsAre(kMulti, kKprobe));
}

TEST(Mechanisms, GivesManyPlacesOneLink) {
  EXPECT_THAT(plan(kNew, {.places = kMostTracingPlaces, .described = true}), ElementsAre(kTracing, kMulti, kKprobe));
  EXPECT_THAT(plan(kNew, {.places = kMostTracingPlaces + 1, .described = true}), ElementsAre(kMulti, kKprobe));
}

TEST(Mechanisms, NeedsCookiesToTellPlacesApart) {
  Features old = kNew;
  old.tracing_cookie = false;
  EXPECT_THAT(plan(old, {.places = 2, .described = true}), ElementsAre(kMulti, kKprobe));
  EXPECT_THAT(plan(old, {.places = 1, .described = true}), ElementsAre(kTracing, kMulti, kKprobe));
}

TEST(Mechanisms, NeedsTheStackForValuesOfTheEntry) {
  Features newer = kNew;
  newer.multi_return_stack = false;
  EXPECT_THAT(plan(newer, {.at_return = true, .saves_values = true}), ElementsAre(kKprobe));
  EXPECT_THAT(plan(newer, {.at_return = true}), ElementsAre(kMulti, kKprobe));
  EXPECT_THAT(plan(newer, {}), ElementsAre(kMulti, kKprobe));
}

TEST(Mechanisms, LeavesInstructionsToKprobes) {
  EXPECT_THAT(plan(kNew, {.function_entry = false}), ElementsAre(kKprobe));
  EXPECT_THAT(plan(kNew, {.at_return = true, .function_entry = false}), IsEmpty());
}

TEST(Mechanisms, NamesModulesToKprobesAlone) {
  EXPECT_THAT(plan(kNew, {.unknown_address = true}), ElementsAre(kKprobe));
  EXPECT_THAT(plan(kNew, {.at_return = true, .unknown_address = true}), ElementsAre(kKprobe));
}

TEST(Mechanisms, TracesNothingOnTheWayToAHandler) {
  EXPECT_TRUE(may_be_traced("vfs_read"));
  EXPECT_FALSE(may_be_traced("__rcu_read_lock"));
  EXPECT_FALSE(may_be_traced("migrate_disable"));
  EXPECT_FALSE(may_be_traced("__bpf_prog_enter_recur"));
}

TEST(Mechanisms, KnowsWhenTheKernelHasNone) { EXPECT_THAT(plan({}, {.described = true}), IsEmpty()); }

}  // namespace
}  // namespace spile::kernelinfo
