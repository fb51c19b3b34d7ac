// 1,025 functions armed and disarmed all the time, in a program of eight threads that call them, with SIGPROF at 1 kHz
// whose handler calls them too, while another thread forks, and opens and closes a library. SPILE_TOGGLE_SECONDS=600
// makes it a long one, SPILE_TOGGLE_CYCLES=1000000 one of so many, within these seconds. Results, bytes and the hits of
// each function are checked.

#include <sys/uio.h>

#include <climits>
#include <cstdlib>

#include "engine/terms/event.h"
#include "engine/terms/options.h"
#include "engine/terms/site_request.h"
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
  // Where a variable of the running program lies.
  static uint64_t address_of(const std::string& variable, const Program& program) {
    auto map = MemoryMap::read(program.pid());
    if (!map.ok()) return 0;
    for (const Mapping& mapping : map->all()) {
      if (mapping.path != kToggled || mapping.offset != 0) continue;
      return mapping.begin + read_symbols(kToggled, SHT_SYMTAB, true).at(variable).address;
    }
    return 0;
  }
  static uint64_t read(pid_t pid, uint64_t address) {
    uint64_t value = 0;
    iovec here{&value, sizeof value}, there{reinterpret_cast<void*>(address), sizeof value};
    EXPECT_EQ(process_vm_readv(pid, &here, 1, &there, 1, 0), 8);
    return value;
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
  EngineOptions options;
  options.stop_patience_ms = 20'000;  // eight threads that never rest, on a machine that may have more to do
  open_engine(std::move(options));
  attach(program.pid());
  // The program counts its rounds when they end, and each calls all functions once: so many may be under way.
  constexpr uint64_t kUnderWay = 9 * 2, kSlots = 256, kInEach = 4, kOfChildren = 3;
  uint64_t rounds_at = address_of("calls", program), checked = 0;
  ASSERT_NE(rounds_at, 0u);
  auto rounds_done = [&] { return read(program.pid(), rounds_at); };
  std::vector<uint64_t> entered(kSlots);
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
    uint64_t before = rounds_done();
    arm(sites);
    uint64_t armed = rounds_done();
    poll(rounds % 4 == 0 ? 1 : 0);
    uint64_t armed_still = rounds_done();
    auto disarmed = engine_->disarm();
    ASSERT_TRUE(disarmed.ok()) << disarmed.error().message;
    uint64_t after = rounds_done();
    for (uint64_t slot = 0; slot < kSlots; slot++) {
      uint64_t hits = counts(static_cast<uint32_t>(slot)).entered - entered[slot];
      entered[slot] += hits;
      if (slot == kOfChildren) continue;
      ASSERT_GE(hits + kInEach * kUnderWay, kInEach * (armed_still - armed)) << "slot " << slot << " after " << cycles;
      ASSERT_LE(hits, kInEach * (after - before + kUnderWay)) << "slot " << slot << " after " << cycles;
    }
    checked += armed_still - armed;
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
  printf("%lu functions armed and disarmed, %lu calls of each while armed; %s\n", cycles, checked, said.c_str());
  EXPECT_TRUE(said.starts_with("calls ") && said.ends_with(" wrong 0")) << said;
  EXPECT_GT(counts(kSteady).entered, 0u);
  EXPECT_GT(counts(1).returned, 0u);
}

}  // namespace
}  // namespace spile::engine::test
