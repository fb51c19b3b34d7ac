#pragma once
// Sites of the engine's own, without requests: their trampolines stop the thread by an int3 while this spile is alive, or
// count. One stands in the dynamic linker, for libraries that are loaded (patch/dynamic_linker.h); others where a process is
// about to be traced by another program (rival_tracers.h), or may change its users or names (value_changes.h). Belongs to the
// engine's thread.

#include <algorithm>
#include <utility>
#include <vector>

#include "base/address.h"

namespace spile::engine {

// A trap where a process is about to be traced by another program. Run-time addresses.
struct TracingTrap {
  enum Call : uint8_t { kPtrace, kLeakCheck };
  Address function;  // the probed one
  Call call;
  Address trap;  // the int3, in the site's trampoline
  Address site;  // where the patch is that leads to it
};

class TrapSites {
 public:
  // Returns whether the dynamic linker has not been looked for yet; from now on it has.
  bool begin_linker_search() { return !std::exchange(linker_sought_, true); }
  // site: where the patch begins. trap: the int3 in its trampoline.
  void set_linker(Address site, Address trap) {
    linker_site_ = site;
    linker_trap_ = trap;
  }
  bool has_linker() const { return linker_trap_ != Address(); }
  // Returns whether a thread with this program counter, behind an int3, has met the dynamic linker's trap.
  bool is_behind_linker_trap(Address pc) const { return has_linker() && pc == linker_trap_ + 1; }

  void add(const TracingTrap& trap) { tracing_.push_back(trap); }
  bool has_tracing_trap(Address function) const { return find(&TracingTrap::function, function) != nullptr; }
  // Finds the trap that a thread with this program counter, behind an int3, has met, or returns nullptr. Valid until add() or
  // forget_text().
  const TracingTrap* tracing_trap_before(Address pc) const { return find(&TracingTrap::trap, pc - 1); }
  // Returns whether the site that begins there leads to a TracingTrap.
  bool is_tracing_site(Address begin) const { return find(&TracingTrap::site, begin) != nullptr; }
  // Returns whether the site that begins there leads to any trap.
  bool is_trap_site(Address begin) const {
    return begin == linker_site_ || is_tracing_site(begin) ||
           std::ranges::find(counters_, begin, &Counter::site) != counters_.end();
  }

  // site: where the patch begins that leads to the counter at the function's entry.
  void add_counter(Address function, Address site) { counters_.push_back({function, site}); }
  bool has_counter(Address function) const {
    return std::ranges::find(counters_, function, &Counter::function) != counters_.end();
  }

  // Notes that a function that should have a counter can't have one.
  void miss_changes() { misses_changes_ = true; }
  bool misses_changes() const { return misses_changes_; }

  // Forgets counters and the traps of tracing in [low, high), where a module is not mapped any more; the linker's trap stays.
  void forget_text(Address low, Address high) {
    auto is_gone = [&](const auto& each) { return each.function >= low && each.function < high; };
    std::erase_if(tracing_, is_gone);
    std::erase_if(counters_, is_gone);
  }

 private:
  const TracingTrap* find(Address TracingTrap::* member, Address value) const {
    auto found = std::ranges::find(tracing_, value, member);
    return found == tracing_.end() ? nullptr : &*found;
  }

  Address linker_trap_;  // 0: absent
  Address linker_site_;
  bool linker_sought_ = false;
  std::vector<TracingTrap> tracing_;
  struct Counter {
    Address function, site;
  };
  std::vector<Counter> counters_;
  bool misses_changes_ = false;
};

}  // namespace spile::engine
