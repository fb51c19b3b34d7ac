#pragma once
// The kernel domain of a running script: its eBPF programs and maps, and how its globals are copied between the maps and the
// controller. Thread rule: one thread.

#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/result.h"
#include "bpf/arena.h"
#include "bpf/bpf.h"
#include "codegen/codegen.h"
#include "probes/terms/probes.h"
#include "sema/terms/program.h"
#include "session/arena/arena_memory.h"
#include "session/arena/controller.h"
#include "session/output/record_queue.h"
#include "session/places/followed_programs.h"
#include "session/places/kernel_globals.h"
#include "session/places/kernel_watch.h"

namespace spile::session {

class KernelSide {
 public:
  // Loads programs and creates maps; nothing is attached. process: of -c or -x, to which uprobes are limited; 0: all. features:
  // of the kernel, for probes of its functions. memory: where handlers work if KernelCode::over_arena says so; it gets the
  // constants. arena: the view of them. memory, arena, program and script must outlive this. Errors: no privilege, a program that
  // the verifier rejects.
  static Result<std::unique_ptr<KernelSide>> load(const sema::Program& program, const codegen::CompiledScript& script,
                                                  const probes::ModuleFiles& files, const kernelinfo::Features& features,
                                                  pid_t process, const ArenaMemory& memory, ArenaView& arena, int verbosity);

  // Attaches all programs; handlers run from here on. With verbosity, prints how each point is attached. On error nothing is
  // attached.
  Result<void> attach();
  // Detaches all programs; no handler runs after it returns. Globals and records can still be read.
  Result<void> detach();

  // Looks at what has changed in the system (KernelWatch::look); does nothing before attach(). REQUIRES: detach() was not called.
  void look_at_system(int64_t now) {
    if (watch_) watch_->look(now);
  }

  // Copy globals from and to the controller: KernelGlobals::import_all() and export_changes(). Importing does nothing before
  // attach(): the controller's globals are the only ones then.
  Result<void> import_globals(Controller& controller);
  Result<void> export_globals(Controller& controller);

  // Let handlers that run in traced processes alone hit in a process, and in a thread (bpf::Kernel::follow); drop_process() ends
  // the former. Errors: more processes than the kernel side can tell apart; the event of a probe can't be counted. REQUIRES:
  // called after attach().
  Result<void> add_process(pid_t pid);
  void drop_process(pid_t pid);
  Result<void> follow(pid_t tid, const std::string& program) { return kernel_->follow(tid, program); }
  void unfollow(pid_t tid) { kernel_->unfollow(tid); }

  // Returns a descriptor that becomes readable when records wait; -1: the script writes none.
  int poll_fd() const { return kernel_->poll_fd(); }
  // Gives waiting records to `records`. Returns how many there were; 0: none is left.
  Result<size_t> consume(RecordQueue& records);
  // Returns whether a handler in the kernel has called exit(). REQUIRES: called after attach().
  bool exit_requested() const;
  // Returns the number of errors of handlers in the kernel, also of those whose message was lost; over an arena 0, as
  // the arena's head has it. REQUIRES: called after attach().
  uint32_t errors() const;
  // Returns warnings about skipped and missed hits and lost records. when_full: what to do where an array is full.
  std::vector<std::string> losses(std::string_view when_full) const;

 private:
  KernelSide(const sema::Program& program, const codegen::CompiledScript& script, int verbosity)
      : script_(script), verbosity_(verbosity), globals_(program, script) {}

  Result<void> fill_arena(const bpf::Arena& arena) const;
  // Slots of CPUs, without their rings. Another thread may do it meanwhile.
  Result<void> populate_slots(const bpf::Arena& arena) const;
  // The rings of these slots, by a thread of its own: it takes longer than all else of a start. attach() waits until each has its
  // first part; the rest is withheld from handlers until it is there.
  void populate_rings(const bpf::Arena& memory, ArenaView& arena, const std::stop_token& stop);

  const codegen::CompiledScript& script_;
  int verbosity_;
  KernelGlobals globals_;
  std::optional<FollowedPrograms> followed_;
  std::unique_ptr<bpf::Kernel> kernel_;
  std::optional<KernelWatch> watch_;                      // since attach()
  std::vector<std::pair<std::string, uint64_t>> missed_;  // bpf::Kernel::missed(), since detach(); most first
  bool knows_interrupts_ = false;                         // handlers note whether they run in interrupts
  bool misses_uncounted_ = false;                         // hits may be missing that nobody counts, since detach()
  bool knows_processes_ = false;                          // handlers look whether a process is traced
  bool attached_ = false;                                 // since attach()
  std::promise<Result<void>> rings_begun_;                // by rings_thread_
  std::jthread rings_thread_;                             // last: it uses the others
};

}  // namespace spile::session
