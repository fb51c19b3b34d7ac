#pragma once
// Probes on system calls within a process: each of its system call instructions is a site. That is only exact where all of them
// are known. So a process's calls are first reported by ptrace, which sees every one, and by the sites as soon as, and as long
// as, everything executable in it has been looked through: libraries that appear are, when the dynamic linker says that they are
// there; what the program makes executable by itself can't be. The handler of a call that does that stops for us
// (abi::kCallBell) before it is carried out, and so does one after which it matters where calls come from (call_restriction.h).
//
// An instruction hidden in the bytes of another one is not seen. Calls of the 32-bit kind leave the process to ptrace where a
// function is known to make them.
//
// Order of calls: probe(); for each address space seek_restriction(), requests_for() each module; after these are armed,
// settle(). For the engine's thread.

#include <functional>
#include <map>

#include "engine/process/memory_map.h"
#include "engine/space/address_space.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

// What a thread has stopped for by a load that always faults (abi/arena.h, abi/questions.h).
struct Bell {
  enum Kind {
    kCall,      // at: the abi::Registers with which it is about to make a call of abi/watched_calls.h
    kSlots,     // more slots of the arena
    kQuestion,  // at: an abi::Question
  } kind;
  Address at;  // at run time; the thread may have chosen it
};
// Returns the bell whose load has raised the signal at which the thread has stopped; empty: the signal is not a bell's.
std::optional<Bell> rung_bell(pid_t tid);

class CallWatch {
 public:
  // stop_patience_ms: how long to wait for threads to stand still. probes: EngineEvents::call_probes; empty: kAll. report: gets
  // kCallsTraced, kCallsInProcess and kTrouble. REQUIRES: the tracer outlives this object.
  CallWatch(Tracer& tracer, uint64_t stop_patience_ms, std::function<CallProbes(pid_t)> probes, std::function<void(Event)> report)
      : tracer_(tracer), patience_ms_(stop_patience_ms), probes_(std::move(probes)), report_(std::move(report)) {}

  // Turns the watch on, for good. REQUIRES: called before requests_for and settle.
  void probe(const SystemCallHandlers& handlers) { handlers_ = handlers; }
  bool is_on() const { return handlers_.has_value(); }

  // Describes the vdso, which makes system calls too, as a module. It is not a file's, and is for probes on calls alone. Empty:
  // the process has none.
  static std::optional<Module> find_vdso(const MemoryMap& map, const TargetMemory& memory);

  // Finds the system call instructions of a module, and returns requests for sites there, which have to be armed before settle().
  // Empty if its file (device and inode) was asked about before: one scan, and one list of requests, serve all processes.
  std::vector<SiteRequest> requests_for(const AddressSpace& space, const Module& module);

  // Finds CallReporting::restriction, in a stop of all threads, before something is armed in the space for the first time. Does
  // nothing later. Fails if the threads can't be stopped; it is still to be sought then.
  Result<void> seek_restriction(AddressSpace& space);

  // Decides who reports the system calls of the space, after something has been armed there, or arming has failed; stops the
  // threads if that changes. Removes the outcomes for system call instructions from `outcomes`, and keeps why some were refused.
  // Reports errors as kTrouble.
  void settle(AddressSpace& space, std::vector<SiteOutcome>& outcomes);
  // Has ptrace report the calls from now on. The side that has reported the begin of a call reports its return, too. reason: why,
  // for the event kCallsTraced; with kNobodysCalls nobody reports calls. Fails, with nothing changed, if the threads can't be
  // stopped.
  Result<void> trace(AddressSpace& space, std::string reason);
  // Decides who reports the calls of a child that has just been forked, with memory and with handlers of its parent's that may
  // not be for it. space: the child's own. REQUIRES: the child stands still.
  void begin_child(AddressSpace& space, Process& child) const;
  // Whether settle() must decide again who reports calls, after a process that shares this memory has come or gone.
  bool sharers_changed(const AddressSpace& space) const { return is_on() && probes_differ(space) != space.calls.probes_differ(); }
  // Whether a handler has reported the call that the thread is about to make, and which `call` describes. REQUIRES:
  // CallState::handler_may_report; the thread stands at the begin of that call.
  static bool handler_has_reported(const AddressSpace& space, const Thread& thread, const abi::Registers& call);

  // Reads the registers at a Bell of kCall; site_id becomes the number of the call. Empty: they can't be
  // read, or it is not a call of abi/watched_calls.h (a script's handler may load from such an address, too).
  static std::optional<abi::Registers> read_call(const AddressSpace& space, Address registers);
  // Whether the signal may be that of pthread_cancel.
  static bool is_cancellation(int signal);
  // Moves a thread that is stopped at such a signal from a trampoline to the call's own instruction, for the signal's handler to
  // see.
  static void leave_call(const AddressSpace& space, Thread& thread);
  // Undoes that when the thread is about to return from the signal's handler. frame: its stack pointer at rt_sigreturn. Does
  // nothing to a thread that was not moved.
  static void return_to_call(const AddressSpace& space, Thread& thread, uint64_t frame);
  // Returns the registers of a thread that has come to its end by a call of exit that has no site (in Go programs), in a process
  // whose calls are reported by handlers. Empty: another side reports that call.
  std::optional<abi::Registers> last_call(const AddressSpace& space, const Thread& thread) const;
  // Whether a system call at this program counter is the program's own, rather than a handler's, which may ask the kernel who
  // runs it.
  static bool is_program_call(const AddressSpace& space, Address pc);

 private:
  struct Scan {
    std::vector<FileAddress> calls;
    std::vector<FileAddress> ends;  // calls of exit on a stack that others may have got already: without sites
    std::string unclear;            // why there may be more calls; empty: all are known
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
