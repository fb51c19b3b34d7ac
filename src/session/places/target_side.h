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
#include <set>

#include "base/result.h"
#include "base/unique_fd.h"
#include "codegen/codegen.h"
#include "engine/engine.h"
#include "probes/terms/probes.h"
#include "sema/terms/program.h"
#include "session/arena/arena_view.h"
#include "session/places/kept_entries.h"
#include "session/places/kernel_targets.h"
#include "session/places/placed_sites.h"
#include "session/places/process_watch.h"
#include "session/stacks/thread_sampler.h"
#include "session/stacks/user_stacks.h"
#include "session/terms/options.h"
#include "session/terms/trust.h"

namespace spile::session {

class TargetSide {
 public:
  // Creates the engine and, for a script with target probes, the arena that processes share.
  // All references, watch, sampler and kernel (none is null) must outlive this. memory: for the arena
  // (engine::Engine::set_image). interrupted returns whether the user wants to end the session; it is called while spile waits
  // for a process. Errors: the engine or the arena can't be made.
  static Result<std::unique_ptr<TargetSide>> create(const sema::Program& program, const codegen::CompiledScript& script,
                                                    const TargetOptions& options, const MessageOptions& messages,
                                                    const probes::ModuleFiles& files, const engine::ArenaMemory& memory,
                                                    ProcessWatch* watch, ThreadSampler* sampler, KernelTargets* kernel,
                                                    std::function<bool()> interrupted);
  // Prepares tables for stacks, if the script needs them. arena, kernel: of UserStacks. state: gets the offset of the map by
  // which handlers of the controller name addresses. All must outlive this. REQUIRES: called before acquire().
  void make_stacks(std::span<uint8_t> arena, std::span<uint8_t> kernel, abi::ControllerState& state);
  // Sets a function that is called before the slots of a process that has ended are given to others: their rings have what its
  // handlers wrote last.
  void before_slots_are_reused(std::function<void()> act) { before_reuse_ = std::move(act); }
  // From now on, `take` gets the map of each process that has loaded or unloaded modules, before it runs on.
  void tell_of_maps(std::function<void(pid_t, uint64_t map)> take) { take_map_ = std::move(take); }
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
  UserStacks* stacks() { return stacks_.get(); }

  // Starts -c's command, standing still (before_exec: before its execution, until execute()), or attaches to -x's processes and
  // (without --no-children) their children; the latter only if handlers run in processes or watch them. Returns the command or
  // the first process of -x; 0 without -c and -x. Children that can't be attached to are a warning. Errors: the command can't be
  // started, a process of -x can't be attached to.
  Result<pid_t> acquire(bool before_exec);
  // Has the command that acquire() has held execute its program, and stand still after that. Errors: it can't be executed.
  Result<void> execute() { return engine_->execute(); }
  // Returns the command or the first process of -x; 0 without both.
  pid_t process() const { return pid_; }
  // Switches sites on and off whose conditions have become true or false. holds returns whether the condition of a probe is true;
  // it is called for probes that are `switched`. Before arm(), it decides how the sites will be armed.
  void switch_conditions(const std::function<bool(int probe)>& holds);
  // Arms all sites; prints refusals on standard error, and with -v how sites were armed. Errors: none of the sites can be armed;
  // the script names a function (not a pattern) whose returns can't be probed and has no other probe on it; a process can't be
  // stopped or read.
  Result<void> arm();
  std::vector<pid_t> processes() const { return engine_->processes(); }
  // Lets -c's command run; releases it first if the script neither traces nor watches processes. Does nothing without -c and -x.
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
  void warn_never_loaded() {
    warn(placed_.still_without_places({}));
    if (was_armed_) warn(placed_.never_loaded());
  }
  // Returns whether the process of -c, or all of -x, have ended, as far as poll() has seen it.
  bool finished() const { return finished_; }
  // Whether a handler in a process had to be left, because it could not go on.
  bool handler_failed() const { return handler_failed_; }
  // Returns the status of -c's command as waitpid(2) has it; null: it has not ended, or no -c was given.
  std::optional<int> command_status() const { return command_status_; }
  // Returns why a process that has ended could not be trusted (session/terms/trust.h), or "". It is judged for scripts without -g
  // whose handlers in processes compute shell commands; for others it is "".
  const std::string& why_ended_untrusted() const { return last_looks_.why_untrusted(); }
  // Returns how many places were armed by each mechanism until now ("jump", "int3", "refused" ...), in all processes.
  const std::map<std::string, uint64_t>& places_by_mechanism() const { return by_mechanism_; }
  // Returns the number of processes that were released because another tracer was about to attach to them.
  uint64_t handed_over() const { return handed_over_; }

 private:
  TargetSide(const sema::Program& program, const codegen::CompiledScript& script, const TargetOptions& options,
             const MessageOptions& messages, const probes::ModuleFiles& files)
      : program_(program), script_(script), options_(options), messages_(messages), files_(files), placed_(program) {}
  // Returns the requests for the script's sites. unprobed: gets, by site id, why a site is not requested.
  std::vector<engine::SiteRequest> site_requests(std::map<size_t, std::string>& unprobed) const;
  bool names_return(const sema::ArmedSite& armed) const;  // the script names the function, rather than a pattern that it fits
  bool has_return_probes() const;
  bool has_entries(const sema::ArmedSite& armed) const;  // a probe that is not a return probe
  void watch_lives(engine::EngineOptions& engine_options, ProcessWatch* watch, ThreadSampler* sampler, KernelTargets* kernel);
  void guard_returns(engine::EngineOptions& engine_options);
  std::vector<engine::SiteRequest> unwind_requests(pid_t pid, const engine::Module& module) const;
  void report_kept(const engine::SiteOutcome& outcome) const;
  void print_unclear_entries(const KeptEntries& kept) const;
  void print_report(const engine::ArmReport& report, bool initial);
  void warn_refused_returns(const engine::ArmReport& report);
  Result<void> require_named_returns(const engine::ArmReport& report) const;
  Result<void> attach_all();
  void watch_given();
  void look_at_watched();
  void warn(const std::vector<std::string>& warnings) const;
  void print_waiting(pid_t pid, const std::string& state);
  void kill_unstarted();
  void find_switched_groups();
  void take_last_look(const engine::ThreadChange& change);
  void print_conditions() const;

  const sema::Program& program_;
  const codegen::CompiledScript& script_;
  const TargetOptions& options_;
  const MessageOptions& messages_;
  const probes::ModuleFiles& files_;
  bool follows_ = false;      // processes are traced whether or not handlers run in them
  bool judges_ends_ = false;  // text from processes may become a command, so their rights matter until they end
  LastLooks last_looks_;
  struct Described {
    uint64_t map = 0;
    int64_t time_ns = 0;  // when the modules were read,
    int64_t took_ns = 0;  // and how long that took
  };
  std::map<pid_t, Described> described_;
  uint64_t describe_modules(pid_t pid, std::span<const engine::Module> modules);

  std::unique_ptr<UserStacks> stacks_;
  std::function<void(pid_t, uint64_t map)> take_map_;
  std::function<void()> before_reuse_;
  abi::ControllerState* controller_state_ = nullptr;  // where there are stacks
  std::unique_ptr<engine::Engine> engine_;
  pid_t pid_ = 0;
  std::set<pid_t> given_;  // -c's process, or -x's: those that live
  pid_t waited_for_ = 0;   // the process that the last message about waiting was for
  bool resumed_ = false;
  bool detached_ = false;  // the session has ended: it does not wait for the command's status
  bool finished_ = false;
  bool handler_failed_ = false;
  std::vector<UniqueFd> watched_;  // pidfds of the processes of -x that run, where nothing is attached to
  std::optional<int> command_status_;
  uint64_t refusals_printed_ = 0;
  uint64_t handed_over_ = 0;
  PlacedSites placed_;
  bool was_armed_ = false;
  struct SwitchedGroup {
    int group;
    std::vector<uint32_t> sites = {};
    bool on = true;
  };
  std::vector<SwitchedGroup> switched_;  // groups of sites that are armed with abi::kSwitchable
  std::map<int, bool> conditions_;       // of probes that are `switched`, by index: as last switched
  int64_t paused_ns_ = 0;
  std::map<std::string, uint64_t> by_mechanism_;
};

}  // namespace spile::session
