// 1,025 functions armed and disarmed all the time, in a program of eight threads that call them, with SIGPROF at 1 kHz whose
// handler calls them too, while another thread forks, and opens and closes a library. SPILE_TOGGLE_SECONDS=600 makes it
// a long one, SPILE_TOGGLE_CYCLES=1000000 one of so many, within these seconds.

#include <climits>
#include <cstdlib>

#include "engine/engine.h"
#include "engine/test_fixture.h"

namespace spile::engine::test {
namespace {

const std::string kToggled = ENGINE_TOGGLED;

class ToggleTest : public EngineFixture {
 protected:
  static int wanted(const char* variable, int otherwise) {
    const char* value = std::getenv(variable);
    return value ? std::atoi(value) : otherwise;
  }
};

TEST_F(ToggleTest, ArmedAndDisarmedUnderThreadsSignalsForksAndLibraries) {
  int seconds = wanted("SPILE_TOGGLE_SECONDS", 2);
  uint64_t most = static_cast<uint64_t>(wanted("SPILE_TOGGLE_CYCLES", INT_MAX));
  Program program({kToggled, ENGINE_LATE_LIBRARY, std::to_string(seconds + 60)});
  ASSERT_EQ(program.answer(), "running");
  constexpr uint32_t kSteady = 500;
  std::vector<SiteRequest> sites = {entry(kToggled, "steady", kSteady)};
  for (uint32_t i = 0; i < 1024; i++) {
    std::string name = fmt::format("step{:04o}", i);
    sites.push_back(i % 2 ? returns(kToggled, name, i % 256) : entry(kToggled, name, i % 256));
  }
  open_engine({.stop_patience_ms = 20'000});  // eight threads that never rest, on a machine that may have more to do
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
  while (std::chrono::steady_clock::now() < until && cycles < most && !HasFailure()) {
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
  std::string said = program.ask("stop");
  printf("%lu functions armed and disarmed; %s\n", cycles, said.c_str());
  EXPECT_TRUE(said.starts_with("calls ") && said.ends_with(" wrong 0")) << said;
  EXPECT_GT(counts(kSteady).entered, 0u);
  EXPECT_GT(counts(1).returned, 0u);
}

}  // namespace
}  // namespace spile::engine::test
