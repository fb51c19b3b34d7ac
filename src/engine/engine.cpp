// The engine's one readable page: what happens when. The parts: tracer (stops), space_setup (mappings), site_builder
// (trampolines), text_patcher (text), dynamic_linker (libraries), removal (everything out again).

#include "engine/engine.h"

#include <errno.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <algorithm>
#include <deque>
#include <set>
#include <tuple>

#include "abi/arena.h"
#include "engine/address_space.h"
#include "engine/breakpoints.h"
#include "engine/dynamic_linker.h"
#include "engine/exit_sites.h"
#include "engine/goroutines.h"
#include "engine/launcher.h"
#include "engine/memory_map.h"
#include "engine/refusal.h"
#include "engine/removal.h"
#include "engine/site_builder.h"
#include "engine/space_setup.h"
#include "engine/text_patcher.h"
#include "engine/thread_identities.h"
#include "engine/tracer.h"

namespace spile::engine {
namespace {

using Clock = Tracer::Clock;

uint64_t nanoseconds(Clock::duration time) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

// Something that a stop asks for and that needs more than the stopped thread's registers: done by poll, while a hold
// keeps the thread.
struct Work {
  enum Kind { kExec, kFork, kLibraries } kind;
  pid_t pid;  // of the process (kFork: of the child)
  pid_t tid;  // the held thread
  bool anew = false;  // kFork: its copy of what we put into its parent may be part of it
};

class EngineImpl final : public Engine, TraceListener {
 public:
  explicit EngineImpl(EngineOptions options) : options_(std::move(options)) {}
  ~EngineImpl() override;
  Result<void> start();

  Result<void> set_image(abi::CodeImage image, const ArenaGeometry& geometry) override;
  std::span<uint8_t> arena() override { return {arena_, arena_ ? geometry_.size : 0}; }
  int arena_fd() const override { return arena_fd_.get(); }
  Result<pid_t> launch(const LaunchOptions& options) override;
  Result<void> attach(pid_t pid) override;
  void resume_all() override;
  std::vector<pid_t> processes() const override;
  Result<std::vector<Module>> modules(pid_t pid) override;
  Result<ArmReport> arm(std::span<const SiteRequest> sites) override;
  void switch_sites(std::span<const uint32_t> site_ids, bool on) override;
  Result<void> disarm() override;
  Result<void> detach() override;
  int wait_fd() const override { return tracer_->wait_fd(); }
  Result<std::vector<Event>> poll(int timeout_ms) override;

 private:
  void process_forked(Thread& parent, Process& child, bool shares_memory) override;
  void process_executed(Process& process) override;
  void process_exited(Process& process, int status) override;
  void stranger_exited(pid_t pid, int status) override;
  void signal_arrived(Thread& thread) override;
  void thread_stopped(Thread& thread) override;
  void thread_born(Thread& parent, Thread& thread) override;
  void thread_ending(Thread& thread) override { watch(ThreadChange::Kind::kThreadEnding, thread.process->pid, thread.tid); }
  void thread_ended(Thread& thread) override {
    if (thread.process->space) bury_thread(*thread.process->space, thread.tid);
    watch(ThreadChange::Kind::kThreadEnded, thread.process->pid, thread.tid);
  }
  void system_call_stopped(Thread& thread) override;
  void watch(ThreadChange::Kind kind, pid_t pid, pid_t tid) {
    if (options_.watch_threads) options_.watch_threads({.kind = kind, .pid = pid, .tid = tid});
  }

  void perform_works();
  void leave_space(Process& process);
  void finish_fork(const Work& work);
  void finish_exec(const Work& work);
  void finish_libraries(const Work& work);
  void release_hold(pid_t tid);
  bool redirect_fault(Thread& thread);

  Result<void> check_handlers(std::span<const SiteRequest> sites);
  void add_request(const SiteRequest& site);
  bool can_arm() const { return arena_ != nullptr && (!requests_.empty() || options_.resolve_module); }
  bool lacks_sites(const AddressSpace& space) const;
  Result<void> arm_space(AddressSpace& space, ArmReport& report);
  Result<void> build_and_apply(AddressSpace& space, ArmReport& report);
  Result<void> guard(SetupContext& context, AddressSpace& space, BuiltSites& built);
  bool has_ended(pid_t pid) const;
  void refresh_modules(AddressSpace& space, pid_t pid, std::vector<Module> present);
  void describe_modules(AddressSpace& space, pid_t pid);
  void write_module_map(AddressSpace& space);
  void watch_linker(AddressSpace& space, SetupContext& context, pid_t pid, std::vector<PatchedSite>& sites);
  Result<void> apply_sites(AddressSpace& space, std::vector<PatchedSite> sites,
                           const std::multimap<Address, Address>& foundations, ArmReport& report,
                           const std::function<void(Address)>& untouched);
  Result<void> apply_portion(AddressSpace& space, std::vector<PatchedSite> sites, ArmReport& report,
                             const std::function<void(Address)>& untouched);
  void note(Event event) { events_.push_back(std::move(event)); }
  void note_trouble(pid_t pid, const Error& error);

  EngineOptions options_;
  std::unique_ptr<Tracer> tracer_;
  abi::CodeImage image_;
  ArenaGeometry geometry_;
  UniqueFd arena_fd_;
  uint8_t* arena_ = nullptr;
  std::map<std::string, std::vector<SiteRequest>> requests_;  // by module path
  std::set<std::pair<uint64_t, uint64_t>> resolved_;          // device and inode of modules asked about
  std::set<std::pair<uint32_t, bool>> checked_;               // handlers: offset, and whether it takes registers
  std::set<uint32_t> switched_off_;                           // sites, by switch_sites or from the start
  std::set<pid_t> waiting_;                                   // launched, until resume_all
  std::deque<Work> works_;
  std::vector<Event> events_;
};

EngineImpl::~EngineImpl() {
  if (tracer_) (void)detach();
  tracer_.reset();
  if (arena_) munmap(arena_, geometry_.size);
}

Result<void> EngineImpl::start() {
  TRY(tracer_, Tracer::create(*this, {.ends = static_cast<bool>(options_.watch_threads), .system_calls = options_.watch_system_calls}));
  return {};
}

Result<void> EngineImpl::set_image(abi::CodeImage image, const ArenaGeometry& geometry) {
  CHECK(arena_ == nullptr);
  geometry_ = geometry;
  geometry_.size = (geometry.size + 4095) / 4096 * 4096;
  TRY(arena_fd_, create_memory(kArenaName, geometry_.size, false));
  void* view = mmap(nullptr, geometry_.size, PROT_READ | PROT_WRITE, MAP_SHARED, arena_fd_.get(), 0);
  if (view == MAP_FAILED) return Error::from_errno("map the arena", errno);
  arena_ = static_cast<uint8_t*>(view);
  image_ = std::move(image);
  return {};
}

Result<pid_t> EngineImpl::launch(const LaunchOptions& options) {
  TRY(Launcher launcher, Launcher::start(options));
  pid_t pid = launcher.pid();
  auto process = tracer_->seize_child(pid);
  if (!process.ok()) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return std::move(process).error();
  }
  waiting_.insert(pid);
  launcher.go();
  if (auto failure = launcher.failure()) {
    while (tracer_->find_process(pid)) tracer_->pump(100);
    waiting_.erase(pid);
    std::erase_if(events_, [&](const Event& event) { return event.pid == pid; });
    return *failure;
  }
  // The exec event is on its way: process_executed holds the thread for us.
  auto arrived = [&] {
    return std::any_of(works_.begin(), works_.end(),
                       [&](const Work& work) { return work.kind == Work::kExec && work.pid == pid; });
  };
  while (tracer_->find_process(pid) && !arrived()) tracer_->pump(100);
  perform_works();
  if (!tracer_->find_process(pid))
    return Error{fmt::format("{} ended before its first instruction", options.arguments[0]), ""};
  return pid;
}

Result<void> EngineImpl::attach(pid_t pid) {
  // A killed controller's trace is found before ours is laid.
  TRY(Process * process, tracer_->seize(pid));
  auto space = std::make_shared<AddressSpace>();
  space->users = {process};
  process->space = space;
  for (Process* sharer : tracer_->seize_sharers(*process)) {
    sharer->space = space;
    space->users.push_back(sharer);
  }
  auto prepare = [&]() -> Result<void> {
    TRY(space->memory, TargetMemory::open(pid));
    TRY(AddressSpace remains, find_remains(pid));
    if (!remains.empty()) {
      space->inherit(remains);
      space->changing++;
      auto removed = remove_all(*tracer_, *space, options_.stop_patience_ms);
      space->changing--;
      TRY_DO(removed);
    }
    if (!requests_.empty() && arena_) {
      Event event{.kind = Event::Kind::kArmed, .pid = pid};
      TRY_DO(arm_space(*space, event.report));
      note(std::move(event));
    }
    return {};
  };
  auto prepared = prepare();
  if (!prepared.ok() && tracer_->keep_still(space->users, options_.stop_patience_ms).ok()) {
    for (Process* user : std::vector(space->users)) tracer_->release(*user);
  }
  if (!prepared.ok()) return std::move(prepared).error().within(fmt::format("attach {}", pid));
  return {};
}

void EngineImpl::resume_all() {
  for (pid_t pid : std::exchange(waiting_, {})) release_hold(pid);
}

void EngineImpl::release_hold(pid_t tid) {
  if (Thread* thread = tracer_->find_thread(tid); thread && thread->holds > 0) tracer_->unhold(*thread);
}

std::vector<pid_t> EngineImpl::processes() const {
  std::vector<pid_t> pids;
  for (auto& [pid, process] : tracer_->processes()) pids.push_back(pid);
  return pids;
}

Result<std::vector<Module>> EngineImpl::modules(pid_t pid) {
  Process* process = tracer_->find_process(pid);
  if (!process || !process->space) return Error{fmt::format("process {} is not traced", pid), ""};
  TRY(MemoryMap map, MemoryMap::read(pid));
  return find_modules(pid, map, process->space->memory);
}

// --- Arming ---

void EngineImpl::add_request(const SiteRequest& site) {
  requests_[site.module_path].push_back(site);
  if ((site.flags & abi::kSwitchable) && !site.enabled) switched_off_.insert(site.site_id);
}

Result<ArmReport> EngineImpl::arm(std::span<const SiteRequest> sites) {
  if (!arena_) return Error{"arm: no image was set", ""};
  perform_works();
  TRY_DO(check_handlers(sites));
  for (const SiteRequest& site : sites) add_request(site);
  ArmReport report;
  std::optional<Error> failure;
  std::set<AddressSpace*> done;
  std::vector<pid_t> pids = processes();
  for (pid_t pid : pids) {
    Process* process = tracer_->find_process(pid);
    // A program that has just been exec'd is armed by the work that is queued for it.
    if (!process || !process->space->memory.is_open() || !done.insert(process->space.get()).second) continue;
    std::shared_ptr<AddressSpace> space = process->space;
    size_t others = report.outcomes.size();
    auto armed = arm_space(*space, report);
    // A process that ended meanwhile is no failure of arming.
    if (has_ended(pid)) {
      report.outcomes.resize(others);
    } else if (!armed.ok()) {
      note_trouble(pid, armed.error());
      failure = std::move(armed).error();
    }
  }
  if (failure && report.armed() == 0) return *failure;
  return report;
}

// Its memory is gone before we hear of its end.
bool EngineImpl::has_ended(pid_t pid) const {
  if (!tracer_->find_process(pid)) return true;
  auto map = MemoryMap::read(pid);
  return !map.ok() || map->all().empty();
}

// Brings what we know of the modules up to date, asking for sites in those that nobody has seen before.
void EngineImpl::refresh_modules(AddressSpace& space, pid_t pid, std::vector<Module> present) {
  std::map<std::string, LoadedModule> now;
  for (Module& module : present) {
    auto known = space.modules.find(module.path);
    bool same = known != space.modules.end() && known->second.module.bias == module.bias &&
                known->second.module.inode == module.inode;
    size_t requests_done = same ? known->second.requests_done : 0;
    if (!same && options_.resolve_module && resolved_.insert({module.device, module.inode}).second) {
      std::vector<SiteRequest> more = options_.resolve_module(pid, module);
      if (auto checked = check_handlers(more); !checked.ok()) {
        note_trouble(pid, checked.error());
        more.clear();
      }
      for (const SiteRequest& site : more) add_request(site);
    }
    if (!same) note({.kind = Event::Kind::kModuleLoaded, .pid = pid, .path = module.path});
    std::string path = module.path;
    now.emplace(std::move(path), LoadedModule{std::move(module), requests_done});
  }
  for (auto& [path, old] : space.modules) {
    auto left = now.find(path);
    if (left != now.end() && left->second.module.bias == old.module.bias) continue;
    note({.kind = Event::Kind::kModuleUnloaded, .pid = pid, .path = path});
    std::erase_if(space.sites, [&](const PatchedSite& site) {
      return site.begin >= old.module.lowest && site.begin < old.module.highest;
    });
  }
  space.modules = std::move(now);
}

void EngineImpl::describe_modules(AddressSpace& space, pid_t pid) {
  if (!options_.describe_modules) return;
  std::vector<Module> modules;
  for (auto& [path, loaded] : space.modules) modules.push_back(loaded.module);
  space.clients[kOwnClient].module_map = options_.describe_modules(pid, modules);
  write_module_map(space);
}

void EngineImpl::write_module_map(AddressSpace& space) {
  for (auto& [id, client] : space.clients) {
    if (client.process_table.size() == 0 || client.module_map == 0) continue;
    (void)space.memory.write_value(client.process_table.begin + offsetof(abi::ProcessTable, module_map), client.module_map);
  }
}

void EngineImpl::watch_linker(AddressSpace& space, SetupContext& context, pid_t pid, std::vector<PatchedSite>& sites) {
  if (std::exchange(space.linker_sought, true)) return;
  std::vector<Module> modules;
  for (auto& [path, loaded] : space.modules) modules.push_back(loaded.module);
  const Module* linker = find_linker(pid, modules);
  if (!linker) return;  // a static program
  auto watch = [&]() -> Result<void> {
    TRY(Address function, find_dynamic_symbol(space.memory, *linker, "_dl_debug_state"));
    TRY(auto region, region_for(context, space, *linker, 1, 256 + breakpoint_room()));
    TRY(PatchedSite site, build_linker_trap(space, function, *region, &space.linker_trap));
    // Refused where the program handles SIGTRAP itself.
    (void)guard_linker_trap(context, space, *region);
    sites.push_back(site);
    return {};
  };
  if (auto watched = watch(); !watched.ok() && !has_ended(pid)) {
    note_trouble(pid, std::move(watched).error().within("libraries loaded later will not be probed"));
  }
}

// Nothing is armed that has not been looked through, each handler once.
Result<void> EngineImpl::check_handlers(std::span<const SiteRequest> sites) {
  if (image_.unchecked) return {};
  std::vector<HandlerEntry> fresh;
  auto want = [&](uint32_t offset, bool registers) {
    if (offset != 0 && checked_.insert({offset, registers}).second) fresh.push_back({offset, registers});
  };
  for (const SiteRequest& site : sites) {
    bool registers = site.flags & abi::kWantsRegisters;
    want(site.enter_offset, registers);
    if (site.kind == abi::SiteKind::kReturn) want(site.exit_offset, registers);
  }
  if (fresh.empty()) return {};
  return native_architecture().check_handlers(image_, fresh);
}

// Breakpoints that can't be guarded against our own death are not set.
Result<void> EngineImpl::guard(SetupContext& context, AddressSpace& space, BuiltSites& built) {
  auto is_breakpoint = [](const PatchedSite& site) { return site.is_breakpoint(); };
  if (std::none_of(built.sites.begin(), built.sites.end(), is_breakpoint)) return {};
  auto guarded = guard_breakpoints(context, space, *built.region, built.sites);
  if (guarded.ok()) return {};
  for (size_t i = built.sites.size(); i-- > 0;) {
    if (!is_breakpoint(built.sites[i])) continue;
    for (uint32_t n = 0; n < built.outcome_count[i]; n++) {
      SiteOutcome& outcome = built.outcomes[built.first_outcome[i] + n];
      outcome.mechanism = Mechanism::kRefused;
      outcome.reason = guarded.error().message;
    }
    auto drop = [&](auto& vector) { vector.erase(vector.begin() + static_cast<int64_t>(i)); };
    drop(built.sites);
    drop(built.first_outcome);
    drop(built.outcome_count);
  }
  return {};
}

bool EngineImpl::lacks_sites(const AddressSpace& space) const {
  if (!can_arm() || space.refused) return false;
  if (space.modules.empty()) return true;  // it has not been looked at yet
  return std::any_of(space.modules.begin(), space.modules.end(), [&](const auto& entry) {
    auto wanted = requests_.find(entry.first);
    return wanted != requests_.end() && wanted->second.size() > entry.second.requests_done;
  });
}

Result<void> EngineImpl::arm_space(AddressSpace& space, ArmReport& report) {
  if (space.users.empty()) return {};
  space.changing++;
  auto armed = build_and_apply(space, report);
  space.changing--;
  space.refused = !armed.ok();
  return armed;
}

Result<void> EngineImpl::build_and_apply(AddressSpace& space, ArmReport& report) {
  auto start = Clock::now();
  pid_t pid = space.users.front()->pid;
  TRY(MemoryMap map, MemoryMap::read(pid));
  refresh_modules(space, pid, find_modules(pid, map, space.memory));
  SetupContext context{*tracer_, image_, geometry_, arena_fd_.get()};
  TRY_DO(map_arena(context, space));
  describe_modules(space, pid);

  std::vector<PatchedSite> sites;
  watch_linker(space, context, pid, sites);
  std::multimap<Address, Address> foundations;
  std::map<Address, std::pair<size_t, size_t>> outcomes_of;  // of a site: first outcome in the report, and how many
  for (auto& [path, loaded] : space.modules) {
    auto wanted = requests_.find(path);
    if (wanted == requests_.end() || wanted->second.size() == loaded.requests_done) continue;
    Module& module = loaded.module;
    if (module.goroutine == 0) module.goroutine = find_goroutine_offset(space, module);
    auto source = [&](uint64_t count, uint64_t room) { return region_for(context, space, module, count, room); };
    std::span<const SiteRequest> fresh = std::span(wanted->second).subspan(loaded.requests_done);
    auto placed = place_exits(space, pid, module, fresh);
    for (const SiteRequest& request : fresh) {
      if (request.goroutine_list != FileAddress()) module.goroutines = Address(request.goroutine_list.value + module.bias);
    }
    if (placed) {
      fresh = placed->sites;
      report.outcomes.insert(report.outcomes.end(), placed->refused.begin(), placed->refused.end());
    }
    auto stubs = [&](Region& region, std::span<const PunRange> ranges, Address target) {
      return place_stub(context, space, region, ranges, target);
    };
    TRY(BuiltSites built, build_sites(space, pid, module, fresh, source, stubs));
    loaded.requests_done = wanted->second.size();
    for (uint32_t id : switched_off_) {
      for (auto& region : space.clients[kOwnClient].regions) region->switch_site(id, false);
    }
    TRY_DO(guard(context, space, built));
    for (size_t i = 0; i < built.sites.size(); i++) {
      outcomes_of[built.sites[i].begin] = {report.outcomes.size() + built.first_outcome[i], built.outcome_count[i]};
    }
    sites.insert(sites.end(), built.sites.begin(), built.sites.end());
    foundations.merge(built.foundations);
    report.outcomes.insert(report.outcomes.end(), built.outcomes.begin(), built.outcomes.end());
  }
  if (sites.empty()) return {};
  report.prepare_ns += nanoseconds(Clock::now() - start);

  return apply_sites(space, std::move(sites), foundations, report, [&](Address begin) {
    auto found = outcomes_of.find(begin);
    if (found == outcomes_of.end()) return;
    for (size_t i = 0; i < found->second.second; i++) {
      SiteOutcome& outcome = report.outcomes[found->second.first + i];
      outcome.mechanism = Mechanism::kRefused;
      outcome.reason = "its text changed while it was being armed, or a goroutine stands in it; try again";
    }
  });
}

// In portions, so that the target never stands still for long. Sites with return probes come last: what an unwinder
// needs is armed before any return is pending. Short jumps come after what they lead to.
Result<void> EngineImpl::apply_sites(AddressSpace& space, std::vector<PatchedSite> sites,
                                     const std::multimap<Address, Address>& foundations, ArmReport& report,
                                     const std::function<void(Address)>& untouched) {
  constexpr size_t kPortion = 8192;
  auto turn = [&](const PatchedSite& site) { return 2 * site.returns + foundations.contains(site.begin); };
  std::sort(sites.begin(), sites.end(), [&](const PatchedSite& a, const PatchedSite& b) {
    return std::make_tuple(turn(a), a.begin) < std::make_tuple(turn(b), b.begin);
  });
  std::set<Address> missing;
  auto leave = [&](Address begin) {
    missing.insert(begin);
    untouched(begin);
  };
  auto lacks_foundation = [&](const PatchedSite& site) {
    auto [first, last] = foundations.equal_range(site.begin);
    return std::any_of(first, last, [&](const auto& pair) { return missing.contains(pair.second); });
  };
  for (size_t first = 0; first < sites.size();) {
    std::vector<PatchedSite> portion;
    size_t end = first;
    for (; end < sites.size() && end - first < kPortion && turn(sites[end]) == turn(sites[first]); end++) {
      if (lacks_foundation(sites[end])) {
        leave(sites[end].begin);
      } else {
        portion.push_back(sites[end]);
      }
    }
    TRY_DO(apply_portion(space, std::move(portion), report, leave));
    first = end;
  }
  return {};
}

// The only part for which the target stands still.
Result<void> EngineImpl::apply_portion(AddressSpace& space, std::vector<PatchedSite> sites, ArmReport& report,
                                       const std::function<void(Address)>& untouched) {
  std::vector<PatchedSite> merged;
  auto start = Clock::now();
  TRY_DO(tracer_->keep_still(space.users, options_.stop_patience_ms));
  std::set<Address> left_alone = find_interrupted(space, sites);
  std::erase_if(sites, [&](const PatchedSite& site) { return left_alone.contains(site.begin); });
  std::merge(space.sites.begin(), space.sites.end(), sites.begin(), sites.end(), std::back_inserter(merged),
             [](const PatchedSite& a, const PatchedSite& b) { return a.begin < b.begin; });
  space.sites = std::move(merged);
  // Before the text changes: if we are killed in between, the threads go on in trampolines, which do the same.
  for (Process* process : space.users) {
    for (auto& [tid, thread] : process->threads) {
      thread->pc_unchecked = thread->running;  // thread_stopped will see to it
      if (thread->running) continue;
      introduce_thread(space, *thread);
      move_program_counters(space, *thread,
                            [&](Address pc, bool restarting) { return pc_out_of_window(sites, pc, restarting); });
    }
  }
  write_patches(space.memory, sites, PatchDirection::kApply,
                [&](size_t index) { left_alone.insert(sites[index].begin); });
  count_semaphores(space.memory, sites, left_alone, PatchDirection::kApply);
  tracer_->let_go(space.users);
  uint64_t pause = nanoseconds(Clock::now() - start);
  report.pause_ns = std::max(report.pause_ns, pause);
  report.total_pause_ns += pause;
  for (Address begin : left_alone) untouched(begin);
  if (!left_alone.empty()) {
    std::erase_if(space.sites, [&](const PatchedSite& site) { return left_alone.contains(site.begin); });
  }
  return {};
}

void EngineImpl::switch_sites(std::span<const uint32_t> site_ids, bool on) {
  std::set<Region*> regions;
  for (auto& [pid, process] : tracer_->processes()) {
    if (!process->space) continue;
    for (auto& region : process->space->clients[kOwnClient].regions) regions.insert(region.get());
  }
  for (uint32_t id : site_ids) {
    if (on) {
      switched_off_.erase(id);
    } else {
      switched_off_.insert(id);
    }
    for (Region* region : regions) region->switch_site(id, on);
  }
}

// --- Removing ---

Result<void> EngineImpl::disarm() {
  requests_.clear();
  options_.resolve_module = nullptr;
  perform_works();
  Result<void> result;
  std::set<pid_t> seen;
  while (Process* process = tracer_->first_process_not_in(seen)) {
    pid_t pid = process->pid;
    seen.insert(pid);
    if (!process->space || !process->space->memory.is_open()) continue;
    std::shared_ptr<AddressSpace> space = process->space;
    auto removed = remove_all(*tracer_, *space, options_.stop_patience_ms);
    if (!removed.ok() && tracer_->find_process(pid)) {
      result = std::move(removed).error().within(fmt::format("process {}", pid));
    }
    perform_works();
  }
  return result;
}

Result<void> EngineImpl::detach() {
  auto disarmed = disarm();
  resume_all();
  std::set<pid_t> seen;
  while (Process* process = tracer_->first_process_not_in(seen)) {
    pid_t pid = process->pid;
    seen.insert(pid);
    auto still = tracer_->keep_still({process}, options_.stop_patience_ms);
    process = tracer_->find_process(pid);
    if (still.ok() && process) tracer_->release(*process);
    if (!still.ok() && disarmed.ok()) disarmed = std::move(still).error();
  }
  return disarmed;
}

// --- What happens to targets ---

Result<std::vector<Event>> EngineImpl::poll(int timeout_ms) {
  bool busy = !works_.empty() || !events_.empty();
  tracer_->pump(busy ? 0 : timeout_ms);
  perform_works();
  tracer_->forget_ended_threads();
  return std::exchange(events_, {});
}

void EngineImpl::note_trouble(pid_t pid, const Error& error) {
  note({.kind = Event::Kind::kTrouble,
        .pid = pid,
        .message = error.hint.empty() ? error.message : error.message + " (" + error.hint + ")"});
}

void EngineImpl::process_forked(Thread& parent, Process& child, bool shares_memory) {
  note({.kind = Event::Kind::kProcessStarted, .pid = child.pid, .parent = parent.process->pid});
  watch(ThreadChange::Kind::kProcessBorn, child.pid, child.pid);
  std::shared_ptr<AddressSpace> from = parent.process->space;
  if (!from) return;
  if (shares_memory) {
    child.space = from;
    from->users.push_back(&child);
    count_borrowers(*from);
    return;
  }
  auto memory = TargetMemory::open(child.pid);
  if (!memory.ok()) return note_trouble(child.pid, memory.error());
  auto space = std::make_shared<AddressSpace>();
  space->memory = std::move(memory).value();
  space->users = {&child};
  space->inherit(*from);
  child.space = space;
  // Its table of thread slots is empty, so nobody but us can finish the calls that its parent had pending; and we only
  // now, since what we know of the parent may be gone when there is time for more.
  write_module_map(*space);
  introduce_fork(*space, child.pid);
  note_seccomp_filter(*space, child.pid);
  ThreadRegisters registers;
  if (native_architecture().read_registers(parent.tid, registers).ok()) {
    resolve_pending_returns(*from, native_architecture().thread_pointer(registers), space->memory);
  }
  tracer_->hold(*child.threads.at(child.pid));
  works_.push_back({Work::kFork, child.pid, child.pid, from->changing > 0 || parent.pc_unchecked});
}

// Mostly a child is armed by being a copy of its parent. One that was copied while its parent was being armed is freed of
// what it has got, and armed as a new program is.
void EngineImpl::finish_fork(const Work& work) {
  Process* child = tracer_->find_process(work.pid);
  Thread* first = tracer_->find_thread(work.pid);
  if (child && first && tracer_->await_stop(*first).ok()) {
    std::shared_ptr<AddressSpace> space = child->space;
    bool anew = work.anew || !space->is_mapped();
    Event event{.kind = Event::Kind::kArmed, .pid = work.pid};
    auto arm = [&]() -> Result<void> {
      if (anew) TRY_DO(remove_all(*tracer_, *space, options_.stop_patience_ms));
      if (can_arm() && (anew || lacks_sites(*space))) TRY_DO(arm_space(*space, event.report));
      return {};
    };
    auto armed = arm();
    if (!event.report.outcomes.empty()) note(std::move(event));
    if (!armed.ok() && !has_ended(work.pid)) note_trouble(work.pid, armed.error());
  }
  release_hold(work.tid);
}

void EngineImpl::process_executed(Process& process) {
  if (waiting_.contains(process.pid)) process.threads.at(process.pid)->in_call = false;  // the exec was ours
  leave_space(process);
  process.space = std::make_shared<AddressSpace>();
  Thread& survivor = *process.threads.at(process.pid);
  survivor.introduced = false;
  survivor.parents_pointer = 0;
  process.space->users = {&process};
  tracer_->hold(*process.threads.at(process.pid));
  works_.push_back({Work::kExec, process.pid, process.pid});
}

void EngineImpl::finish_exec(const Work& work) {
  Process* process = tracer_->find_process(work.pid);
  if (process) {
    Event executed{.kind = Event::Kind::kProcessExecuted, .pid = work.pid};
    auto arm_anew = [&]() -> Result<void> {
      TRY(process->space->memory, TargetMemory::open(work.pid));
      watch(ThreadChange::Kind::kExecuted, work.pid, work.pid);
      TRY(auto present, modules(work.pid));
      for (const Module& module : present) {
        if (module.main_executable) executed.path = module.path;
      }
      if (!can_arm()) return {};
      std::shared_ptr<AddressSpace> space = process->space;
      if (is_32_bit(work.pid)) {
        space->refused = true;
        return Error{"a 32-bit program: it is not probed", ""};
      }
      return arm_space(*space, executed.report);
    };
    auto armed = arm_anew();
    if (lacks_file_rights(work.pid)) {
      note_trouble(work.pid, Error{executed.path + " is set-uid or set-gid, and runs without those rights while it is traced",
                                   "run spile as root"});
    }
    note(std::move(executed));
    if (!armed.ok() && !has_ended(work.pid)) note_trouble(work.pid, armed.error());
  }
  if (!waiting_.contains(work.pid)) release_hold(work.tid);
}

void EngineImpl::finish_libraries(const Work& work) {
  // If we are killed while it is at the signal's stop, the signal is delivered.
  if (Thread* thread = tracer_->find_thread(work.tid)) (void)tracer_->settle(*thread);
  Process* process = tracer_->find_process(work.pid);
  if (process && can_arm()) {
    Event event{.kind = Event::Kind::kArmed, .pid = work.pid};
    std::shared_ptr<AddressSpace> space = process->space;
    auto armed = arm_space(*space, event.report);
    if (!event.report.outcomes.empty()) note(std::move(event));
    if (!armed.ok() && !has_ended(work.pid)) note_trouble(work.pid, armed.error());
  }
  release_hold(work.tid);
}

void EngineImpl::perform_works() {
  while (!works_.empty()) {
    Work work = works_.front();
    works_.pop_front();
    switch (work.kind) {
      case Work::kExec:
        finish_exec(work);
        break;
      case Work::kFork:
        finish_fork(work);
        break;
      case Work::kLibraries:
        finish_libraries(work);
        break;
    }
  }
}

void EngineImpl::process_exited(Process& process, int status) {
  watch(ThreadChange::Kind::kProcessEnded, process.pid, process.pid);
  leave_space(process);
  waiting_.erase(process.pid);
  note({.kind = Event::Kind::kProcessExited, .pid = process.pid, .parent = process.parent, .status = status});
}

void EngineImpl::stranger_exited(pid_t pid, int status) {
  note({.kind = Event::Kind::kOtherExited, .pid = pid, .status = status});
}

void EngineImpl::leave_space(Process& process) {
  if (!process.space) return;
  std::erase(process.space->users, &process);
  count_borrowers(*process.space);
}

void EngineImpl::thread_born(Thread& parent, Thread& thread) {
  ThreadRegisters registers;
  if (native_architecture().read_registers(parent.tid, registers).ok()) {
    thread.parents_pointer = native_architecture().thread_pointer(registers);
  }
  // It inherits the filter of the thread that made it, which may be newer than our arming.
  if (thread.process->space) note_seccomp_filter(*thread.process->space, thread.tid);
  watch(ThreadChange::Kind::kThreadBorn, thread.process->pid, thread.tid);
}

// A load of traced memory in a handler has faulted: the handler goes on where its fix-up says, and the target's own
// handling of the signal never learns of it.
bool EngineImpl::redirect_fault(Thread& thread) {
  siginfo_t info;
  if (ptrace(PTRACE_GETSIGINFO, thread.tid, 0, &info) != 0 || info.si_code <= 0) return false;
  const Architecture& machine = native_architecture();
  ThreadRegisters registers;
  if (!machine.read_registers(thread.tid, registers).ok()) return false;
  Address pc = machine.pc(registers);
  for (auto& region : thread.process->space->clients[kOwnClient].regions) {
    if (!region->contains(pc)) continue;
    int64_t offset = pc - region->image();
    auto fixup = std::lower_bound(image_.fixups.begin(), image_.fixups.end(), offset,
                                  [](const abi::FaultFixup& a, int64_t value) { return a.fault_offset < value; });
    if (fixup == image_.fixups.end() || fixup->fault_offset != offset) return false;
    machine.set_pc(registers, region->image() + fixup->resume_offset);
    return machine.write_registers(thread.tid, registers).ok();
  }
  return false;
}

void EngineImpl::signal_arrived(Thread& thread) {
  AddressSpace* space = thread.process->space.get();
  if (!space || !space->has_code()) return;
  if (thread.signal == SIGSEGV || thread.signal == SIGBUS) {
    if (redirect_fault(thread)) thread.signal = 0;
  } else if (thread.signal == SIGTRAP) {
    ThreadRegisters registers;
    if (!native_architecture().read_registers(thread.tid, registers).ok()) return;
    Address pc = native_architecture().pc(registers);
    if (const PatchedSite* site = space->breakpoint_at(pc - 1)) {
      native_architecture().set_pc(registers, site->trampoline);
      if (native_architecture().write_registers(thread.tid, registers).ok()) thread.signal = 0;
      return;
    }
    if (space->linker_trap == Address() || pc != space->linker_trap + 1) return;
    thread.signal = 0;
    tracer_->hold(thread);
    works_.push_back({Work::kLibraries, thread.process->pid, thread.tid});
  }
}

// A call that the kernel makes again, because a stop of ours or a signal came in between, is one call.
void EngineImpl::system_call_stopped(Thread& thread) {
  const Architecture& machine = native_architecture();
  ThreadRegisters registers;
  if (!machine.read_registers(thread.tid, registers).ok()) return;
  AddressSpace* space = thread.process->space.get();
  if (space && space->in_code(machine.pc(registers))) return;  // a handler asks who runs
  ThreadChange change{.kind = ThreadChange::Kind::kSystemCallReturn, .pid = thread.process->pid, .tid = thread.tid};
  change.registers = machine.script_registers(registers);
  bool enters = machine.enters_system_call(thread.tid);
  if (enters) {
    change.kind = ThreadChange::Kind::kSystemCall;
    thread.in_call = true;
    if (std::exchange(thread.call_restarts, false)) return;
  } else if (!thread.in_call) {
    return;  // what it was in when it was attached or born
  } else if (machine.restarts_system_call(registers)) {
    thread.call_restarts = true;
    return;
  } else {
    thread.in_call = false;
  }
  options_.watch_threads(change);
}

void EngineImpl::thread_stopped(Thread& thread) {
  AddressSpace* space = thread.process->space.get();
  if (space) introduce_thread(*space, thread);
  if (!thread.pc_unchecked || !space) return;
  thread.pc_unchecked = false;
  move_program_counters(*space, thread,
                        [&](Address pc, bool restarting) { return pc_out_of_window(space->sites, pc, restarting); });
}

}  // namespace

// ORDER MECHANISM
const char* mechanism_name(Mechanism mechanism) {
  static constexpr const char* kNames[] = {"jump", "nop", "short jump", "punned jump", "int3", "refused"};
  return kNames[static_cast<size_t>(mechanism)];
}

size_t ArmReport::armed() const {
  return static_cast<size_t>(std::count_if(outcomes.begin(), outcomes.end(), [](const SiteOutcome& outcome) {
    return outcome.mechanism != Mechanism::kRefused;
  }));
}

Result<std::unique_ptr<Engine>> Engine::create(EngineOptions options) {
  auto engine = std::make_unique<EngineImpl>(std::move(options));
  TRY_DO(engine->start());
  return std::unique_ptr<Engine>(std::move(engine));
}

}  // namespace spile::engine
