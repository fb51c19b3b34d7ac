#pragma once
// Probes on system calls within a process: each of its system call instructions is a site. That is only exact where all of them
// are known. So a process's calls are first told by ptrace, which sees every one, and by the sites as soon as, and as long as,
// everything executable in it has been looked through: libraries that appear are, when the dynamic linker says that they are
// there; what the program makes executable by itself can't be. The handler of a call that does that stops for us
// (abi::kCodeDoorbell) before it is carried out.
//
// An instruction hidden in the bytes of another one is not seen. Calls of the 32-bit kind leave the process to ptrace where a
// function is known to make them.

#include <functional>
#include <map>

#include "engine/address_space.h"
#include "engine/memory_map.h"
#include "engine/tracer.h"

namespace spile::engine {

class CallWatch {
 public:
  // may_probe: EngineOptions::may_probe_calls.
  CallWatch(Tracer& tracer, uint64_t stop_patience_ms, std::function<bool(pid_t)> may_probe, std::function<void(Event)> tell)
      : tracer_(tracer), patience_ms_(stop_patience_ms), may_probe_(std::move(may_probe)), tell_(std::move(tell)) {}

  void probe(const SystemCallHandlers& handlers) { handlers_ = handlers; }
  bool is_on() const { return handlers_.has_value(); }

  // The vdso makes system calls too. It is no file, and its module is for this alone.
  static std::optional<Module> find_vdso(const MemoryMap& map, const TargetMemory& memory);

  // Sites for the module's system calls; empty if they have been asked for before. Of the first process that maps it.
  std::vector<SiteRequest> requests_for(const AddressSpace& space, const Module& module);

  // After something has been armed in the space, or that has failed: decides who tells of its system calls. Takes the
  // outcomes for their sites out of the report.
  void settle(AddressSpace& space, std::vector<SiteOutcome>& outcomes);
  // Has ptrace tell of them from now on. A call that ptrace has told the begin of ends there too, and likewise for handlers.
  Result<void> trace(AddressSpace& space, std::string reason);
  // Into the process table; for a child that has just been forked.
  void write_traced(const AddressSpace& space, bool traced) const;

  // Whether the signal that the thread has stopped at is the doorbell.
  static bool rings(pid_t tid);
  static bool is_cancellation(int signal);
  // Moves a thread that is cancelled in a call to the call's own instruction, until the signal's handler returns.
  static void leave_call(const AddressSpace& space, Thread& thread);
  // The thread is about to return from a signal's handler. frame: its stack pointer at rt_sigreturn.
  static void return_to_call(const AddressSpace& space, Thread& thread, uint64_t frame);
  // Rather than of a handler, which may ask who runs.
  static bool is_program_call(const AddressSpace& space, Address pc);

 private:
  struct Scan {
    std::vector<FileAddress> calls;
    std::string unclear;  // what may be a call too
  };
  using FileId = std::pair<uint64_t, uint64_t>;

  const Scan* scan_of(const Module& module) const;
  std::string gap(const AddressSpace& space, pid_t pid) const;
  Result<void> hand_over(AddressSpace& space, std::string gap);

  Tracer& tracer_;
  uint64_t patience_ms_;
  std::function<bool(pid_t)> may_probe_;
  std::function<void(Event)> tell_;
  std::optional<SystemCallHandlers> handlers_;
  std::map<FileId, Scan> scanned_;  // by device and inode
};

}  // namespace spile::engine
