#pragma once
// Probes on system calls within a process: each of its system call instructions is a site. That is only exact where all of them
// are known. So a process's calls are first reported by ptrace, which sees every one, and by the sites as soon as, and as long as,
// everything executable in it has been looked through: libraries that appear are, when the dynamic linker says that they are
// there; what the program makes executable by itself can't be. The handler of a call that does that stops for us
// (abi::kCallBell) before it is carried out, and so does one after which it matters where calls come from (call_restriction.h).
//
// An instruction hidden in the bytes of another one is not seen. Calls of the 32-bit kind leave the process to ptrace where a
// function is known to make them.

#include <functional>
#include <map>

#include "engine/process/memory_map.h"
#include "engine/space/address_space.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

class CallWatch {
 public:
  // probes: EngineOptions::call_probes.
  CallWatch(Tracer& tracer, uint64_t stop_patience_ms, std::function<CallProbes(pid_t)> probes, std::function<void(Event)> report)
      : tracer_(tracer), patience_ms_(stop_patience_ms), probes_(std::move(probes)), report_(std::move(report)) {}

  void probe(const SystemCallHandlers& handlers) { handlers_ = handlers; }
  bool is_on() const { return handlers_.has_value(); }

  // The vdso makes system calls too. It is no file, and its module is for this alone.
  static std::optional<Module> find_vdso(const MemoryMap& map, const TargetMemory& memory);

  // Sites for the module's system calls; empty if they have been asked for before. Of the first process that maps it.
  std::vector<SiteRequest> requests_for(const AddressSpace& space, const Module& module);

  // Finds CallReporting::restriction, before something is armed in the space for the first time.
  Result<void> seek_restriction(AddressSpace& space);

  // After something has been armed in the space, or that has failed: decides who reports its system calls. Takes the
  // outcomes for their sites out of the report.
  void settle(AddressSpace& space, std::vector<SiteOutcome>& outcomes);
  // Has ptrace report them from now on. Who has reported the begin of a call reports its return, too.
  Result<void> trace(AddressSpace& space, std::string reason);
  // A child that has just been forked, with memory of its own, has got its parent's handlers; perhaps they are not for it.
  void begin_child(AddressSpace& space, Process& child) const;
  // To be asked when a process that shares this memory has come or gone. Returns true if settle() must decide again who reports calls.
  bool sharers_changed(const AddressSpace& space) const { return is_on() && probes_differ(space) != space.calls.probes_differ(); }
  // Whether a handler has reported the call that the thread is about to make. REQUIRES: CallState::handler_may_report.
  static bool handler_has_reported(const AddressSpace& space, const Thread& thread, const abi::Registers& call);

  // Where the registers are with which the thread is about to make a call of abi/watched_calls.h, if the signal that it has
  // stopped at is the bell.
  static std::optional<Address> rings(pid_t tid);
  // Whether it has stopped for more slots (abi::kSlotBell).
  static bool rings_for_slots(pid_t tid);
  // site_id is the number; nothing if there are none.
  static std::optional<abi::Registers> read_call(const AddressSpace& space, Address registers);
  static bool is_cancellation(int signal);
  // Moves a thread that is canceled in a call to the call's own instruction, until the signal's handler returns.
  static void leave_call(const AddressSpace& space, Thread& thread);
  // The thread is about to return from a signal's handler. frame: its stack pointer at rt_sigreturn.
  static void return_to_call(const AddressSpace& space, Thread& thread, uint64_t frame);
  // Of a thread that has come to its end in a process whose calls handlers report: its registers if it has made a call for that which
  // has no site.
  std::optional<abi::Registers> last_call(const AddressSpace& space, const Thread& thread) const;
  // Rather than of a handler, which may ask who runs.
  static bool is_program_call(const AddressSpace& space, Address pc);

 private:
  struct Scan {
    std::vector<FileAddress> calls;
    std::vector<FileAddress> ends;  // calls of exit on a stack that others may have got already: without sites
    std::string unclear;  // what may be a call too
  };
  using FileId = std::pair<uint64_t, uint64_t>;

  const Scan* scan_of(const Module& module) const;
  CallProbes probes_of(pid_t pid) const { return probes_ ? probes_(pid) : CallProbes::kAll; }
  bool probes_differ(const AddressSpace& space) const;
  void write_traced(const AddressSpace& space, bool traced) const;
  std::string gap(const AddressSpace& space) const;
  Result<void> hand_over(AddressSpace& space, std::string gap);

  Tracer& tracer_;
  uint64_t patience_ms_;
  std::function<CallProbes(pid_t)> probes_;
  std::function<void(Event)> report_;
  std::optional<SystemCallHandlers> handlers_;
  std::map<FileId, Scan> scanned_;  // by device and inode
};

}  // namespace spile::engine
