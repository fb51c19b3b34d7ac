#include "session/places/target_side.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <map>
#include <set>
#include <tuple>

#include "abi/trampoline.h"
#include "base/clock.h"
#include "base/print.h"
#include "debuginfo/debuginfo.h"
#include "engine/process/process_status.h"
#include "probes/terms/go_programs.h"
#include "probes/terms/return_readers.h"
#include "probes/terms/stack_owners.h"
#include "session/stacks/mapped_module.h"
#include "session/stacks/unwind_sites.h"
#include "session/terms/command_words.h"

namespace spile::session {

namespace {
constexpr std::chrono::milliseconds kLoadingTime(500);  // that a program may take to load its libraries
constexpr uint32_t kFirstSlots = 4;                     // the controller's, the shared one, and those of two threads
}  // namespace

namespace {

// Makes of `ask` a function that the engine asks about each module of each process. Each path is looked into once: `opened` is
// where the file is found now (session/stacks/mapped_module.h).
template <typename Answer>
auto once_for_each_path(Answer (*ask)(const engine::Module& module, const std::string& opened)) {
  return [ask, known = std::map<std::string, Answer>()](pid_t pid, const engine::Module& module) mutable {
    auto [found, fresh] = known.try_emplace(module.path);
    if (fresh) {
      auto options = options_for(pid, module);
      found->second = ask(module, options.ok() ? options->place_of(module.path) : module.path);
    }
    return found->second;
  };
}

std::string why_stacks_are_owned(const engine::Module& module, const std::string& opened) {
  const probes::StackOwner* owner = probes::process_owner(module.path, module.main_executable, opened);
  return owner ? owner->reason : "";
}

engine::ReturnReaders return_readers_of(const engine::Module&, const std::string& opened) {
  probes::ReturnReaders readers = probes::return_readers_in(opened);
  return {.own = std::move(readers.own), .callers = std::move(readers.callers)};
}

engine::ArenaGeometry geometry_of(const codegen::ArenaLayout& layout) {
  engine::ArenaGeometry geometry;
  geometry.size = layout.size;
  geometry.slots_offset = layout.slots_offset;
  geometry.slot_stride = layout.slot_stride;
  geometry.slot_count = layout.slot_count;
  geometry.first_slots = kFirstSlots;
  geometry.shadow_offset = layout.shadow_offset;
  geometry.shadow_stride = layout.shadow_stride;
  geometry.shadow_capacity = layout.shadow_capacity;
  geometry.shared_offset = layout.shared_offset;
  geometry.shared_size = layout.shared_size;
  return geometry;
}

}  // namespace

Result<std::unique_ptr<TargetSide>> TargetSide::create(const sema::Program& program, const codegen::CompiledScript& script,
                                                       const TargetOptions& options, const MessageOptions& messages,
                                                       const probes::ModuleFiles& files, const engine::ArenaMemory& memory,
                                                       ProcessWatch* watch, ThreadSampler* sampler, KernelTargets* kernel,
                                                       std::function<bool()> interrupted) {
  std::unique_ptr<TargetSide> side(new TargetSide(program, script, options, messages, files));
  side->find_switched_groups();
  engine::EngineOptions engine_options;
  side->watch_lives(engine_options, watch, sampler, kernel);
  engine_options.keep_waiting = [side = side.get(), interrupted = std::move(interrupted)](pid_t pid, const std::string& state) {
    side->print_waiting(pid, state);
    return !interrupted();
  };
  if (side->has_return_probes()) side->guard_returns(engine_options);
  if (script.layout.tables_size != 0) {
    engine_options.describe_modules = [side = side.get()](pid_t pid, std::span<const engine::Module> modules) {
      return side->describe_modules(pid, modules);
    };
  }
  TRY(side->engine_, engine::Engine::create(std::move(engine_options)));
  if (!script.target.image.bytes.empty())
    TRY_DO(side->engine_->set_image(script.target.image, geometry_of(script.layout), memory));
  return side;
}

// Begins, ends and executions of processes and threads go to the probes on them, to the sampler, and to the last looks.
void TargetSide::watch_lives(engine::EngineOptions& engine_options, ProcessWatch* watch, ThreadSampler* sampler,
                             KernelTargets* kernel) {
  follows_ = watch->watches_processes() || sampler->samples() || kernel->follows();
  judges_ends_ = !script_.commands.made_at.empty() && !program_.guru;
  if (!follows_ && !judges_ends_) return;
  engine_options.watch_threads = [this, watch, sampler, kernel](const engine::ThreadChange& change) {
    if (judges_ends_) take_last_look(change);
    if (!follows_) return;
    // At an execution, the handlers of the old program's samples run first, while its modules are known. Other changes reach the
    // probes first.
    const bool executed = change.kind == engine::ThreadChange::Kind::kExecuted;
    if (executed) sampler->on_change(change);
    if (executed) described_.erase(change.pid);
    watch->on_change(change);
    kernel->on_change(change);
    if (!executed) sampler->on_change(change);
  };
  engine_options.watch_system_calls = watch->watches_system_calls();
  engine_options.call_probes = [watch](pid_t pid) { return watch->call_probes_of(pid); };
}

// Keeps return probes away from code in the traced programs that reads return addresses on the stack, and unwinders from pending
// returns.
void TargetSide::guard_returns(engine::EngineOptions& engine_options) {
  engine_options.owns_stacks = once_for_each_path(why_stacks_are_owned);
  engine_options.return_readers = once_for_each_path(return_readers_of);
  engine_options.resolve_module = [this](pid_t pid, const engine::Module& module) { return unwind_requests(pid, module); };
}

void TargetSide::take_last_look(const engine::ThreadChange& change) {
  using Kind = engine::ThreadChange::Kind;
  if (change.kind == Kind::kThreadEnding && change.tid == change.pid) last_looks_.at_end(change.pid);
  if (change.kind == Kind::kExecuted) last_looks_.after_exec(change.pid);
  if (change.kind == Kind::kProcessEnded) last_looks_.after_end(change.pid);
}

Result<pid_t> TargetSide::acquire(bool before_exec) {
  if (!options_.command.empty()) {
    TRY(pid_, engine_->launch({.arguments = command_words(options_.command),
                               .environment = {},
                               .user = {},
                               .group = {},
                               .before_exec = before_exec}));
    given_ = {pid_};
  } else if (!options_.processes.empty()) {
    pid_ = options_.first_process();
    given_ = {options_.processes.begin(), options_.processes.end()};
    if (follows_ || !script_.target.image.bytes.empty()) {
      TRY_DO(attach_all());
    } else {
      watch_given();
    }
  }
  return pid_;
}

namespace {

// Returns "4712 4713 4714"; the first twenty of many.
std::string numbers_of(const std::vector<pid_t>& pids) {
  constexpr size_t kMost = 20;
  std::string text;
  for (size_t i = 0; i < std::min(pids.size(), kMost); ++i) text += fmt::format("{}{}", i ? " " : "", pids[i]);
  return pids.size() > kMost ? text + " ..." : text;
}

}  // namespace

// Nothing is attached to where only handlers in the kernel run: the kernel says when the processes of -x end.
void TargetSide::watch_given() {
  for (const pid_t pid : given_) {
    // One that has ended since it was looked up has no descriptor.
    if (UniqueFd process{static_cast<int>(syscall(SYS_pidfd_open, pid, 0))}) watched_.push_back(std::move(process));
  }
  finished_ = watched_.empty();
}

void TargetSide::look_at_watched() {
  std::erase_if(watched_, [](const UniqueFd& process) {
    pollfd ended{process.get(), POLLIN, 0};
    return ::poll(&ended, 1, 0) > 0;
  });
  finished_ = watched_.empty();
}

Result<void> TargetSide::attach_all() {
  std::vector<pid_t> ended;
  for (pid_t pid : options_.processes) {
    bool stopped = engine::process_status(pid, "State").starts_with("T");
    // Processes that share their memory are attached to together with the first of them.
    std::vector<pid_t> traced = engine_->processes();
    if (std::find(traced.begin(), traced.end(), pid) == traced.end()) {
      const Result<void> attached = engine_->attach(pid);
      // Of several processes, as a name of -x may mean them, some can end meanwhile.
      const bool has_ended = !attached.ok() && engine::has_ended(pid);
      if (!attached.ok() && (!has_ended || ended.size() + 1 == options_.processes.size())) return attached.error();
      if (has_ended) {
        ended.push_back(pid);
        given_.erase(pid);
        continue;
      }
      if (!given_.contains(pid_)) pid_ = pid;
    }
    if (stopped && !messages_.suppress_warnings) {
      print_to(stderr, "WARNING: process {} is stopped (state T): it hits no probes until it continues (kill -CONT {})\n", pid,
               pid);
    }
  }
  if (!ended.empty() && !messages_.suppress_warnings) {
    print_to(stderr, "WARNING: {} of {} processes of -x ended before {} traced: {}\n", ended.size(), options_.processes.size(),
             ended.size() == 1 ? "it was" : "they were", numbers_of(ended));
  }
  if (!options_.children) return {};
  engine::Descendants found = engine_->attach_descendants();
  if (messages_.verbosity() > 0 && !found.traced.empty()) {
    print_to(stderr, "{} {} of {} {} traced, too: {}\n", found.traced.size(), found.traced.size() == 1 ? "child" : "children",
             options_.processes.size() == 1 ? fmt::format("process {}", pid_) : "the processes",
             found.traced.size() == 1 ? "is" : "are", numbers_of(found.traced));
  }
  if (!found.refused.empty() && !messages_.suppress_warnings) {
    const Error& first = found.refused.front();
    print_to(stderr, "WARNING: {} of {} children {} not traced: {}{}\n", found.refused.size(),
             found.refused.size() + found.traced.size(), found.refused.size() == 1 ? "is" : "are", first.message,
             first.hint.empty() ? "" : fmt::format(" ({})", first.hint));
    for (size_t i = 1; i < found.refused.size() && messages_.verbosity() > 0; ++i) {
      print_to(stderr, "WARNING: {}\n", found.refused[i].message);
    }
  }
  return {};
}

void TargetSide::print_waiting(pid_t pid, const std::string& state) {
  if (std::exchange(waited_for_, pid) == pid) return;
  print_to(stderr, "Process {} {}; waiting for it, 10 s at most (Ctrl-C stops waiting).\n", pid, state);
}

std::vector<engine::SiteRequest> TargetSide::site_requests(std::map<size_t, std::string>& unprobed) const {
  std::map<std::string, FileAddress> lists;
  auto goroutine_list = [&](const std::string& module_path) {
    auto [known, fresh] = lists.try_emplace(module_path);
    if (fresh) known->second = probes::goroutine_list_of(module_path, probes::file_of(files_, module_path).options);
    return known->second;
  };
  std::map<std::string, probes::FileOwners> owners;
  auto owner_of = [&](const sema::Site& site) {
    auto known = owners.find(site.module);
    if (known == owners.end()) {
      std::string opened = probes::file_of(files_, site.module).options.place_of(site.module);
      known = owners.emplace(site.module, probes::FileOwners(site.module, opened)).first;
    }
    return known->second.of(site.function);
  };
  std::vector<engine::SiteRequest> requests;
  requests.reserve(program_.sites.size());
  for (size_t id = 0; id < program_.sites.size(); ++id) {
    const sema::ArmedSite& armed = program_.sites[id];
    if (program_.site_groups[static_cast<size_t>(armed.group)].system_call != sema::SiteGroup::kNoCall) continue;
    const probes::StackOwner* owner = owner_of(armed.site);
    if (owner && owner->refuses_entries) {
      unprobed[id] = owner->reason;
      continue;
    }
    const codegen::ImageEntry& entry = script_.target.groups[static_cast<size_t>(armed.group)];
    engine::SiteRequest request;
    request.site_id = static_cast<uint32_t>(id);
    request.module_path = armed.site.module;
    request.module_identity = probes::file_of(files_, armed.site.module).identity;
    request.address = armed.site.address;
    request.size = armed.site.size;
    request.function = armed.site.around;
    request.semaphore = armed.site.semaphore;
    if (armed.site.go) request.goroutine_list = goroutine_list(armed.site.module);
    bool inside = program_.site_groups[static_cast<size_t>(armed.group)].inside_function;
    if (entry.exit != 0) {
      request.probe = engine::ReturnProbe{entry.enter, entry.exit, entry.entry, owner ? owner->reason : std::string()};
    } else if (inside) {
      request.probe = engine::InstructionProbe{entry.enter};
    } else {
      request.probe = engine::EntryProbe{entry.enter};
    }
    request.flags = entry.flags | (owner && owner->judges_faults ? abi::kTouchesStack : 0u);
    requests.push_back(request);
  }
  return requests;
}

void TargetSide::find_switched_groups() {
  for (const sema::Probe& probe : program_.probes) {
    if (probe.switched) conditions_[probe.index] = true;
  }
  std::map<int, size_t> index;  // into switched_, by group
  for (size_t id = 0; id < program_.sites.size(); ++id) {
    int group = program_.sites[id].group;
    if (!(script_.target.groups[static_cast<size_t>(group)].flags & abi::kSwitchable)) continue;
    auto [known, fresh] = index.try_emplace(group, switched_.size());
    if (fresh) switched_.push_back({.group = group});
    switched_[known->second].sites.push_back(static_cast<uint32_t>(id));
  }
}

void TargetSide::switch_conditions(const std::function<bool(int probe)>& holds) {
  // Each condition is evaluated, since evaluating it also makes handlers see the result.
  for (auto& [probe, holds_now] : conditions_) holds_now = holds(probe);
  auto wanted = [&](int probe) {
    const auto known = conditions_.find(probe);
    return known == conditions_.end() || known->second;
  };
  std::vector<uint32_t> turned[2];
  for (SwitchedGroup& switched : switched_) {
    const sema::SiteGroup& group = program_.site_groups[static_cast<size_t>(switched.group)];
    bool on = std::any_of(group.entry_probes.begin(), group.entry_probes.end(), wanted) ||
              std::any_of(group.return_probes.begin(), group.return_probes.end(), wanted);
    if (on == switched.on) continue;
    switched.on = on;
    turned[on].insert(turned[on].end(), switched.sites.begin(), switched.sites.end());
  }
  for (bool on : {false, true}) {
    if (turned[on].empty()) continue;
    engine_->switch_sites(turned[on], on);
    if (messages_.verbosity() > 1) print_to(stderr, "Switched {} sites {}.\n", turned[on].size(), on ? "on" : "off");
  }
}

// Prints for -v how the conditions of probes are evaluated.
void TargetSide::print_conditions() const {
  size_t switched = 0, tested = 0;
  for (const sema::ArmedSite& armed : program_.sites) {
    const sema::SiteGroup& group = program_.site_groups[static_cast<size_t>(armed.group)];
    auto conditional = [&](int probe) { return program_.probes[static_cast<size_t>(probe)].condition != nullptr; };
    if (script_.target.groups[static_cast<size_t>(armed.group)].flags & abi::kSwitchable) {
      ++switched;
    } else if (std::any_of(group.entry_probes.begin(), group.entry_probes.end(), conditional) ||
               std::any_of(group.return_probes.begin(), group.return_probes.end(), conditional)) {
      ++tested;
    }
  }
  if (switched > 0) print_to(stderr, "{} sites are switched on and off as the conditions of their probes change.\n", switched);
  if (tested > 0) print_to(stderr, "{} sites test the conditions of their probes at each hit, which can change there.\n", tested);
}

bool TargetSide::has_entries(const sema::ArmedSite& armed) const {
  return !program_.site_groups[static_cast<size_t>(armed.group)].entry_probes.empty();
}

bool TargetSide::has_return_probes() const {
  for (const codegen::ImageEntry& entry : script_.target.groups) {
    if (entry.exit != 0) return true;
  }
  return false;
}

std::vector<engine::SiteRequest> TargetSide::unwind_requests(pid_t pid, const engine::Module& module) const {
  return unwind_sites(pid, module, program_.sites.unwind_id(), script_.target);
}

void TargetSide::print_unclear_entries(const KeptEntries& kept) const {
  for (size_t index : kept.unclear) {
    const sema::KeptFunction& function = program_.sites.kept_functions()[index];
    print_to(stderr, "{}+{:#x}: values of this function's entry are not known, as it jumps back to its first instruction.\n",
             function.module, function.address.value);
  }
}

Result<void> TargetSide::arm() {
  if (program_.sites.empty()) return {};
  std::vector<engine::SiteRequest> requests;
  if (has_return_probes()) {
    // Sites of unwinders come first, so that no return is pending before they are armed. Modules that are loaded later get theirs
    // then.
    for (pid_t pid : engine_->processes()) {
      auto modules = engine_->modules(pid);
      // An event will report the end of the process.
      if (!modules.ok() && engine::is_ending(pid)) continue;
      if (!modules.ok()) return std::move(modules).error();
      for (const engine::Module& module : *modules) {
        std::vector<engine::SiteRequest> more = unwind_requests(pid, module);
        requests.insert(requests.end(), more.begin(), more.end());
      }
    }
  }
  KeptEntries kept = kept_entries(program_, script_.target, files_);
  requests.insert(requests.end(), kept.sites.begin(), kept.sites.end());
  if (messages_.verbosity() > 0) print_unclear_entries(kept);
  std::map<size_t, std::string> unprobed;
  std::vector<engine::SiteRequest> script_sites = site_requests(unprobed);
  requests.insert(requests.end(), script_sites.begin(), script_sites.end());
  if (script_.target.call_enter != 0) {
    engine_->probe_system_calls({.site_id = program_.sites.system_call_id(),
                                 .enter_offset = script_.target.call_enter,
                                 .exit_offset = script_.target.call_exit});
  }
  TRY(engine::ArmReport report, engine_->arm(requests));
  for (auto& [id, reason] : unprobed) {
    report.outcomes.push_back({static_cast<uint32_t>(id), pid_, engine::Mechanism::kRefused, std::move(reason), false});
  }
  was_armed_ = true;
  if (!report.outcomes.empty()) print_report(report, true);
  if (options_.command.empty()) placed_.expect_places_in(given_);
  TRY_DO(require_named_returns(report));
  if (messages_.verbosity() > 0) print_conditions();
  // Sites in libraries not loaded yet have no outcome so far; if there were outcomes and all are refusals, nothing would
  // ever be hit.
  size_t answered = 0, armed = 0;
  for (const engine::SiteOutcome& outcome : report.outcomes) {
    if (!program_.sites.script_site(outcome.site_id)) continue;
    ++answered;
    armed += outcome.mechanism != engine::Mechanism::kRefused;
  }
  size_t wanted = script_sites.size() + unprobed.size();
  if (wanted != 0 && answered >= wanted && armed == 0) {
    return Error{fmt::format("none of the {} places could be probed", wanted), "see the warnings above"};
  }
  return {};
}

void TargetSide::make_stacks(std::span<uint8_t> arena, std::span<uint8_t> kernel, abi::ControllerState& state) {
  if (script_.layout.tables_size == 0) return;
  stacks_ = std::make_unique<UserStacks>(arena, kernel, script_.layout, program_.needs);
  controller_state_ = &state;
}

// Libraries come and go, so the modules are read again for a moment after they were read, which may take a fiftieth of the time.
// Samples come in batches, so this is done once for each. An ended process keeps its last map.
uint64_t TargetSide::module_map_of(pid_t pid, int64_t at_ns) {
  if (!stacks_) return 0;
  const int64_t now = monotonic_ns();
  Described& known = described_[pid];
  if (known.map != 0 && (at_ns <= known.time_ns || now - known.time_ns < 50 * known.took_ns)) return known.map;
  if (auto modules = engine_->modules(pid); modules.ok()) {
    const int64_t took = monotonic_ns() - now;
    known = {describe_modules(pid, *modules), now, took};
  }
  return known.map;
}

uint64_t TargetSide::locate(pid_t pid, const sema::Site& site) const {
  if (site.module.empty()) return site.address.value;
  auto modules = engine_->modules(pid);
  if (!modules.ok()) return 0;
  for (const engine::Module& module : *modules) {
    if (module.path == site.module) return site.address.value + module.bias;
  }
  return 0;
}

uint64_t TargetSide::describe_modules(pid_t pid, std::span<const engine::Module> modules) {
  if (!stacks_) return 0;
  uint64_t map = stacks_->describe(pid, modules);
  if (take_map_) take_map_(pid, map);
  // End and timer probes name addresses as the process has them that the user named.
  if (pid == pid_ || pid_ == 0) controller_state_->module_map = map;
  return map;
}

// Reports an entry at which registers are kept for other probes, and what these will miss where it is refused.
void TargetSide::report_kept(const engine::SiteOutcome& outcome) const {
  const sema::KeptFunction* function = program_.sites.kept_function(outcome.site_id);
  if (!function) return;
  const bool refused = outcome.mechanism == engine::Mechanism::kRefused;
  if (refused && !messages_.suppress_warnings) {
    print_to(
        stderr,
        "WARNING: variables that depend on a register's value at the entry of the function at {:#x} in {} can't be read: {}\n",
        function->address.value, function->module, outcome.reason);
  } else if (!refused && messages_.verbosity() > 1) {
    print_to(stderr, "pid {}: registers are kept at the entry {}+{:#x}: {}\n", outcome.pid, function->module,
             function->address.value, engine::mechanism_name(outcome.mechanism));
  }
}

bool TargetSide::names_return(const sema::ArmedSite& armed) const {
  const sema::SiteGroup& group = program_.site_groups[static_cast<size_t>(armed.group)];
  for (size_t i = 0; i < group.return_probes.size(); ++i) {
    const sema::Probe& probe = program_.probes[static_cast<size_t>(group.return_probes[i])];
    const sema::ResolvedPoint& point = probe.points[static_cast<size_t>(armed.points[group.entry_probes.size() + i])];
    if (point.name.find_first_of("*?[!") == point.name.npos && point.name.find(".callee") == point.name.npos) return true;
  }
  return false;
}

// Fails for a function that the script names and of which no probe is left, since its returns can't be probed.
Result<void> TargetSide::require_named_returns(const engine::ArmReport& report) const {
  for (const engine::SiteOutcome& outcome : report.outcomes) {
    const sema::ArmedSite* armed = program_.sites.script_site(outcome.site_id);
    if (!outcome.only_returns || !armed || !names_return(*armed) || has_entries(*armed)) continue;
    return Error{fmt::format("function '{}' of {} can't be probed at its return: {}", armed->site.function, armed->site.module,
                             outcome.reason),
                 "leave out '.return', or use a pattern, which skips such functions"};
  }
  return {};
}

// Prints one line for many functions that are refused for the same reason.
void TargetSide::warn_refused_returns(const engine::ArmReport& report) {
  constexpr size_t kNamed = 3;
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> functions;  // by module and reason
  // each process has an outcome for the same place
  std::set<std::tuple<std::string, uint64_t, std::string>> seen;
  for (const engine::SiteOutcome& outcome : report.outcomes) {
    const sema::ArmedSite* armed = program_.sites.script_site(outcome.site_id);
    if (!outcome.only_returns || !armed || !seen.emplace(armed->site.module, armed->site.address.value, outcome.reason).second)
      continue;
    functions[{armed->site.module, outcome.reason}].push_back(armed->site.function);
  }
  for (const auto& [place, names] : functions) {
    const auto& [module, reason] = place;
    if (messages_.verbosity() > 1 || names.size() <= kNamed) {
      for (const std::string& name : names)
        print_to(stderr, "WARNING: returns of {} in {} can't be probed: {}\n", name, module, reason);
    } else {
      print_to(stderr, "WARNING: returns of {} functions in {} ({}, ...) can't be probed: {}\n", names.size(), module,
               fmt::join(names.begin(), names.begin() + kNamed, ", "), reason);
    }
  }
}

void TargetSide::warn(const std::vector<std::string>& warnings) const {
  if (messages_.suppress_warnings) return;
  for (const std::string& warning : warnings) print_to(stderr, "WARNING: {}\n", warning);
}

void TargetSide::print_report(const engine::ArmReport& report, bool initial) {
  paused_ns_ += static_cast<int64_t>(report.pause_ns);
  placed_.note(report);
  constexpr uint64_t kMostRefusals = 10;
  std::map<std::string, size_t> by_mechanism;
  uint64_t refused = 0;
  std::set<std::tuple<std::string, uint64_t, std::string>> seen;  // refusals: each process has one for the same place
  auto has_entry = [&](const engine::SiteOutcome& outcome) {
    const sema::ArmedSite* armed = program_.sites.script_site(outcome.site_id);
    return outcome.only_returns && armed && has_entries(*armed);
  };
  const size_t sites =
      report.outcomes.size() - static_cast<size_t>(std::count_if(report.outcomes.begin(), report.outcomes.end(), has_entry));
  if (!messages_.suppress_warnings) warn_refused_returns(report);
  for (const engine::SiteOutcome& outcome : report.outcomes) {
    report_kept(outcome);
    if (has_entry(outcome)) continue;
    const sema::ArmedSite* armed = program_.sites.script_site(outcome.site_id);
    if (!armed) continue;  // an unwinder's entry, say
    const sema::Site& site = armed->site;
    ++by_mechanism[engine::mechanism_name(outcome.mechanism)];
    ++by_mechanism_[engine::mechanism_name(outcome.mechanism)];
    bool is_refusal = outcome.mechanism == engine::Mechanism::kRefused;
    if (is_refusal) ++refused;
    if (outcome.only_returns) continue;
    if (is_refusal && (messages_.verbosity() > 1 || refusals_printed_ < kMostRefusals) && !messages_.suppress_warnings) {
      if (!seen.emplace(site.module, site.address.value, outcome.reason).second) continue;
      ++refusals_printed_;
      print_to(stderr, "WARNING: {} in {} can't be probed: {}\n", site.function, site.module, outcome.reason);
      if (refusals_printed_ == kMostRefusals && messages_.verbosity() < 2) print_to(stderr, "WARNING: (more with -vv)\n");
    } else if (messages_.verbosity() > 0 && (sites <= 100 || messages_.verbosity() > 1)) {
      print_to(stderr, "pid {}: {} {}+{:#x}: {}\n", outcome.pid, site.function, site.module, site.address.value,
               engine::mechanism_name(outcome.mechanism));
    }
  }
  if (messages_.verbosity() > 0) {
    std::string mechanisms;
    for (const auto& [name, count] : by_mechanism)
      mechanisms += fmt::format("{}{} by {}", mechanisms.empty() ? "" : ", ", count, name);
    print_to(stderr, "Armed {} of {} sites{}: {}; prepared in {:.1f} ms, target paused {:.1f} ms.\n", report.armed(), sites,
             initial ? "" : " in new code", mechanisms, static_cast<double>(report.prepare_ns) / 1e6,
             static_cast<double>(report.pause_ns) / 1e6);
  } else if (refused > kMostRefusals && !messages_.suppress_warnings) {
    print_to(stderr, "WARNING: {} of {} sites can't be probed\n", refused, sites);
  }
}

Result<void> TargetSide::resume() {
  if (pid_ == 0) return {};
  resumed_ = true;
  if (!follows_ && script_.target.image.bytes.empty() && !options_.command.empty()) return engine_->detach();
  engine_->resume_all();
  return {};
}

Result<void> TargetSide::go_on() {
  described_.clear();
  return engine_->resume();
}

void TargetSide::kill_unstarted() {
  if (pid_ > 0 && !resumed_ && !options_.command.empty()) kill(pid_, SIGKILL);
  resumed_ = true;
}

TargetSide::~TargetSide() { kill_unstarted(); }

Result<void> TargetSide::detach() {
  kill_unstarted();
  detached_ = true;
  return engine_->detach();
}

Result<void> TargetSide::poll(ArenaView& arena, int timeout_ms) {
  if (!watched_.empty()) look_at_watched();
  TRY(std::vector<engine::Event> events, engine_->poll(timeout_ms));
  for (engine::Event& event : events) {
    switch (event.kind) {
      case engine::Event::Kind::kProcessExited:
      case engine::Event::Kind::kOtherExited:
        if (before_reuse_) before_reuse_();
        arena.release_slots_of(event.pid);
        if (given_.erase(event.pid) == 0) break;
        placed_.note_end(event.pid);
        warn(placed_.left_by_exec({}));
        finished_ = given_.empty();
        if (!options_.command.empty() && !detached_) command_status_ = event.status;
        break;
      case engine::Event::Kind::kArmed: print_report(event.report, false); break;
      case engine::Event::Kind::kTrouble: print_to(stderr, "WARNING: process {}: {}\n", event.pid, event.message); break;
      case engine::Event::Kind::kHandlerLeft:
        arena.enable(false);  // others would only fail in the same way
        if (std::exchange(handler_failed_, true)) break;
        print_to(stderr,
                 "ERROR: process {}: {}: the session ends, and probes are removed\n  hint: in a bundle: somebody has changed it, "
                 "make it again; else please report it with the script\n",
                 event.pid, event.message);
        break;
      case engine::Event::Kind::kCallsInProcess:
        if (messages_.verbosity() > 0) print_to(stderr, "pid {}: system calls are probed in the process.\n", event.pid);
        break;
      case engine::Event::Kind::kCallsTraced:
        if (messages_.verbosity() > 0) print_to(stderr, "pid {}: system calls stop the process: {}\n", event.pid, event.message);
        break;
      case engine::Event::Kind::kReleased:
        ++handed_over_;
        last_looks_.after_release(event.pid);
        if (messages_.verbosity() > 0)
          print_to(stderr, "pid {}: released: {}; its hits from here on are not counted.\n", event.pid, event.message);
        break;
      case engine::Event::Kind::kProcessExecuted:
        if (given_.contains(event.pid)) placed_.note_exec(event.pid, event.path);
        if (!event.report.outcomes.empty()) print_report(event.report, false);
        [[fallthrough]];
      case engine::Event::Kind::kProcessStarted:
      case engine::Event::Kind::kModuleLoaded:
      case engine::Event::Kind::kModuleUnloaded:
        if (messages_.verbosity() > 2) print_to(stderr, "process {}: {}\n", event.pid, event.path);
        break;
    }
  }
  warn(placed_.left_by_exec(kLoadingTime));
  warn(placed_.still_without_places(kLoadingTime));
  return {};
}

}  // namespace spile::session
