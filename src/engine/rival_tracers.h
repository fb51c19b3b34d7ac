#pragma once
// Programs that trace others: strace, gdb, proot; and LeakSanitizer, which traces its own process while it looks for leaks. A process
// has one tracer, which is us, so their ptrace(2) would fail. Traps (as in the dynamic linker, dynamic_linker.h) stand where such a call
// is about to be made, and the process that is about to be traced is released first.
//
// Only programs and libraries that import `ptrace`, and the sanitizers' runtime, get them. Not seen are calls of ptrace by an
// instruction of the program's own: in static programs, and by other runtimes (Go's).

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
  // Whether the program, or what it is linked with, may trace: asked before its libraries are there.
  bool may_trace(const TargetMemory& memory, const Module& main_program);
  // Adds sites for the traps that its modules ask for and that it does not have.
  Result<void> add_traps(SetupContext& own, AddressSpace& space, std::vector<PatchedSite>& sites);

 private:
  struct Facts {
    bool imports = false;           // of ptrace
    bool needs_sanitizer = false;   // is linked with a library of the sanitizers
    std::optional<FileAddress> ptrace;
    std::set<FileAddress> leak_checks;
  };
  const Facts& facts_of(const TargetMemory& memory, const Module& module);

  std::map<std::pair<uint64_t, uint64_t>, Facts> known_;  // by device and inode
};

// Finds what a thread that has met such a trap is about to do.
struct TraceAttempt {
  pid_t whom = 0;      // a traced process that is in the way; 0: none
  std::string reason;  // why it is let go
};
TraceAttempt read_attempt(Tracer& tracer, const Thread& thread, TracingTrap::Call call);

}  // namespace spile::engine
