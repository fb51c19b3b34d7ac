// Functions armed and disarmed all the time, in a program of eight threads that call them, with SIGPROF at 1 kHz whose
// handler calls them too, while another thread forks, and opens and closes a library. SPILE_TOGGLE_SECONDS=600 makes it
// a long one.

#include <cstdlib>

#include "engine/engine.h"
#include "engine/test_fixture.h"

namespace spile::engine::test {
namespace {

const std::string kToggled = ENGINE_TOGGLED;

class ToggleTest : public EngineFixture {};

TEST_F(ToggleTest, ArmedAndDisarmedUnderThreadsSignalsForksAndLibraries) {
  const char* wanted = std::getenv("SPILE_TOGGLE_SECONDS");
  int seconds = wanted ? std::atoi(wanted) : 2;
  Program program({kToggled, ENGINE_LATE_LIBRARY, std::to_string(seconds + 2)});
  ASSERT_EQ(program.answer(), "running");
  std::vector<SiteRequest> sites = {entry(kToggled, "steady", 8)};
  for (uint32_t i = 0; i < 8; i++) {
    std::string name = "step" + std::to_string(i);
    sites.push_back(i % 2 ? returns(kToggled, name, i) : entry(kToggled, name, i));
  }
  attach(program.pid());
  uint64_t cycles = 0, rounds = 0;
  auto poll = [&](int timeout_ms) {
    auto events = engine_->poll(timeout_ms);
    ASSERT_TRUE(events.ok()) << events.error().message;
    for (const Event& event : *events) {
      EXPECT_NE(event.kind, Event::Kind::kTrouble) << event.message;
      if (event.kind == Event::Kind::kProcessExited) {
        EXPECT_EQ(event.status, 0) << (event.pid == program.pid() ? "the program" : "a child") << " after " << cycles
                                   << " cycles";
        EXPECT_NE(event.pid, program.pid());
      }
    }
  };
  auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < until && !HasFailure()) {
    arm(sites);
    poll(rounds % 4 == 0 ? 1 : 0);
    auto disarmed = engine_->disarm();
    ASSERT_TRUE(disarmed.ok()) << disarmed.error().message;
    cycles += sites.size();
    if (++rounds % 100 == 0) {
      std::string left = traces(program.pid());
      ASSERT_TRUE(left.find("differs") == std::string::npos) << left << " after " << cycles << " cycles";
    }
    poll(0);
  }
  detach();
  EXPECT_EQ(traces(program.pid()), "");
  std::string said = program.answer();
  printf("%lu functions armed and disarmed; %s\n", cycles, said.c_str());
  EXPECT_TRUE(said.starts_with("calls ") && said.ends_with(" wrong 0")) << said;
  EXPECT_GT(counts(8).entered, 0u);
  EXPECT_GT(counts(1).returned, 0u);
}

}  // namespace
}  // namespace spile::engine::test
