#include "session/places/target_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <tuple>
#include <utility>

#include "base/messages.h"
#include "engine/process/process_status.h"
#include "session/places/kept_entries.h"
#include "session/places/site_requests.h"
#include "session/stacks/unwind_sites.h"

namespace spile::session {

namespace {

constexpr std::chrono::milliseconds kLoadingTime(500);  // that a program may take to load its libraries
constexpr uint32_t kFirstSlots = 4;                     // the controller's, the shared one, and those of two threads

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

// Goes on waiting for a process until the user wants to end the session; says once for each process what it waits for.
auto wait_until(std::function<bool()> interrupted) {
  return [interrupted = std::move(interrupted), waited_for = pid_t{0}](pid_t pid, const std::string& state) mutable {
    if (std::exchange(waited_for, pid) != pid)
      note(fmt::format("Process {} {}; waiting for it, 10 s at most (Ctrl-C stops waiting).", pid, state));
    return !interrupted();
  };
}

bool has_handlers(const codegen::CompiledScript& script) { return !script.target.image.bytes.empty(); }

bool has_return_probes(const codegen::CompiledScript& script) {
  return std::ranges::any_of(script.target.groups, [](const codegen::ImageEntry& entry) { return entry.exit != 0; });
}

void take_last_look(LastLooks& looks, const engine::ThreadChange& change) {
  using Kind = engine::ThreadChange::Kind;
  if (change.kind == Kind::kThreadEnding && change.tid == change.pid) looks.at_end(change.pid);
  if (change.kind == Kind::kExecuted) looks.after_exec(change.pid);
  if (change.kind == Kind::kProcessEnded) looks.after_end(change.pid);
}

void warn_of(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) warn(warning);
}

}  // namespace

TargetSide::TargetSide(const TargetSideInput& input)
    : program_(input.program),
      script_(input.script),
      files_(input.files),
      messages_(input.messages),
      follows_(input.watch.watches_processes() || input.sampler.samples() || input.kernel_targets.follows()),
      judges_ends_(!input.script.commands.made_at.empty() && !input.program.guru),
      given_(input.options, input.messages),
      switched_(input.program, input.script, input.messages.verbosity()),
      report_(input.program, input.messages.verbosity()),
      placed_(input.program),
      allocators_(input.program, input.script.target) {}

Result<std::unique_ptr<TargetSide>> TargetSide::create(const TargetSideInput& input) {
  std::unique_ptr<TargetSide> side(new TargetSide(input));
  engine::EngineOptions engine_options;
  side->watch_lives(engine_options, input);
  engine_options.events.keep_waiting = wait_until(input.interrupted);
  if (has_return_probes(input.script)) guard_returns(engine_options);
  if (has_return_probes(input.script) || side->allocators_.are_wanted()) {
    engine_options.events.resolve_module = [side = side.get()](pid_t pid, const engine::Module& module) {
      return side->sites_in(pid, module);
    };
  }
  if (input.script.layout.tables_size != 0) {
    engine_options.events.describe_modules = [side = side.get()](pid_t pid, std::span<const engine::Module> modules) {
      return side->describe_modules(pid, modules);
    };
  }
  TRY(side->engine_, engine::Engine::create(std::move(engine_options)));
  if (has_handlers(input.script))
    TRY_DO(side->engine_->set_image(input.script.target.image, geometry_of(input.script.layout), input.memory));
  return side;
}

// Begins, ends and executions of processes and threads go to the probes on them, to the sampler, and to the last looks.
void TargetSide::watch_lives(engine::EngineOptions& engine_options, const TargetSideInput& input) {
  if (!follows_ && !judges_ends_) return;
  ProcessWatch& watch = input.watch;
  engine_options.events.watch_threads = [this, &watch, &sampler = input.sampler,
                                         &kernel_targets = input.kernel_targets](const engine::ThreadChange& change) {
    if (judges_ends_) take_last_look(last_looks_, change);
    if (!follows_) return;
    // At an execution, the handlers of the old program's samples run first, while its modules are known. Other changes reach the
    // probes first.
    const bool executed = change.kind == engine::ThreadChange::Kind::kExecuted;
    if (executed) sampler.on_change(change);
    if (executed) maps_.forget(change.pid);
    watch.on_change(change);
    kernel_targets.on_change(change);
    if (!executed) sampler.on_change(change);
  };
  engine_options.watch_system_calls = watch.watches_system_calls();
  engine_options.events.call_probes = [&watch](pid_t pid) { return watch.call_probes_of(pid); };
}

// ---- what processes have mapped

void TargetSide::make_stacks(std::span<uint8_t> arena, std::span<uint8_t> kernel, abi::ControllerState& state) {
  if (script_.layout.tables_size != 0) maps_.make_stacks(arena, kernel, script_.layout, program_.needs, state);
}

uint64_t TargetSide::module_map_of(pid_t pid, int64_t at_ns) { return maps_.map_of(*engine_, pid, at_ns, is_named(pid)); }

// The sites in one module that are in no file that the script names. Unwinders are kept away from pending returns, and come
// first, so that no return is pending before they are armed.
std::vector<engine::SiteRequest> TargetSide::sites_in(pid_t pid, const engine::Module& module) {
  std::vector<engine::SiteRequest> sites;
  if (has_return_probes(script_)) sites = unwind_sites(pid, module, program_.sites.unwind_id(), script_.target);
  const std::vector<engine::SiteRequest> more = allocators_.in_module(pid, module);
  sites.insert(sites.end(), more.begin(), more.end());
  return sites;
}

// Adds these sites in all that the processes have mapped now. Modules that are loaded later get theirs then.
Result<void> TargetSide::add_sites_in_modules(std::vector<engine::SiteRequest>& requests) {
  std::set<std::tuple<uint64_t, uint64_t, std::string>> asked;  // several processes have one file
  for (pid_t pid : engine_->processes()) {
    allocators_.note_program(pid, program_of(pid));
    auto modules = engine_->modules(pid);
    // An event will report the end of the process.
    if (!modules.ok() && engine::is_ending(pid)) continue;
    if (!modules.ok()) return std::move(modules).error();
    for (const engine::Module& module : *modules) {
      if (!asked.emplace(module.device, module.inode, module.path).second) continue;
      const std::vector<engine::SiteRequest> more = sites_in(pid, module);
      requests.insert(requests.end(), more.begin(), more.end());
    }
  }
  return {};
}

uint64_t TargetSide::describe_modules(pid_t pid, std::span<const engine::Module> modules) {
  return maps_.describe(pid, modules, is_named(pid));
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

// ---- the start

Result<pid_t> TargetSide::acquire(bool before_exec) {
  return given_.acquire(*engine_, before_exec, follows_ || has_handlers(script_));
}

Result<void> TargetSide::arm() {
  if (program_.sites.empty()) return {};
  std::vector<engine::SiteRequest> requests;
  if (has_return_probes(script_) || allocators_.are_wanted()) TRY_DO(add_sites_in_modules(requests));
  const KeptEntries kept = kept_entries(program_, script_.target, files_);
  requests.insert(requests.end(), kept.sites.begin(), kept.sites.end());
  if (messages_.verbosity() > 0) report_.print_unclear_entries(kept);
  ScriptSites sites = script_sites(program_, script_.target, files_);
  requests.insert(requests.end(), sites.requests.begin(), sites.requests.end());
  if (script_.target.call_enter != 0) {
    engine_->probe_system_calls({.site_id = program_.sites.system_call_id(),
                                 .enter_offset = script_.target.call_enter,
                                 .exit_offset = script_.target.call_exit});
  }
  TRY(engine::ArmReport report, engine_->arm(requests));
  for (auto& [id, reason] : sites.unprobed) {
    report.outcomes.push_back({static_cast<uint32_t>(id), process(), engine::Mechanism::kRefused, std::move(reason), false});
  }
  was_armed_ = true;
  if (!report.outcomes.empty()) take_report(report, true);
  if (!given_.is_command()) placed_.expect_places_in(given_.living());
  TRY_DO(require_named_returns(program_, report));
  if (messages_.verbosity() > 0) switched_.print();
  return require_some_place(program_, report, sites.requests.size() + sites.unprobed.size());
}

void TargetSide::take_report(const engine::ArmReport& report, bool initial) {
  paused_ns_ += static_cast<int64_t>(report.pause_ns);
  placed_.note(report);
  allocators_.note(report);
  report_.print(report, initial);
}

Result<void> TargetSide::resume() {
  if (process() == 0) return {};
  given_.note_resumed();
  if (!follows_ && !has_handlers(script_) && given_.is_command()) return engine_->detach();
  engine_->resume_all();
  return given_.start_workload();
}

// ---- while handlers run

Result<void> TargetSide::go_on() {
  maps_.forget_all();
  return engine_->resume();
}

Result<void> TargetSide::poll(ArenaView& arena, int timeout_ms) {
  given_.look();
  TRY(const std::vector<engine::Event> events, engine_->poll(timeout_ms));
  for (const engine::Event& event : events) take_event(event, arena);
  warn_of(placed_.left_by_exec(kLoadingTime));
  warn_of(placed_.still_without_places(kLoadingTime));
  warn_of(allocators_.unseen(kLoadingTime));
  return {};
}

void TargetSide::take_event(const engine::Event& event, ArenaView& arena) {
  using Kind = engine::Event::Kind;
  const auto note_if = [&](int verbosity, const std::string& text) {
    if (messages_.verbosity() >= verbosity) note(text);
  };
  switch (event.kind) {
    case Kind::kProcessExited:
    case Kind::kOtherExited: return take_end(event, arena);
    case Kind::kArmed: return take_report(event.report, false);
    case Kind::kTrouble: return warn(fmt::format("process {}: {}", event.pid, event.message));
    case Kind::kHandlerLeft: return take_left_handler(event, arena);
    case Kind::kCallsInProcess: return note_if(1, fmt::format("pid {}: system calls are probed in the process.", event.pid));
    case Kind::kCallsTraced:
      return note_if(1, fmt::format("pid {}: system calls stop the process: {}", event.pid, event.message));
    case Kind::kReleased:
      ++handed_over_;
      last_looks_.after_release(event.pid);
      return note_if(1, fmt::format("pid {}: released: {}; its hits from here on are not counted.", event.pid, event.message));
    case Kind::kProcessExecuted:
      if (given_.living().contains(event.pid)) placed_.note_exec(event.pid, event.path);
      allocators_.note_program(event.pid, event.path);
      if (!event.report.outcomes.empty()) take_report(event.report, false);
      [[fallthrough]];
    case Kind::kProcessStarted:
    case Kind::kModuleLoaded:
    case Kind::kModuleUnloaded: return note_if(3, fmt::format("process {}: {}", event.pid, event.path));
  }
}

void TargetSide::take_end(const engine::Event& event, ArenaView& arena) {
  if (before_reuse_) before_reuse_();
  arena.release_slots_of(event.pid);
  if (!given_.note_end(event.pid, event.status)) return;
  placed_.note_end(event.pid);
  warn_of(placed_.left_by_exec({}));
}

void TargetSide::take_left_handler(const engine::Event& event, ArenaView& arena) {
  arena.enable(false);  // others would only fail in the same way
  if (std::exchange(handler_failed_, true)) return;
  fail(fmt::format("process {}: {}: the session ends, and probes are removed", event.pid, event.message),
       "in a bundle: somebody has changed it, make it again; else please report it with the script");
}

// ---- the end

TargetSide::~TargetSide() { given_.kill_unstarted(); }

Result<void> TargetSide::detach() {
  given_.kill_unstarted();
  given_.note_detached();
  return engine_->detach();
}

void TargetSide::warn_never_loaded() {
  warn_of(placed_.still_without_places({}));
  warn_of(allocators_.unseen({}));
  if (was_armed_) warn_of(placed_.never_loaded());
}

}  // namespace spile::session
