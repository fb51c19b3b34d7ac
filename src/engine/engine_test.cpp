// The engine on live programs: exact counts, values untouched, nothing left behind.

#include "engine/terms/event.h"
#include "engine/terms/site_request.h"
#include "engine/test_fixture.h"

namespace spile::engine::test {
namespace {

const std::string kVictim = ENGINE_VICTIM;

class EngineTest : public EngineFixture {};

TEST_F(EngineTest, CountsCallsExactly) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  arm({entry(kVictim, "leaf", 1)});
  EXPECT_EQ(victim.ask("calls 1000", engine_.get()), "done");
  EXPECT_EQ(counts(1).entered, 2000u);  // once by name, once through call_through
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
  EXPECT_EQ(victim.ask("calls 10"), "done");
  EXPECT_EQ(counts(1).entered, 2000u);
}

TEST_F(EngineTest, CountsAllFunctionsOfEightThreads) {
  Program victim({kVictim, "8"});
  victim.answer();
  attach(victim.pid());
  std::vector<SiteRequest> sites;
  const char* names[] = {"leaf", "tiny", "many", "variadic", "recurse", "give_large", "call_through"};
  for (uint32_t i = 0; i < 7; i++) sites.push_back(entry(kVictim, names[i], i));
  arm(sites);
  EXPECT_EQ(victim.ask("calls 2000", engine_.get()), "done");
  uint64_t expected[] = {32000, 16000, 16000, 16000, 64000, 16000, 16000};
  for (uint32_t i = 0; i < 7; i++) EXPECT_EQ(counts(i).entered, expected[i]) << names[i];
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
}

TEST_F(EngineTest, ReturnsGiveTheirValuesAndKeepTheCallers) {
  Program victim({kVictim, "4"});
  victim.answer();
  attach(victim.pid());
  std::vector<SiteRequest> sites;
  const char* names[] = {"leaf", "tiny", "many", "variadic", "recurse", "give_large", "call_through"};
  for (uint32_t i = 0; i < 7; i++) sites.push_back(returns(kVictim, names[i], i));
  arm(sites);
  EXPECT_EQ(victim.ask("calls 1000", engine_.get()), "done");
  uint64_t expected[] = {8000, 4000, 4000, 4000, 16000, 4000, 4000};
  for (uint32_t i = 0; i < 7; i++) {
    EXPECT_EQ(counts(i).entered, expected[i]) << names[i];
    EXPECT_EQ(counts(i).returned, expected[i]) << names[i];
    EXPECT_EQ(counts(i).skipped, 0u) << names[i];
  }
  EXPECT_EQ(counts(1).sum, 4000u * 7);
  EXPECT_EQ(counts(2).sum, 4000u * 204);
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
}

TEST_F(EngineTest, HandlersSeeAndKeepRegisters) {
  Program victim({kVictim, "2"});
  victim.answer();
  attach(victim.pid());
  SiteRequest first = base(kVictim, "leaf", 1), second = base(kVictim, "many", 2);
  first.flags = second.flags = abi::kWantsRegisters;
  first.probe = EntryProbe{handlers_.offset("count_registers")};
  second.probe =
      ReturnProbe{.enter = handlers_.offset("enter_return_registers"), .exit = handlers_.offset("exit_return_registers")};
  arm({first, second});
  EXPECT_EQ(victim.ask("calls 100", engine_.get()), "done");
  EXPECT_EQ(counts(1).entered, 400u);
  EXPECT_EQ(counts(1).sum, 2u * 2 * 4950);
  EXPECT_EQ(counts(2).returned, 200u);
  EXPECT_EQ(counts(2).sum, 200u * 204);
  detach();
}

TEST_F(EngineTest, SeveralProbesShareAFunction) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  arm({entry(kVictim, "recurse", 1), returns(kVictim, "recurse", 2), returns(kVictim, "recurse", 3),
       entry(kVictim, "recurse", 4)});
  EXPECT_EQ(victim.ask("calls 100", engine_.get()), "done");
  for (uint32_t site : {1, 2, 3, 4}) EXPECT_EQ(counts(site).entered, 400u) << site;
  for (uint32_t site : {2, 3}) EXPECT_EQ(counts(site).returned, 400u) << site;
  detach();
  EXPECT_EQ(victim.ask("calls 100"), "done");
}

TEST_F(EngineTest, LongjmpDropsFrames) {
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  arm({returns(kVictim, "jump_out", 1), returns(kVictim, "recurse", 2)});
  EXPECT_EQ(victim.ask("longjmp 1000", engine_.get()), "done");
  EXPECT_EQ(counts(1).entered, 6000u);
  EXPECT_EQ(counts(1).returned, 0u);
  EXPECT_EQ(counts(2).returned, 4000u);
  detach();
}

TEST_F(EngineTest, LaunchArmsBeforeTheFirstInstruction) {
  auto pid = engine_->launch({.arguments = {kVictim, "1", "500"}});
  ASSERT_TRUE(pid.ok()) << pid.error().message;
  arm({entry(kVictim, "leaf", 1), returns(kVictim, "many", 2)});
  engine_->resume_all();
  int status = -1;
  for (int i = 0; i < 200 && status == -1; i++) {
    auto events = engine_->poll(100);
    ASSERT_TRUE(events.ok());
    for (Event& event : *events) {
      if (event.kind == Event::Kind::kProcessExited && event.pid == *pid) status = event.status;
    }
  }
  EXPECT_EQ(WEXITSTATUS(status), 11);
  EXPECT_EQ(counts(1).entered, 1000u);
  EXPECT_EQ(counts(2).returned, 500u);
}

TEST_F(EngineTest, LaunchOfNothingSaysWhy) {
  auto pid = engine_->launch({.arguments = {"/nonexistent/program"}});
  ASSERT_FALSE(pid.ok());
  EXPECT_EQ(pid.error().message, "run /nonexistent/program: No such file or directory");
}

TEST_F(EngineTest, StaticProgramsAreProbed) {
  Program victim({ENGINE_STATIC_VICTIM, "2"});
  victim.answer();
  attach(victim.pid());
  arm({entry(ENGINE_STATIC_VICTIM, "leaf", 1), returns(ENGINE_STATIC_VICTIM, "malloc", 2)});
  EXPECT_EQ(victim.ask("calls 100", engine_.get()), "done");
  EXPECT_EQ(counts(1).entered, 400u);
  detach();
  EXPECT_EQ(traces(victim.pid()), "");
}

TEST_F(EngineTest, RefusesWithReasons) {
  auto missing = engine_->attach(999999999);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "attach 999999999: no such process");
  Program victim({kVictim, "1"});
  victim.answer();
  attach(victim.pid());
  SiteRequest nowhere;
  nowhere.site_id = 1;
  nowhere.module_path = std::filesystem::canonical(kVictim);
  nowhere.address = FileAddress(0x10);
  nowhere.probe = EntryProbe{handlers_.offset("count_first")};
  auto report = engine_->arm(std::vector{nowhere});
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report->outcomes.size(), 1u);
  EXPECT_EQ(report->outcomes[0].reason, "its address is not in the module's executable memory");
}

TEST_F(EngineTest, LeavesNoDescriptorAndNoMapping) {
  Program victim({kVictim, "4"});
  victim.answer();
  EXPECT_EQ(victim.ask("calls 10"), "done");
  size_t descriptors = count_descriptors(victim.pid()), mappings = count_mappings(victim.pid());
  attach(victim.pid());
  arm({entry(kVictim, "leaf", 1)});
  EXPECT_EQ(count_descriptors(victim.pid()), descriptors);
  detach();
  EXPECT_EQ(count_descriptors(victim.pid()), descriptors);
  EXPECT_EQ(count_mappings(victim.pid()), mappings);
}

}  // namespace
}  // namespace spile::engine::test
