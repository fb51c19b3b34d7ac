#pragma once
// The target domain of a running script: the engine, the traced processes and the sites armed in them. Thread rule: one thread,
// that which calls create() (ptrace's rule).
//
// Order of calls: create(), make_stacks(), acquire(), execute(), switch_conditions(), arm(), resume(), then poll() until
// finished(), then detach().

#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/result.h"
#include "codegen/codegen.h"
#include "engine/engine.h"
#include "probes/terms/probes.h"
#include "sema/terms/program.h"
#include "session/arena/arena_view.h"
#include "session/places/allocator_sites.h"
#include "session/places/given_processes.h"
#include "session/places/kernel_targets.h"
#include "session/places/module_maps.h"
#include "session/places/placed_sites.h"
#include "session/places/process_watch.h"
#include "session/places/switched_sites.h"
#include "session/places/target_report.h"
#include "session/stacks/thread_sampler.h"
#include "session/stacks/user_stacks.h"
#include "session/terms/options.h"
#include "session/terms/trust.h"

namespace spile::session {

// What a TargetSide is made of. All references must outlive it.
struct TargetSideInput {
  const sema::Program& program;
  const codegen::CompiledScript& script;
  const probes::ModuleFiles& files;  // in which the places were found
  const TargetOptions& options;
  const MessageOptions& messages;
  engine::ArenaMemory memory;  // for the arena (engine::Engine::set_image)
  // Get the begins and ends of processes and threads, each while the thread stands still.
  ProcessWatch& watch;
  ThreadSampler& sampler;
  KernelTargets& kernel_targets;
  // Returns whether the user wants to end the session; called while spile waits for a process.
  std::function<bool()> interrupted;
};

class TargetSide {
 public:
  // Creates the engine and, for a script with target probes, the arena that processes share. Errors: the engine or the arena
  // can't be made.
  static Result<std::unique_ptr<TargetSide>> create(const TargetSideInput& input);
  // Prepares tables for stacks, if the script needs them. arena, kernel: of UserStacks. state: gets the offset of the map by
  // which handlers of the controller name addresses. All must outlive this. REQUIRES: called before acquire().
  void make_stacks(std::span<uint8_t> arena, std::span<uint8_t> kernel, abi::ControllerState& state);
  // Sets a function that is called before the slots of a process that has ended are given to others: their rings have what its
  // handlers wrote last.
  void before_slots_are_reused(std::function<void()> act) { before_reuse_ = std::move(act); }
  // From now on, `take` gets the map of each process that has loaded or unloaded modules, before it runs on.
  void give_maps_to(std::function<void(pid_t, uint64_t map)> take) { maps_.give_to(std::move(take)); }
  // Returns the offset in the arena of the map by which a process's addresses are named and its stacks walked (abi::ModuleMap).
  // The map of an ended process stays. 0: the script needs none, the process's modules could never be read, or the arena has no
  // room for their tables. at_ns: of CLOCK_MONOTONIC, the moment that is asked about.
  uint64_t module_map_of(pid_t pid, int64_t at_ns);
  // Returns the run-time address of a data symbol in a process; 0: the process has not mapped the symbol's module, or is gone.
  uint64_t locate(pid_t pid, const sema::Site& site) const;

  // Returns the shared arena's memory; empty for a script without target probes.
  std::span<uint8_t> arena_memory() { return engine_->arena(); }
  int arena_fd() const { return engine_->arena_fd(); }
  // Returns the object that names addresses; null before make_stacks(), and for a script that asks for no names.
  UserStacks* stacks() { return maps_.stacks(); }

  // Starts -c's command, standing still (before_exec: before its execution, until execute()), or attaches to -x's processes and
  // (without --no-children) their children; the latter only if handlers run in processes or watch them. Returns the command or
  // the first process of -x; 0 without -c and -x. Children that can't be attached to are a warning. Errors: the command can't be
  // started, a process of -x can't be attached to.
  Result<pid_t> acquire(bool before_exec);
  // Has the command that acquire() has held execute its program, and stand still after that. Errors: it can't be executed.
  Result<void> execute() { return engine_->execute(); }
  // Returns the command or the first process of -x; 0 without both.
  pid_t process() const { return given_.first(); }
  // Switches sites on and off whose conditions have become true or false. holds returns whether the condition of a probe is true;
  // it is called for probes that are `switched`. Before arm(), it decides how the sites will be armed.
  void switch_conditions(const std::function<bool(int probe)>& holds) { switched_.update(*engine_, holds); }
  // Arms all sites; prints refusals on standard error, and with -v how sites were armed. Errors: none of the sites can be armed;
  // the script names a function (not a pattern) whose returns can't be probed and has no other probe on it; a process can't be
  // stopped or read.
  Result<void> arm();
  std::vector<pid_t> processes() const { return engine_->processes(); }
  // Lets -c's command run; releases it first if the script neither traces nor watches processes. Starts the workload beside -x's
  // processes. Does nothing without -c and -x. Error: the workload can't be started.
  Result<void> resume();
  // Returns how long arming has stopped threads until now, in ns.
  int64_t paused_ns() const { return paused_ns_; }
  // Returns the processes that the freezer of their control group keeps still: detach() can't remove all code from them.
  std::vector<pid_t> frozen() const { return engine_->frozen(); }
  // Release all processes before spile itself is stopped (Ctrl-Z), and trace and arm them again afterwards: Engine::suspend() and
  // resume(). An error of suspend(): some thread would stand still meanwhile; call go_on() all the same.
  Result<void> suspend() { return engine_->suspend(); }
  Result<void> go_on();
  // Restores the bytes of every traced process and releases it. A command that was never resumed has not begun, and must not: it
  // is killed, here or by the destructor.
  Result<void> detach();
  ~TargetSide();
  TargetSide(const TargetSide&) = delete;
  TargetSide& operator=(const TargetSide&) = delete;

  // Returns a descriptor that becomes readable when poll() has something to do.
  int wait_fd() const { return engine_->wait_fd(); }
  // Handles events of the processes; waits up to timeout_ms for the first (-1: without limit). Frees the slots of ended processes
  // in `arena`. Prints warnings and reports on standard error.
  Result<void> poll(ArenaView& arena, int timeout_ms);

  // Prints warnings about files that the script probes and no process has loaded. REQUIRES: called after detach().
  void warn_never_loaded();
  // Returns whether the process of -c, all of -x, or the workload have ended, as far as poll() has seen it.
  bool finished() const { return given_.finished(); }
  // Whether a handler in a process had to be left, because it could not go on.
  bool handler_failed() const { return handler_failed_; }
  // Returns the status of -c's command, or the workload, as waitpid(2) has it; null: it has not ended, or no -c was given.
  std::optional<int> command_status() const { return given_.command_status(); }
  // Returns why a process that has ended could not be trusted (session/terms/trust.h), or "". It is judged for scripts without -g
  // whose handlers in processes compute shell commands; for others it is "".
  const std::string& why_ended_untrusted() const { return last_looks_.why_untrusted(); }
  // Returns how many places were armed by each mechanism until now ("jump", "int3", "refused" ...), in all processes.
  const std::map<std::string, uint64_t>& places_by_mechanism() const { return report_.places_by_mechanism(); }
  // Returns the number of processes that were released because another tracer was about to attach to them.
  uint64_t handed_over() const { return handed_over_; }

 private:
  explicit TargetSide(const TargetSideInput& input);
  void watch_lives(engine::EngineOptions& engine_options, const TargetSideInput& input);
  std::vector<engine::SiteRequest> sites_in(pid_t pid, const engine::Module& module);
  Result<void> add_sites_in_modules(std::vector<engine::SiteRequest>& requests);
  uint64_t describe_modules(pid_t pid, std::span<const engine::Module> modules);
  bool is_named(pid_t pid) const { return pid == given_.first() || given_.first() == 0; }
  void take_report(const engine::ArmReport& report, bool initial);
  void take_event(const engine::Event& event, ArenaView& arena);
  void take_end(const engine::Event& event, ArenaView& arena);
  void take_left_handler(const engine::Event& event, ArenaView& arena);

  const sema::Program& program_;
  const codegen::CompiledScript& script_;
  const probes::ModuleFiles& files_;
  const MessageOptions& messages_;
  const bool follows_;      // processes are traced whether or not handlers run in them
  const bool judges_ends_;  // text from processes may become a command, so their rights matter until they end
  // ORDER: the engine's callbacks use what is before it.
  LastLooks last_looks_;
  ModuleMaps maps_;
  GivenProcesses given_;
  SwitchedSites switched_;
  TargetReport report_;
  PlacedSites placed_;
  AllocatorSites allocators_;
  std::function<void()> before_reuse_;
  std::unique_ptr<engine::Engine> engine_;
  bool was_armed_ = false;
  bool handler_failed_ = false;
  uint64_t handed_over_ = 0;
  int64_t paused_ns_ = 0;
};

}  // namespace spile::session
