// What handlers in spile do when traced processes have written anything into the arena: nothing outside of it. The scripts
// run on memory full of random words; an access that goes astray ends the test with a signal, or changes the canaries.

#include <random>

#include "codegen/script_runner_test.h"

namespace spile::codegen {
namespace {

constexpr const char* kScripts[] = {
    R"(global m probe begin { for (i = 0; i < 50; i++) m[i] = i }
       probe end { foreach (k in m-) s += m[k] foreach (k+ in m limit 3) println(k) delete m[3] m[77]++ if (5 in m) println(m[5]) delete m })",
    R"(global t, u[20] probe begin { t["a", 1] = "x" u["b"] = "y" }
       probe end { foreach ([s, n] in t) { u[s] = t[s, n] . s foreach (k- in u limit 2) println(k . u[k]) }
                   println(sprintf("%-20s|%5d|%s", u["b"], strlen(t["a", 1]), substr(u["b"], 1, 3))) if (u["b"] =~ "a(b+)c") println(matched(1)) })",
    R"(global a, h probe begin { for (i = 0; i < 20; i++) { a[i] <<< i h <<< i * i } }
       probe end { foreach (k in a-) println(@avg(a[k]), @sum(a[k]), @max(a[k])) if (@count(h)) { println(@avg(h), @variance(h)) print(@hist_log(h)) }
                   foreach (b in @hist_log(h)) n += @hist_log(h)[b] a[3] <<< 1 delete a })",
    R"(global w%[5] probe begin { w[1] = 1 } probe end { for (i = 0; i < 30; i++) w[i] = i foreach (k in w) foreach (j in w) n += w[k] * w[j] println(n) })",
};

class Scribbler {
 public:
  explicit Scribbler(uint64_t seed) : random_(seed) {}
  void fill(char* begin, char* end) {
    const uint64_t style = random_() % 4;
    for (char* at = begin; at + 8 <= end; at += 8) {
      uint64_t word = style == 0   ? random_()
                      : style == 1 ? random_() >> random_() % 64
                      : style == 2 ? ~uint64_t{0}
                                   : small_pair();
      std::memcpy(at, &word, 8);
    }
  }

 private:
  uint64_t small_pair() { return (random_() % 300) << 32 | random_() % 300; }
  std::mt19937_64 random_;
};

void run_on_nonsense(const char* script, uint64_t seeds) {
  ScriptRunner runner(script);
  ASSERT_EQ(runner.error(), "");
  const ArenaLayout& layout = runner.code().layout;
  char* arena = reinterpret_cast<char*>(runner.header());
  const uint64_t state = layout.slots_offset - abi::kPageSize;
  for (uint64_t seed = 0; seed < seeds; ++seed) {
    Scribbler scribbler(seed);
    scribbler.fill(arena + layout.globals_offset, arena + layout.exchange_offset);
    abi::ThreadSlot* slot = runner.slot(abi::kControllerSlot);
    scribbler.fill(reinterpret_cast<char*>(slot), reinterpret_cast<char*>(slot) + layout.scratch_offset + 4096);
    slot->ring_head = slot->ring_tail = 0;
    std::vector<char> canary(arena + state, arena + state + abi::kPageSize);
    runner.run(sema::ProbeKind::kEnd);
    // The address of the stack's end is renewed with each call.
    auto* kept = reinterpret_cast<abi::ControllerState*>(canary.data());
    kept->stack_end = reinterpret_cast<abi::ControllerState*>(arena + state)->stack_end;
    ASSERT_EQ(std::memcmp(canary.data(), arena + state, canary.size()), 0) << "seed " << seed;
  }
}

TEST(Confine, MapsOfNumbersFullOfNonsense) { run_on_nonsense(kScripts[0], 60); }
TEST(Confine, MapsOfStringsFullOfNonsense) { run_on_nonsense(kScripts[1], 60); }
TEST(Confine, AggregatesFullOfNonsense) { run_on_nonsense(kScripts[2], 60); }
TEST(Confine, WrappingMapsFullOfNonsense) { run_on_nonsense(kScripts[3], 60); }

}  // namespace
}  // namespace spile::codegen
