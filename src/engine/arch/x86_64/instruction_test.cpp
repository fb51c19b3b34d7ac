// Sites inside functions: everything is live there. Semaphores of marks, switches, and what a guru may change.

#include "engine/test_fixture.h"

namespace spile::engine::test {
namespace {

const std::string kVictim = ENGINE_VICTIM;

class InstructionTest : public EngineFixture {
 protected:
  SiteRequest at_mark(uint32_t site, const char* handler, uint32_t flags) {
    SiteRequest request = base(kVictim, "marked", site);
    SiteRequest function = base(kVictim, "by_red_zone", site);
    request.function = function.address;
    request.flags = flags;
    request.probe = InstructionProbe{handlers_.offset(handler)};
    return request;
  }
};

TEST_F(InstructionTest, FlagsRedZoneAndRegistersStayAsTheyWere) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  SiteRequest second = at_mark(2, "count_registers", abi::kWantsRegisters);
  arm({at_mark(1, "count_by_id", abi::kWantsSiteId), second});
  EXPECT_EQ(victim.ask("mark 4", engine_.get()), "marked 9 0");
  EXPECT_EQ(victim.ask("mark 5", engine_.get()), "marked 10 0");
  EXPECT_EQ(counts(1).entered, 2u);
  EXPECT_EQ(counts(1).sum, 9u);
  EXPECT_EQ(counts(2).sum, 9u);
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
  EXPECT_EQ(victim.ask("mark 4"), "marked 9 0");
}

TEST_F(InstructionTest, WrittenRegistersAndFlagsTakeEffect) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  SiteRequest returned = base(kVictim, "by_red_zone", 2);
  returned.flags = abi::kWantsRegisters;
  returned.probe = ReturnProbe{.enter = handlers_.offset("enter_return_registers"), .exit = handlers_.offset("change_returned")};
  arm({at_mark(1, "change_registers", abi::kWantsRegisters)});
  EXPECT_EQ(victim.ask("mark 4", engine_.get()), "marked 1008 0");
  arm({returned});
  EXPECT_EQ(victim.ask("mark 4", engine_.get()), "marked 5 0");
  EXPECT_EQ(counts(2).sum, 1008u);
}

TEST_F(InstructionTest, SemaphoresAreRaisedWhileArmedAndInChildren) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  SiteRequest request = at_mark(1, "count_by_id", abi::kWantsSiteId);
  auto symbols = read_symbols(kVictim, SHT_DYNSYM, true);
  ASSERT_TRUE(symbols.contains("mark_semaphore"));
  request.semaphore = FileAddress(symbols["mark_semaphore"].address);
  arm({request});
  EXPECT_EQ(victim.ask("mark 1", engine_.get()), "marked 3 1");
  EXPECT_EQ(victim.ask("exec", engine_.get()), fmt::format("ready {}", victim.pid()));
  EXPECT_EQ(victim.ask("mark 1", engine_.get()), "marked 3 1");
  detach();
  EXPECT_EQ(victim.ask("mark 1"), "marked 3 0");
}

TEST_F(InstructionTest, SwitchedOffSitesAreNotCounted) {
  Program victim({kVictim, "4"});
  victim.answer();
  attach(victim.pid());
  SiteRequest first = entry(kVictim, "leaf", 1), second = entry(kVictim, "leaf", 2);
  first.flags |= abi::kSwitchable;
  first.enabled = false;
  SiteRequest third = returns(kVictim, "leaf", 3);
  third.flags |= abi::kSwitchable;
  arm({first, second, third});
  EXPECT_EQ(victim.ask("calls 100", engine_.get()), "done");
  EXPECT_EQ(counts(1).entered, 0u);
  EXPECT_EQ(counts(2).entered, 800u);
  EXPECT_EQ(counts(3).returned, 800u);
  std::vector<uint32_t> one = {1}, three = {3};
  engine_->switch_sites(one, true);
  engine_->switch_sites(three, false);
  EXPECT_EQ(victim.ask("calls 100", engine_.get()), "done");
  EXPECT_EQ(counts(1).entered, 800u);
  EXPECT_EQ(counts(2).entered, 1600u);
  EXPECT_EQ(counts(3).entered, 800u);
  // In a program that comes later too.
  EXPECT_EQ(victim.ask("exec", engine_.get()), fmt::format("ready {}", victim.pid()));
  EXPECT_EQ(victim.ask("calls 100", engine_.get()), "done");
  EXPECT_EQ(counts(1).entered, 1600u);
  EXPECT_EQ(counts(3).entered, 800u);
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
}

TEST_F(InstructionTest, SwitchesAreThrownWhileThreadsRun) {
  Program victim({kVictim, "4"});
  victim.answer();
  attach(victim.pid());
  std::vector<SiteRequest> sites;
  std::vector<uint32_t> ids;
  for (const char* name : {"leaf", "tiny", "many", "variadic", "recurse"}) {
    ids.push_back(static_cast<uint32_t>(sites.size() + 1));
    sites.push_back(sites.size() % 2 ? returns(kVictim, name, ids.back()) : entry(kVictim, name, ids.back()));
    sites.back().flags |= abi::kSwitchable;
  }
  arm(sites);
  EXPECT_EQ(victim.ask("spin", engine_.get()), "done");
  for (int tries = 0; counts(1).entered == 0 && tries < 5000; tries++) (void)engine_->poll(1);
  for (int i = 0; i < 200'000; i++) engine_->switch_sites(ids, i & 1);
  EXPECT_EQ(victim.ask("rest", engine_.get()), "done");
  uint64_t before = counts(1).entered, returned = counts(2).returned;
  EXPECT_GT(before, 0u);
  EXPECT_EQ(victim.ask("calls 100", engine_.get()), "done");
  EXPECT_EQ(counts(1).entered, before + 800);
  EXPECT_EQ(counts(2).returned, returned + 400);
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
}

}  // namespace
}  // namespace spile::engine::test
