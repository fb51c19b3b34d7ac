// Functions into which no jump fits.

#include "engine/test_fixture.h"

namespace spile::engine::test {
namespace {

const std::string kVictim = ENGINE_VICTIM;

class ShortFunctionTest : public EngineFixture {
 protected:
  std::vector<SiteRequest> sites(bool with_returns) {
    std::vector<SiteRequest> made;
    for (const char* name : {"cramped", "punned", "tight"}) {
      uint32_t site = static_cast<uint32_t>(made.size() + 1);
      made.push_back(with_returns ? returns(kVictim, name, site) : entry(kVictim, name, site));
    }
    return made;
  }
};

TEST_F(ShortFunctionTest, AreProbedBySomeMechanism) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  ArmReport report = arm(sites(false));
  ASSERT_EQ(report.outcomes.size(), 3u);
  EXPECT_STREQ(mechanism_name(report.outcomes[0].mechanism), "int3");
  EXPECT_EQ(victim.ask("short 100", engine_.get()), "sum 2100");
  for (uint32_t site : {1, 2, 3}) EXPECT_EQ(counts(site).entered, 100u) << site;
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
  EXPECT_EQ(victim.ask("short 100"), "sum 2100");
}

TEST_F(ShortFunctionTest, ReturnToo) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  arm(sites(true));
  EXPECT_EQ(victim.ask("short 100", engine_.get()), "sum 2100");
  for (uint32_t site : {1, 2, 3}) EXPECT_EQ(counts(site).returned, 100u) << site;
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
}

TEST_F(ShortFunctionTest, BreakpointsHurtNobodyWhenTheControllerIsKilled) {
  Program victim({kVictim, "1"});
  victim.answer();
  pid_t controller = start_controller(victim.pid(), sites(false));
  EXPECT_EQ(victim.ask("short 100"), "sum 2100");
  victim.tell("short 20000");
  usleep(2000);  // some of the calls are made, others are not
  kill(controller, SIGKILL);
  waitpid(controller, nullptr, 0);
  EXPECT_EQ(victim.answer(), "sum 420000");
  EXPECT_EQ(victim.ask("short 100"), "sum 2100");
  EXPECT_NE(traces(victim.pid()), "");
  open_engine({});
  victim.tell("short 20000");
  attach(victim.pid());
  EXPECT_EQ(traces(victim.pid()), "");
  EXPECT_EQ(victim.answer(engine_.get()), "sum 420000");
  detach();
  EXPECT_EQ(victim.ask("short 100"), "sum 2100");
}

TEST_F(ShortFunctionTest, DetachWhileBreakpointsAreHit) {
  Program victim({kVictim, "1"});
  victim.answer();
  for (int round = 0; round < 10; round++) {
    open_engine({});
    attach(victim.pid());
    arm(sites(round % 2));
    victim.tell("short 3000");
    usleep(1000 * round);  // another moment in each round
    detach();
    EXPECT_EQ(victim.answer(), "sum 63000");
    ASSERT_EQ(traces(victim.pid()), "");
  }
}

// 7 + 31 + 5 + 8 + 40 a round.
class PackedFunctionTest : public EngineFixture {
 protected:
  static constexpr int kFunctions = 6;
  std::vector<SiteRequest> sites(bool with_returns) {
    std::vector<SiteRequest> made;
    for (const char* name : {"packed_return", "packed_next", "packed_jump", "packed_add", "packed_loop", "packed_long"}) {
      uint32_t site = static_cast<uint32_t>(made.size() + 1);
      made.push_back(with_returns ? returns(kVictim, name, site) : entry(kVictim, name, site));
    }
    return made;
  }
};

TEST_F(PackedFunctionTest, JumpByWayOfTheirNeighbors) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  ArmReport report = arm(sites(false));
  ASSERT_EQ(report.outcomes.size(), size_t{kFunctions});
  for (const SiteOutcome& outcome : report.outcomes) {
    EXPECT_STREQ(mechanism_name(outcome.mechanism), outcome.site_id == 2 ? "jump" : "short jump") << outcome.site_id;
  }
  EXPECT_EQ(victim.ask("packed 1000", engine_.get()), "sum 91000");
  for (uint32_t site = 1; site <= kFunctions; site++) EXPECT_EQ(counts(site).entered, 1000u) << site;
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
  EXPECT_EQ(victim.ask("packed 1000"), "sum 91000");
}

TEST_F(PackedFunctionTest, ReturnOnceForEachCall) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  arm(sites(true));
  EXPECT_EQ(victim.ask("packed 1000", engine_.get()), "sum 91000");
  for (uint32_t site = 1; site <= kFunctions; site++) EXPECT_EQ(counts(site).returned, 1000u) << site;
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
}

// A thread may stand in the middle of what is displaced for somebody else.
TEST_F(PackedFunctionTest, ComeAndGoWhileTheyRun) {
  Program victim({kVictim, "1"});
  victim.answer();
  for (int round = 0; round < 20; round++) {
    open_engine({});
    attach(victim.pid());
    victim.tell("packed 300000");
    usleep(200 * round);  // another moment in each round
    arm(sites(round % 2));
    usleep(1000);  // some calls are made through the sites
    detach();
    EXPECT_EQ(victim.answer(), "sum 27300000");
    ASSERT_EQ(traces(victim.pid()), "");
  }
}

TEST_F(PackedFunctionTest, AreRestoredAfterAKilledController) {
  Program victim({kVictim, "1"});
  victim.answer();
  pid_t controller = start_controller(victim.pid(), sites(false));
  victim.tell("packed 3000000");
  kill(controller, SIGKILL);
  waitpid(controller, nullptr, 0);
  open_engine({});
  attach(victim.pid());
  EXPECT_EQ(traces(victim.pid()), "");
  EXPECT_EQ(victim.answer(engine_.get()), "sum 273000000");
  detach();
  EXPECT_EQ(victim.ask("packed 1000"), "sum 91000");
}

}  // namespace
}  // namespace spile::engine::test
