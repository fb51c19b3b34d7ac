#include "session/places/placed_sites.h"

#include <gtest/gtest.h>

namespace spile::session {
namespace {

using namespace std::chrono_literals;
using Warnings = std::vector<std::string>;

// A program with sites in /bin/a (two), /lib/b and nowhere (system calls).
class Places : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* module : {"/bin/a", "/bin/a", "/lib/b", ""}) {
      sema::ArmedSite armed{};
      armed.site.module = module;
      program_.sites.add(std::move(armed));
    }
  }
  static engine::ArmReport report_of(pid_t pid, std::vector<uint32_t> sites) {
    engine::ArmReport report;
    for (uint32_t site : sites) report.outcomes.push_back({site, pid, engine::Mechanism::kInt3, "", false});
    return report;
  }

  sema::Program program_;
  PlacedSites placed_{program_};
};

TEST_F(Places, WarnsOfFilesThatNobodyHasLoaded) {
  placed_.note(report_of(10, {0, 1}));
  EXPECT_EQ(placed_.never_loaded(),
            Warnings{"/lib/b was never loaded by a traced process: 1 of the script's 4 probed place was never in place"});
  placed_.note(report_of(10, {2}));
  EXPECT_EQ(placed_.never_loaded(), Warnings{});
}

TEST_F(Places, CountsRefusedSitesAsMet) {
  engine::ArmReport report = report_of(10, {0, 2});
  for (engine::SiteOutcome& outcome : report.outcomes) outcome.mechanism = engine::Mechanism::kRefused;
  placed_.note(report);
  EXPECT_EQ(placed_.never_loaded(), Warnings{}) << "refusals are reported elsewhere";
}

TEST_F(Places, WarnsOnceOfANamedProcessThatHasNoPlaces) {
  placed_.note(report_of(10, {0}));
  placed_.expect_places_in({10, 11});
  EXPECT_EQ(placed_.still_without_places(1h), Warnings{}) << "it may still be loading";
  EXPECT_EQ(placed_.still_without_places(0s),
            Warnings{"process 11 has not loaded /bin/a, /lib/b, which the script probes; hits are counted once that is loaded"});
  EXPECT_EQ(placed_.still_without_places(0s), Warnings{});
}

TEST_F(Places, ExpectNothingOfAProcessThatStartedOneWithPlaces) {
  placed_.expect_places_in({10});
  placed_.note(report_of(99, {0}));  // a child
  EXPECT_EQ(placed_.still_without_places(0s), Warnings{});
}

TEST_F(Places, ExpectNothingOfAProcessThatHasEnded) {
  placed_.expect_places_in({10});
  placed_.note_end(10);
  EXPECT_EQ(placed_.still_without_places(0s), Warnings{});
}

TEST_F(Places, WarnsOfAProcessThatExecutesSomethingElse) {
  placed_.note(report_of(10, {0}));
  placed_.note_exec(10, "/bin/a");  // the exec that began it
  placed_.note_exec(10, "/bin/other");
  EXPECT_EQ(placed_.left_by_exec(1h), Warnings{});
  EXPECT_EQ(placed_.left_by_exec(0s), Warnings{"process 10 now executes /bin/other, which the script does not probe"});
  EXPECT_EQ(placed_.left_by_exec(0s), Warnings{});
}

TEST_F(Places, AreBackWhenTheNewProgramLoadsTheLibrary) {
  placed_.note(report_of(10, {0}));
  placed_.note_exec(10, "/bin/other");
  placed_.note(report_of(10, {2}));
  EXPECT_EQ(placed_.left_by_exec(0s), Warnings{});
}

TEST_F(Places, IgnoreIdsThatAreNotOfTheScriptsSites) {
  placed_.note(report_of(10, {4, 5, 1000}));
  placed_.expect_places_in({10});
  EXPECT_EQ(placed_.still_without_places(0s).size(), 1u);
}

}  // namespace
}  // namespace spile::session
