#pragma once
// Programs that trace others: strace, gdb, proot; and LeakSanitizer, which traces its own process while it looks for leaks. A
// process has one tracer, which is us, so their ptrace(2) would fail. Traps (as in the dynamic linker, dynamic_linker.h) stand
// where such a call is about to be made, and the process that is about to be traced is released first.
//
// Only programs and libraries that import `ptrace`, and the sanitizers' runtime, get them. Not seen are calls of ptrace by an
// instruction of the program's own: in static programs, and by other runtimes (Go's). Belongs to the engine's thread.

#include <map>
#include <optional>
#include <set>
#include <string>

#include "engine/space/address_space.h"
#include "engine/space/space_setup.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

class RivalTracers {
 public:
  // Returns whether the program, or a library that it is linked with, may trace, as far as the program's own names show: its
  // libraries need not be mapped yet.
  bool may_trace(const TargetMemory& memory, const Module& main_program);
  // Builds sites for the traps that the space's modules need and do not have, and adds them to `sites`; the caller writes them.
  // own: of our own client, whose arena is mapped. After an error `sites` has those that were built before it.
  Result<void> add_traps(SetupContext& own, AddressSpace& space, std::vector<PatchedSite>& sites);

 private:
  struct Facts {
    bool imports = false;               // of ptrace
    bool needs_sanitizer = false;       // is linked with a library of the sanitizers
    std::optional<FileAddress> ptrace;  // defined there
    std::set<FileAddress> leak_checks;  // functions of LeakSanitizer
  };
  const Facts& facts_of(const TargetMemory& memory, const Module& module);

  std::map<std::pair<uint64_t, uint64_t>, Facts> known_;  // by device and inode
};

// What a thread that has met such a trap is about to do.
struct TraceAttempt {
  pid_t whom = 0;      // the process, traced by us, that is to be released; 0: none
  std::string reason;  // who is going to trace it, as a sentence; for Event::message of kReleased
};
// Finds it by the thread's registers. REQUIRES: the thread stands at a trap of this kind.
TraceAttempt read_attempt(Tracer& tracer, const Thread& thread, TracingTrap::Call call);

}  // namespace spile::engine
