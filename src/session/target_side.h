#pragma once
// The target domain of a running script: the engine, the traced processes and the sites armed in them.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "base/result.h"
#include "codegen/codegen.h"
#include "engine/engine.h"
#include "probes/probes.h"
#include "sema/program.h"
#include "session/arena_view.h"
#include "session/kept_entries.h"
#include "session/options.h"
#include "session/placed_sites.h"
#include "session/process_watch.h"
#include "session/thread_sampler.h"
#include "session/trust.h"
#include "session/user_stacks.h"

namespace spile::session {

class TargetSide {
 public:
  // Creates the engine and, for a script with target probes, the arena that processes share.
  // All references, watch and sampler must outlive this. interrupted returns whether the user wants to end the session; it is called
  // while spile waits for a process.
  static Result<std::unique_ptr<TargetSide>> create(const sema::Program& program, const codegen::CompiledScript& script,
                                                    const TargetOptions& options, const MessageOptions& messages,
                                                    const probes::ModuleFiles& files, ProcessWatch* watch, ThreadSampler* sampler,
                                                    std::function<bool()> interrupted);
  // Prepares tables for stacks, if the script needs them. arena: gets the tables. state: where the controller's handlers find theirs. REQUIRES: called before acquire().
  void make_stacks(std::span<uint8_t> arena, abi::ControllerState& state);
  // Returns the offset of the map by which a process's addresses are named and its stacks walked; 0: the script needs none.
  uint64_t module_map_of(pid_t pid);
  // Returns the address of a data symbol in a process; 0: the process does not have it.
  uint64_t locate(pid_t pid, const sema::Site& site) const;

  // Returns the shared arena's memory; empty for a script without target probes.
  std::span<uint8_t> arena_memory() { return engine_->arena(); }
  // Returns what names addresses; null for a script that asks for no names.
  UserStacks* stacks() { return stacks_.get(); }

  // Starts -c's command, standing still, or attaches to -x's processes and their children. Returns the first process, or 0 without -c
  // and -x. Errors: the command can't be started, a process of -x can't be attached to.
  Result<pid_t> acquire();
  // Switches sites on and off whose conditions have become true or false. holds returns whether the condition of a probe is true; it is
  // called for probes that are `switched`. Before arm(), it decides how the sites will be armed.
  void switch_conditions(const std::function<bool(int probe)>& holds);
  // Arms all sites; prints refusals on standard error, and each site's mechanism with -v. Errors: no site at all can be armed, or not one
  // that the script names.
  Result<void> arm();
  std::vector<pid_t> processes() const { return engine_->processes(); }
  // Lets -c's command run.
  Result<void> resume();
  std::vector<pid_t> frozen() const { return engine_->frozen(); }
  // Engine::suspend() and resume(), for the time in which this process stands still.
  Result<void> suspend() { return engine_->suspend(); }
  Result<void> go_on();
  // Restores every traced process and lets it go. A command that was never resumed has not begun, and must not: it is killed, here or by
  // the destructor.
  Result<void> detach();
  ~TargetSide();
  TargetSide(const TargetSide&) = delete;
  TargetSide& operator=(const TargetSide&) = delete;

  int wait_fd() const { return engine_->wait_fd(); }
  // Handles events of the processes; waits for one for timeout_ms. arena: its slots of ended processes are freed.
  Result<void> poll(ArenaView& arena, int timeout_ms);

  // Warns of files that the script probes and no process has loaded. REQUIRES: called after detach().
  void warn_never_loaded() {
    warn(placed_.still_without_places({}));
    if (was_armed_) warn(placed_.never_loaded());
  }
  // Whether the process of -c, or all of -x, have ended.
  bool finished() const { return finished_; }
  // Returns the wait status of -c's command, once it has ended.
  std::optional<int> command_status() const { return command_status_; }
  // Returns why a process that has ended was not to be trusted, or "". It is known for scripts that make commands in processes, without -g.
  const std::string& why_ended_untrusted() const { return last_looks_.why_untrusted(); }
  // Returns the number of processes that were released because another tracer was about to attach to them.
  uint64_t handed_over() const { return handed_over_; }

 private:
  TargetSide(const sema::Program& program, const codegen::CompiledScript& script, const TargetOptions& options, const MessageOptions& messages,
             const probes::ModuleFiles& files)
      : program_(program), script_(script), options_(options), messages_(messages), files_(files), placed_(program) {}
  // Requests for the script's sites. unprobed: gets, by site id, why a site is not requested.
  std::vector<engine::SiteRequest> site_requests(std::map<size_t, std::string>& unprobed) const;
  bool names_return(const sema::ArmedSite& armed) const;  // the script names the function, rather than a pattern that it fits
  bool has_return_probes() const;
  bool has_entries(const sema::ArmedSite& armed) const;  // something but return probes
  void watch_lives(engine::EngineOptions& engine_options, ProcessWatch* watch, ThreadSampler* sampler);
  void guard_returns(engine::EngineOptions& engine_options);
  std::vector<engine::SiteRequest> unwind_requests(pid_t pid, const engine::Module& module) const;
  void report_kept(const engine::SiteOutcome& outcome) const;
  void print_unclear_entries(const KeptEntries& kept) const;
  void print_report(const engine::ArmReport& report, bool initial);
  void warn_refused_returns(const engine::ArmReport& report);
  Result<void> require_named_returns(const engine::ArmReport& report) const;
  Result<void> attach_all();
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
  bool follows_ = false;  // processes are traced whether or not handlers run in them
  bool judges_ends_ = false;  // text from processes may become a command, so their rights matter until they end
  LastLooks last_looks_;
  struct Described {
    uint64_t map = 0;
    int64_t time_ns = 0;
  };
  std::map<pid_t, Described> described_;
  uint64_t describe_modules(pid_t pid, std::span<const engine::Module> modules);

  std::unique_ptr<UserStacks> stacks_;
  abi::ControllerState* controller_state_ = nullptr;  // where there are stacks
  std::unique_ptr<engine::Engine> engine_;
  pid_t pid_ = 0;
  std::set<pid_t> given_;        // -c's process, or -x's: those that live
  pid_t waited_for_ = 0;         // the process that the last message about waiting was for
  bool resumed_ = false;
  bool finished_ = false;
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
  std::vector<SwitchedGroup> switched_;  // those armed with kSwitchable
  std::map<int, bool> conditions_;       // of probes that are `switched`, by index: as last switched
};

// Returns the words of a command line as -c takes it: split into words when it needs no shell, else {"/bin/sh", "-c", command}.
std::vector<std::string> command_words(const std::string& command);

}  // namespace spile::session
