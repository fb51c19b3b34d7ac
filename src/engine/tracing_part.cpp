// The part that traces. The engine's one readable page: what happens when. The parts: tracer (stops), arming (requests and sites),
// space_setup (mappings), site_builder (trampolines), text_patcher (text), dynamic_linker (libraries), call_watch and stopped_calls (system
// calls), removal (everything out again).

#include "engine/tracing_part.h"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <deque>
#include <set>
#include <tuple>

#include "abi/arena.h"
#include "abi/watched_calls.h"
#include "engine/arming.h"
#include "engine/calls/call_watch.h"
#include "engine/change/removal.h"
#include "engine/change/text_patcher.h"
#include "engine/process/call_restriction.h"
#include "engine/process/descendants.h"
#include "engine/process/memory_map.h"
#include "engine/process/refusal.h"
#include "engine/share/guest_host.h"
#include "engine/shown_faults.h"
#include "engine/space/address_space.h"
#include "engine/space/signal_actions.h"
#include "engine/space/space_calls.h"
#include "engine/space/space_setup.h"
#include "engine/space/thread_identities.h"
#include "engine/stopped_calls.h"
#include "engine/trace/launcher.h"
#include "engine/trace/tracer.h"

namespace spile::engine {
namespace {

// Something that a stop asks for and that needs more than the stopped thread's registers: done by poll, while a hold
// keeps the thread.
struct Work {
  enum Kind { kExec, kFork, kLibraries, kWatchedCall, kActions, kResetAction, kSharers, kTracing, kSlots } kind;
  pid_t pid;  // of the process (kFork: of the child)
  pid_t tid;  // the held thread
  bool anew = false;  // kFork: its copy of what we put into its parent may be part of it
  int signal = 0;     // kResetAction
  abi::Registers call{};   // kWatchedCall
  TracingTrap::Call tracing = {};  // kTracing
  bool at_call = false;    // kWatchedCall: it stands at the call itself rather than in its handler
  ClientId client = 0;     // kSlots
};

class TracingPartImpl final : public TracingPart, TraceListener, GuestService {
 public:
  explicit TracingPartImpl(EngineOptions options) : options_(std::move(options)) {}
  ~TracingPartImpl() override;
  Result<void> start();

  Result<void> use_image(const abi::CodeImage& image, const ArenaGeometry& geometry, UniqueFd arena) override;
  Result<pid_t> launch(const LaunchOptions& options) override;
  Result<void> attach(pid_t pid) override;
  Descendants attach_descendants() override;
  void resume_all() override;
  void probe_system_calls(const SystemCallHandlers& handlers) override {
    calls_->probe(handlers);
    own_->probes_calls = true;
  }
  std::vector<pid_t> processes() const override;
  Result<std::vector<Module>> modules(pid_t pid) override;
  Result<ArmReport> arm(std::span<const SiteRequest> sites) override;
  void switch_sites(std::span<const uint32_t> site_ids, bool on) override;
  Result<void> disarm() override;
  Result<void> detach() override;
  Result<void> suspend() override;
  int wait_fd() const override { return host_ ? host_->wait_fd() : tracer_->wait_fd(); }
  Result<std::vector<Event>> poll(int timeout_ms) override;

 private:
  Client& add_guest() override { return arming_->add_client(); }
  Result<std::vector<pid_t>> follow(Client& guest, pid_t pid) override;
  Result<ArmReport> arm_for(Client& client, std::span<const SiteRequest> sites) override;
  void switch_for(Client& client, std::span<const uint32_t> site_ids, bool on) override {
    arming_->switch_sites(client, site_ids, on);
  }
  Result<void> drop_guest(Client& guest) override;
  void start_hosting();

  void process_forked(Thread& parent, Process& child, const ProcessStatus& status, bool shares_memory) override;
  void process_executed(Process& process) override;
  void process_exited(Process& process, int status) override;
  void stranger_exited(pid_t pid, int status) override;
  void signal_arrived(Thread& thread) override;
  void thread_stopped(Thread& thread) override;
  void thread_born(Thread& parent, Thread& thread, const ProcessStatus& status) override;
  void thread_ending(Thread& thread) override;
  void thread_ended(Thread& thread) override {
    if (thread.process->space) bury_thread(*thread.process->space, thread);
    watch(ThreadChange::Kind::kThreadEnded, thread.process->pid, thread.tid);
  }
  void system_call_stopped(Thread& thread) override;
  void shown_fault_ends(Thread& thread) override {
    if (thread.process->space) return_from_shown_fault(*thread.process->space, thread);
  }
  void watch(ThreadChange::Kind kind, pid_t pid, pid_t tid);

  Result<void> change_all(const std::function<Result<void>(AddressSpace&)>& change);
  Result<void> let_all_go();
  Result<void> disarm_all(AfterRemoval after);
  void perform_works(size_t most = SIZE_MAX);
  bool join_space(Process& process);
  Result<void> attach_now(pid_t pid);
  Result<void> prepare_space(AddressSpace& space, pid_t pid);
  void leave_space(Process& process);
  void finish_fork(const Work& work);
  void finish_exec(const Work& work);
  void finish_libraries(const Work& work);
  void finish_watched_call(const Work& work);
  void finish_sharers(const Work& work);
  void finish_slots(const Work& work);
  void finish_signal(const Work& work);
  void finish_tracing(const Work& work);
  void hand_over(pid_t pid, const std::string& reason);
  void look_after_handed_over();
  void mend(Thread& thread, int signal);
  void release_hold(pid_t tid);
  void hold_for(Work work, Thread& thread);
  static bool move_on(Thread& thread, ThreadRegisters& registers, Address pc, siginfo_t& info);
  std::optional<ClientId> redirect_fault(Thread& thread);
  void signal_is_ours(Thread& thread);
  Result<ArmReport> arm_client(Client& client);

  void note(Event event) { events_.push_back(std::move(event)); }
  void tell(const Client* client, Event event);
  void tell_armed(pid_t pid, Reports& reports);

  EngineOptions options_;
  std::unique_ptr<Tracer> tracer_;
  std::unique_ptr<CallWatch> calls_;
  std::unique_ptr<Arming> arming_;
  Client* own_ = nullptr;
  std::unique_ptr<GuestHost> host_;
  std::set<pid_t> waiting_;                                   // launched, until resume_all
  std::set<pid_t> handed_over_;                               // traced by something else now, and not our children
  Tracer::Clock::time_point looked_after_;                    // when they were
  std::deque<Work> works_;
  std::vector<Event> events_;
};

TracingPartImpl::~TracingPartImpl() {
  if (tracer_) (void)detach();
  tracer_.reset();
}

Result<void> TracingPartImpl::start() {
  TRY(tracer_, Tracer::create(*this, {.ends = static_cast<bool>(options_.watch_threads), .system_calls = options_.watch_system_calls}));
  tracer_->be_patient({options_.sleep_patience_ms, options_.keep_waiting});
  auto tell_event = [this](const Client* client, Event event) { tell(client, std::move(event)); };
  calls_ = std::make_unique<CallWatch>(*tracer_, options_.stop_patience_ms, options_.call_probes,
                                       [this](Event event) { tell(own_, std::move(event)); });
  arming_ = std::make_unique<Arming>(*tracer_, *calls_, options_.stop_patience_ms, tell_event);
  own_ = &arming_->add_client();
  own_->resolve_module = options_.resolve_module;
  own_->describe_modules = options_.describe_modules;
  own_->watch_threads = options_.watch_threads;
  own_->owns_stacks = options_.owns_stacks;
  own_->return_readers = options_.return_readers;
  return {};
}

Result<void> TracingPartImpl::use_image(const abi::CodeImage& image, const ArenaGeometry& geometry, UniqueFd arena) {
  CHECK(own_->image.bytes.empty());
  own_->image = image;
  own_->geometry = geometry;
  own_->arena_fd = std::move(arena);
  return {};
}

// --- Guests ---

// Where it can't be done, there are none: the name is taken by somebody.
void TracingPartImpl::start_hosting() {
  if (host_) return;
  auto started = GuestHost::start(*this);
  if (!started.ok()) return;
  host_ = std::move(started).value();
  host_->watch(tracer_->wait_fd());
}

Result<std::vector<pid_t>> TracingPartImpl::follow(Client& guest, pid_t pid) {
  perform_works();
  if (!tracer_->find_process(pid)) return Error{fmt::format("process {} has ended", pid), ""};
  if (guest.watch_threads) tracer_->tell_ends(options_.stop_patience_ms);
  if (!tracer_->find_process(pid)) return Error{fmt::format("process {} has ended", pid), ""};
  guest.follows.insert(pid);
  return std::vector<pid_t>{pid};
}

Result<ArmReport> TracingPartImpl::arm_for(Client& client, std::span<const SiteRequest> sites) {
  if (!client.arena_fd) return Error{"arm: no image was set", ""};
  perform_works();
  TRY_DO(arming_->add_requests(client, sites));
  return arm_client(client);
}

Result<void> TracingPartImpl::drop_guest(Client& guest) {
  guest.requests.clear();
  guest.resolve_module = nullptr;
  guest.describe_modules = nullptr;
  guest.watch_threads = nullptr;
  perform_works();
  auto result = change_all([&](AddressSpace& space) { return arming_->drop_client(space, guest); });
  guest.follows.clear();
  // What it still has somewhere is its.
  if (result.ok()) arming_->forget_client(guest.id);
  return result;
}

Result<pid_t> TracingPartImpl::launch(const LaunchOptions& options) {
  TRY(Launcher launcher, Launcher::start(options));
  pid_t pid = launcher.pid();
  start_hosting();
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

// That of a traced process in whose memory it runs: not its parent's always (CLONE_PARENT). False: there is none.
bool TracingPartImpl::join_space(Process& process) {
  for (auto& [pid, other] : tracer_->processes()) {
    if (other.get() == &process || !other->space || !share_memory(process.pid, pid, 0)) continue;
    process.space = other->space;
    process.space->users.push_back(&process);
    count_borrowers(*process.space);
    if (calls_->sharers_changed(*process.space)) works_.push_back({Work::kSharers, process.pid, 0});
    return true;
  }
  return false;
}

Descendants TracingPartImpl::attach_descendants() {
  return attach_to_descendants({
      .traced = [this] {
        tracer_->pump(0);
        perform_works();
        return processes();
      },
      .is_traced = [this](pid_t pid) { return tracer_->find_process(pid) || tracer_of(pid) == gettid(); },
      .attach = [this](pid_t pid) { return attach(pid); },
  });
}

Result<void> TracingPartImpl::attach(pid_t pid) {
  // Whoever finds that we trace it finds somebody who serves.
  start_hosting();
  auto deadline = Tracer::Clock::now() + std::chrono::seconds(2);
  for (;;) {
    ProgramRun before = ProgramRun::of(pid);
    auto attached = attach_now(pid);
    if (attached.ok() || tracer_->find_process(pid) || Tracer::Clock::now() > deadline || !before.has_changed(pid)) return attached;
    tracer_->pump(2);
  }
}

Result<void> TracingPartImpl::attach_now(pid_t pid) {
  TRY(Process * process, tracer_->seize(pid));
  if (process->space) return {};  // it has executed a program meanwhile
  if (join_space(*process)) {
    for (Process* sharer : tracer_->seize_sharers(*process)) join_space(*sharer);
    return {};
  }
  auto space = std::make_shared<AddressSpace>();
  space->users = {process};
  process->space = space;
  for (Process* sharer : tracer_->seize_sharers(*process)) {
    sharer->space = space;
    space->users.push_back(sharer);
  }
  // Where all stand we know whether it executes another program, which is armed by the work that is queued then.
  TRY_DO(tracer_->keep_still(space->users, options_.stop_patience_ms));
  auto has_executed = [&] {
    Process* now = tracer_->find_process(pid);
    return now && now->space != space;
  };
  if (has_executed()) return tracer_->let_go(space->users), Result<void>();
  auto prepared = prepare_space(*space, pid);
  if (prepared.ok() || has_executed()) return {};
  if (tracer_->keep_still(space->users, options_.stop_patience_ms).ok()) {
    if (has_executed()) return tracer_->let_go(space->users), Result<void>();
    for (Process* user : std::vector(space->users)) tracer_->release(*user);
  }
  return std::move(prepared).error().within(fmt::format("attach {}", pid));
}

// REQUIRES: it is kept still. It goes on.
Result<void> TracingPartImpl::prepare_space(AddressSpace& space, pid_t pid) {
  auto open = [&]() -> Result<AddressSpace> {
    TRY(space.memory, TargetMemory::open(pid));
    return find_remains(pid);
  };
  auto remains = open();
  // If the process can call ptrace(2), it must not run before the trap on that call is in place: the call would fail.
  bool stands = remains.ok() && remains->empty() && arming_->watches_tracing(space);
  if (!stands) tracer_->let_go(space.users);
  if (!remains.ok()) return std::move(remains).error();
  // A killed controller's trace is found before ours is laid.
  if (!remains->empty()) {
    space.inherit(*remains);
    space.changing++;
    auto removed = remove_all(*tracer_, space, options_.stop_patience_ms);
    space.changing--;
    TRY_DO(removed);
  }
  Reports reports;
  auto armed = arming_->can_arm(space) ? arming_->arm_space(space, reports) : Result<void>();
  if (stands) tracer_->let_go(space.users);
  TRY_DO(armed);
  tell_armed(pid, reports);
  return {};
}

void TracingPartImpl::resume_all() {
  for (pid_t pid : std::exchange(waiting_, {})) release_hold(pid);
}

void TracingPartImpl::hold_for(Work work, Thread& thread) {
  tracer_->hold(thread);
  works_.push_back(work);
}

void TracingPartImpl::release_hold(pid_t tid) {
  if (Thread* thread = tracer_->find_thread(tid); thread && thread->holds > 0) tracer_->unhold(*thread);
}

std::vector<pid_t> TracingPartImpl::processes() const {
  std::vector<pid_t> pids;
  for (auto& [pid, process] : tracer_->processes()) pids.push_back(pid);
  return pids;
}

Result<std::vector<Module>> TracingPartImpl::modules(pid_t pid) {
  Process* process = tracer_->find_process(pid);
  if (!process || !process->space) return Error{fmt::format("process {} is not traced", pid), ""};
  TRY(MemoryMap map, MemoryMap::read(pid));
  return find_modules(pid, map, process->space->memory);
}

// --- Arming ---

Result<ArmReport> TracingPartImpl::arm(std::span<const SiteRequest> sites) {
  return arm_for(*own_, sites);
}

// In all processes that the client follows. Others may have something to arm there too: late libraries.
Result<ArmReport> TracingPartImpl::arm_client(Client& client) {
  ArmReport report;
  std::optional<Error> failure;
  std::set<AddressSpace*> done;
  std::vector<pid_t> pids = processes();
  for (pid_t pid : pids) {
    Process* process = tracer_->find_process(pid);
    // A program that has just been exec'd is armed by the work that is queued for it.
    if (!process || !process->space->memory.is_open() || !done.insert(process->space.get()).second) continue;
    std::shared_ptr<AddressSpace> space = process->space;
    if (!arming_->follows(client, *space)) continue;
    Reports reports;
    auto armed = arming_->arm_space(*space, reports);
    // A process that ended meanwhile is no failure of arming. Nor is one that executes another program: that one is armed
    // by the work that is queued for it.
    if (arming_->has_left(*space, pid)) continue;
    ArmReport mine = std::move(reports[client.id]);
    reports.erase(client.id);
    tell_armed(pid, reports);
    report.outcomes.insert(report.outcomes.end(), mine.outcomes.begin(), mine.outcomes.end());
    report.prepare_ns += mine.prepare_ns;
    report.pause_ns = std::max(report.pause_ns, mine.pause_ns);
    report.total_pause_ns += mine.total_pause_ns;
    if (!armed.ok() && !arming_->is_leaving(*space, pid)) {
      arming_->note_trouble(pid, armed.error(), &client);
      failure = std::move(armed).error();
    }
  }
  if (failure && report.armed() == 0) return *failure;
  return report;
}

void TracingPartImpl::switch_sites(std::span<const uint32_t> site_ids, bool on) { arming_->switch_sites(*own_, site_ids, on); }

// --- Removing ---

Result<void> TracingPartImpl::disarm() { return disarm_all(AfterRemoval::kGoOn); }

Result<void> TracingPartImpl::disarm_all(AfterRemoval after) {
  own_->requests.clear();
  own_->resolve_module = nullptr;
  own_->probes_calls = false;
  perform_works();
  return change_all([&](AddressSpace& space) { return remove_all(*tracer_, space, options_.stop_patience_ms, after); });
}

// What has ended meanwhile needs no change. The last of several errors.
Result<void> TracingPartImpl::change_all(const std::function<Result<void>(AddressSpace&)>& change) {
  Result<void> result;
  pid_t left_behind = 0;
  uint64_t seen = 0;
  while (Process* process = tracer_->next_process(seen)) {
    pid_t pid = process->pid;
    seen = process->serial;
    if (!process->space || !process->space->memory.is_open()) continue;
    std::shared_ptr<AddressSpace> space = process->space;
    auto changed = change(*space);
    if (!changed.ok() && !arming_->is_leaving(*space, pid)) {
      result = std::move(changed).error().within(fmt::format("process {}", pid));
      left_behind = pid;
    }
    perform_works();
  }
  if (result.ok()) return result;
  return Error{result.error().message,
               fmt::format("what is left in it does nothing; later this takes it out: spile -x {} -e 'probe process.begin {{ exit() }}'", left_behind)};
}

Result<void> TracingPartImpl::suspend() {
  auto gone = let_all_go();
  // Modules are asked about anew, as what was armed for them is forgotten with the rest.
  own_->resolve_module = options_.resolve_module;
  own_->probes_calls = calls_->is_on();
  own_->resolved.clear();
  // What could not be let go at once (a thread waits for its vfork child) is at its next stop, for which we must be there.
  auto deadline = Tracer::Clock::now() + std::chrono::milliseconds(options_.stop_patience_ms);
  while (!tracer_->all_released() && Tracer::Clock::now() < deadline) tracer_->pump(10);
  if (gone.ok() && !tracer_->all_released()) return Error{"a thread waits in the kernel, and can't be let go now", "try again later"};
  return gone;
}

Result<void> TracingPartImpl::detach() { return let_all_go(); }

Result<void> TracingPartImpl::let_all_go() {
  if (host_) host_->tell_ending();
  arming_->set_leaving(true);
  auto disarmed = disarm_all(AfterRemoval::kRelease);
  resume_all();
  uint64_t seen = 0;
  while (Process* process = tracer_->next_process(seen)) {
    pid_t pid = process->pid;
    seen = process->serial;
    auto still = tracer_->keep_still({process}, options_.stop_patience_ms);
    process = tracer_->find_process(pid);
    if (still.ok() && process) tracer_->release(*process);
    // A process that ends while we leave it is left.
    if (!still.ok() && process && disarmed.ok()) disarmed = std::move(still).error();
  }
  // Their arenas are let go first: guests see the end of the connection, and go on by themselves.
  arming_->forget_guests();
  host_.reset();
  arming_->set_leaving(false);
  return disarmed;
}

// --- What happens to targets ---

Result<std::vector<Event>> TracingPartImpl::poll(int timeout_ms) {
  bool busy = !works_.empty() || !events_.empty();
  if (host_ && !busy && timeout_ms != 0) {
    pollfd wait{host_->wait_fd(), POLLIN, 0};
    ::poll(&wait, 1, timeout_ms);
  }
  tracer_->pump(busy || host_ ? 0 : timeout_ms);
  // A busy program has always more: its are done, and the caller is heard again.
  perform_works(works_.size());
  if (host_) host_->serve();
  look_after_handed_over();
  tracer_->forget_ended_threads();
  return std::exchange(events_, {});
}

// Our own client hears of all that is not for a guest alone; guests, of the processes that they follow.
void TracingPartImpl::tell(const Client* client, Event event) {
  if (client && client != own_) {
    if (host_) host_->tell(*client, event);
    return;
  }
  for (auto& [id, guest] : arming_->clients()) {
    bool concerned = guest->follows.contains(event.pid) || (event.parent != 0 && guest->follows.contains(event.parent));
    if (!client && host_ && concerned) host_->tell(*guest, event);
  }
  note(std::move(event));
}

void TracingPartImpl::watch(ThreadChange::Kind kind, pid_t pid, pid_t tid) {
  for (auto& [id, client] : arming_->clients()) {
    if (!client->watch_threads || (client.get() != own_ && !client->follows.contains(pid))) continue;
    client->watch_threads({.kind = kind, .pid = pid, .tid = tid});
  }
}

void TracingPartImpl::tell_armed(pid_t pid, Reports& reports) {
  for (auto& [id, report] : reports) {
    if (report.outcomes.empty()) continue;
    tell(arming_->find_client(id), {.kind = Event::Kind::kArmed, .pid = pid, .report = std::move(report)});
  }
}

void TracingPartImpl::process_forked(Thread& parent, Process& child, const ProcessStatus& status, bool shares_memory) {
  tell(nullptr, {.kind = Event::Kind::kProcessStarted, .pid = child.pid, .parent = parent.process->pid});
  for (auto& [id, guest] : arming_->clients()) {
    if (guest->follows.contains(parent.process->pid)) guest->follows.insert(child.pid);
  }
  watch(ThreadChange::Kind::kProcessBorn, child.pid, child.pid);
  child.gained_rights = parent.process->gained_rights;
  std::shared_ptr<AddressSpace> from = parent.process->space;
  if (!from) return;
  child.actions = parent.process->actions;
  if (shares_memory) {
    child.space = from;
    from->users.push_back(&child);
    count_borrowers(*from);
    if (calls_->sharers_changed(*from)) hold_for({Work::kSharers, child.pid, child.pid}, *child.threads.at(child.pid));
    return;
  }
  auto memory = TargetMemory::open(child.pid);
  if (!memory.ok()) return arming_->note_trouble(child.pid, memory.error());
  auto space = std::make_shared<AddressSpace>();
  space->memory = std::move(memory).value();
  space->users = {&child};
  space->inherit(*from);
  child.space = space;
  child.judged = parent.process->judged;
  // Its table of thread slots is empty, so nobody but us can finish the calls that its parent had pending; and we only
  // now, since what we know of the parent may be gone when there is time for more.
  arming_->write_module_maps(*space);
  introduce_fork(*space, child.pid);
  note_seccomp_filter(*space, status);
  calls_->begin_child(*space, child);
  ThreadRegisters registers;
  if (native_architecture().read_registers(parent.tid, registers).ok()) {
    resolve_pending_returns(*from, native_architecture().thread_pointer(registers), space->memory);
  }
  tracer_->hold(*child.threads.at(child.pid));
  works_.push_back({Work::kFork, child.pid, child.pid, from->changing > 0 || parent.pc_unchecked});
}

// Mostly a child is armed by being a copy of its parent. One that was copied while its parent was being armed is freed of
// what it has got, and armed as a new program is.
void TracingPartImpl::finish_fork(const Work& work) {
  Process* child = tracer_->find_process(work.pid);
  Thread* first = tracer_->find_thread(work.pid);
  if (child && first && tracer_->await_stop(*first).ok()) {
    std::shared_ptr<AddressSpace> space = child->space;
    for (auto& [id, client] : space->clients) (void)measure_arena(*space, client);
    bool anew = work.anew || !space->is_mapped();
    if (anew) {
      child->stops_at_calls = true;
      space->calls_gap = kNotArmed;
    }
    Reports reports;
    auto arm = [&]() -> Result<void> {
      if (anew) TRY_DO(remove_all(*tracer_, *space, options_.stop_patience_ms));
      if (anew ? arming_->can_arm(*space) : arming_->lacks_sites(*space)) TRY_DO(arming_->arm_space(*space, reports));
      return {};
    };
    auto armed = arm();
    tell_armed(work.pid, reports);
    arming_->note_failure(*space, work.pid, armed);
  }
  release_hold(work.tid);
}

void TracingPartImpl::process_executed(Process& process) {
  bool ours = waiting_.contains(process.pid);
  bool told_by_handler = !std::exchange(process.stops_at_calls, true);  // one that is no more
  if (process.space) arming_->vacate_slots(*process.space, process.pid);
  leave_space(process);
  process.space = std::make_shared<AddressSpace>();
  Thread& survivor = *process.threads.at(process.pid);
  survivor.introduced = false;
  if (ours || told_by_handler) survivor.in_call = told_by_handler && !ours;
  process.actions = {};
  process.space->call_restriction = process.judged;
  survivor.parents_pointer = 0;
  survivor.interrupted.clear();
  survivor.shown_faults.clear();
  survivor.left_for = Address();
  process.space->users = {&process};
  tracer_->hold(*process.threads.at(process.pid));
  works_.push_back({Work::kExec, process.pid, process.pid});
}

void TracingPartImpl::finish_exec(const Work& work) {
  Process* process = tracer_->find_process(work.pid);
  if (process) {
    Event executed{.kind = Event::Kind::kProcessExecuted, .pid = work.pid};
    Reports reports;
    std::shared_ptr<AddressSpace> space = process->space;
    auto arm_anew = [&]() -> Result<void> {
      TRY(space->memory, TargetMemory::open(work.pid));
      watch(ThreadChange::Kind::kExecuted, work.pid, work.pid);
      TRY(auto present, modules(work.pid));
      for (const Module& module : present) {
        if (module.main_executable) executed.path = module.path;
      }
      // Other processes that have the arena mapped could take it over.
      bool gains = !waiting_.contains(work.pid) && has_gained_rights(work.pid);
      process->gained_rights |= gains;
      space->refused = process->gained_rights;
      if (!arming_->can_arm(*space)) return {};
      if (gains) return Error{executed.path + " has rights of its own (set-uid, set-gid or capabilities): neither it nor what it starts is probed", ""};
      if (space->refused) return {};
      if (is_32_bit(work.pid)) {
        space->refused = true;
        return Error{"a 32-bit program: it is not probed", ""};
      }
      return arming_->arm_space(*space, reports);
    };
    auto armed = arm_anew();
    if (lacks_file_rights(work.pid)) {
      arming_->note_trouble(work.pid, Error{executed.path + " is set-uid or set-gid, and runs without those rights while it is traced",
                                            "run spile as root"});
    }
    executed.report = std::exchange(reports[kOwnClient], {});
    tell(nullptr, std::move(executed));
    tell_armed(work.pid, reports);
    arming_->note_failure(*space, work.pid, armed);
  }
  if (!waiting_.contains(work.pid)) release_hold(work.tid);
}

void TracingPartImpl::finish_libraries(const Work& work) {
  // If we are killed while it is at the signal's stop, the signal is delivered.
  if (Thread* thread = tracer_->find_thread(work.tid)) {
    (void)tracer_->settle(*thread);
    if (should_mend_action(*thread, SIGTRAP)) mend(*thread, SIGTRAP);
  }
  Process* process = tracer_->find_process(work.pid);
  if (process && arming_->can_arm(*process->space)) {
    Reports reports;
    std::shared_ptr<AddressSpace> space = process->space;
    auto armed = arming_->arm_space(*space, reports);
    tell_armed(work.pid, reports);
    arming_->note_failure(*space, work.pid, armed);
  }
  release_hold(work.tid);
}

// The thread is about to trace, or to be traced.
void TracingPartImpl::finish_tracing(const Work& work) {
  if (Thread* thread = tracer_->find_thread(work.tid)) {
    (void)tracer_->settle(*thread);
    if (should_mend_action(*thread, SIGTRAP)) mend(*thread, SIGTRAP);
  }
  if (Thread* thread = tracer_->find_thread(work.tid)) {
    TraceAttempt attempt = read_attempt(*tracer_, *thread, work.tracing);
    if (attempt.whom != 0) hand_over(attempt.whom, attempt.reason);
  }
  release_hold(work.tid);
}

// One that runs in the memory of others (vfork) leaves it as it is, and soon runs another program.
void TracingPartImpl::hand_over(pid_t pid, const std::string& reason) {
  Process* process = tracer_->find_process(pid);
  if (!process) return;
  std::shared_ptr<AddressSpace> space = process->space;
  if (space && space->users.size() == 1 && space->memory.is_open()) {
    space->changing++;
    auto removed = remove_all(*tracer_, *space, options_.stop_patience_ms);
    space->changing--;
    arming_->note_failure(*space, pid, removed);
  }
  process = tracer_->find_process(pid);
  if (!process) return;
  auto still = tracer_->keep_still({process}, options_.stop_patience_ms);
  process = tracer_->find_process(pid);
  if (!process) return;
  if (!still.ok()) return arming_->note_trouble(pid, still.error());
  if (!process->launched) handed_over_.insert(pid);
  tell(nullptr, {.kind = Event::Kind::kReleased, .pid = pid, .message = reason});
  leave_space(*process);
  waiting_.erase(pid);
  tracer_->release(*process);
  auto deadline = Tracer::Clock::now() + std::chrono::milliseconds(options_.stop_patience_ms);
  while (!tracer_->all_released() && Tracer::Clock::now() < deadline) tracer_->pump(5);
}

// Nobody reports their ends to us.
void TracingPartImpl::look_after_handed_over() {
  constexpr std::chrono::milliseconds kOften(50);
  if (handed_over_.empty() || Tracer::Clock::now() - looked_after_ < kOften) return;
  looked_after_ = Tracer::Clock::now();
  std::erase_if(handed_over_, [&](pid_t pid) {
    std::string state = process_status(pid, "State");
    if (!state.empty() && state[0] != 'Z' && state[0] != 'X') return false;
    tell(nullptr, {.kind = Event::Kind::kProcessExited, .pid = pid});
    for (auto& [id, guest] : arming_->clients()) guest->follows.erase(pid);
    return true;
  });
}

void TracingPartImpl::finish_signal(const Work& work) {
  Thread* thread = tracer_->find_thread(work.tid);
  if (thread && work.kind == Work::kResetAction) mend(*thread, work.signal);
  // It is newly born, and has not come to its first stop perhaps.
  if (thread && work.kind == Work::kActions && (!thread->running || tracer_->await_stop(*thread).ok())) {
    // Another birth may have been the occasion since.
    bool still = should_learn_actions(*thread->process, ProcessStatus::read(work.tid));
    if (still) (void)learn_signal_actions(*tracer_, *thread->process, *thread);
  }
  release_hold(work.tid);
}

void TracingPartImpl::mend(Thread& thread, int signal) {
  pid_t pid = thread.process->pid;
  std::shared_ptr<AddressSpace> space = thread.process->space;
  arming_->note_failure(*space, pid, mend_signal_action(*tracer_, thread, signal));
}

// The thread stands before a call that makes memory executable, or after which it matters where calls come from.
void TracingPartImpl::finish_watched_call(const Work& work) {
  Process* process = tracer_->find_process(work.pid);
  if (process && process->space) {
    std::shared_ptr<AddressSpace> space = process->space;
    bool in_process = space->calls_gap.empty();
    std::string restriction = call_restriction_by(space->memory, work.call);
    Result<void> changed;
    if (!restriction.empty()) {
      bool for_good = abi::added_filter(work.call.site_id, work.call) != 0;  // also for what it executes
      for (Process* user : space->users) user->judged = for_good ? restriction : user->judged;
      space->call_restriction = restriction;
    }
    if (in_process && (!restriction.empty() || abi::adds_executable_memory(work.call.site_id, work.call))) {
      changed = calls_->trace(*space, restriction.empty() ? "it makes memory executable" : restriction);
      if (Thread* thread = tracer_->find_thread(work.tid)) thread->call_is_told = true;
    }
    if (changed.ok() && !restriction.empty()) changed = arming_->leave_calls(*space, work.at_call ? 0 : work.tid);
    arming_->note_failure(*space, work.pid, changed, own_);
  }
  release_hold(work.tid);
}

void TracingPartImpl::finish_sharers(const Work& work) {
  if (Process* process = tracer_->find_process(work.pid); process && process->space) {
    std::shared_ptr<AddressSpace> space = process->space;
    std::vector<SiteOutcome> none;
    calls_->settle(*space, none);
  }
  if (work.tid != 0) release_hold(work.tid);
}

void TracingPartImpl::finish_slots(const Work& work) {
  if (Process* process = tracer_->find_process(work.pid); process && process->space) {
    std::shared_ptr<AddressSpace> space = process->space;
    arming_->add_slots(*space, work.pid, work.client);
  }
  release_hold(work.tid);
}

void TracingPartImpl::perform_works(size_t most) {
  for (; most > 0 && !works_.empty(); most--) {
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
      case Work::kWatchedCall:
        finish_watched_call(work);
        break;
      case Work::kSharers:
        finish_sharers(work);
        break;
      case Work::kTracing:
        finish_tracing(work);
        break;
      case Work::kSlots:
        finish_slots(work);
        break;
      case Work::kActions:
      case Work::kResetAction:
        finish_signal(work);
        break;
    }
  }
}

void TracingPartImpl::process_exited(Process& process, int status) {
  watch(ThreadChange::Kind::kProcessEnded, process.pid, process.pid);
  leave_space(process);
  waiting_.erase(process.pid);
  tell(nullptr, {.kind = Event::Kind::kProcessExited, .pid = process.pid, .parent = process.parent, .status = status});
  for (auto& [id, guest] : arming_->clients()) guest->follows.erase(process.pid);
}

void TracingPartImpl::stranger_exited(pid_t pid, int status) {
  note({.kind = Event::Kind::kOtherExited, .pid = pid, .status = status});
}

void TracingPartImpl::leave_space(Process& process) {
  if (!process.space) return;
  AddressSpace& space = *process.space;
  std::erase(space.users, &process);
  count_borrowers(space);
  if (!space.users.empty() && calls_->sharers_changed(space)) works_.push_back({Work::kSharers, pid_of(space), 0});
}

void TracingPartImpl::thread_born(Thread& parent, Thread& thread, const ProcessStatus& status) {
  ThreadRegisters registers;
  if (native_architecture().read_registers(parent.tid, registers).ok()) {
    thread.parents_pointer = native_architecture().thread_pointer(registers);
  }
  // It inherits the filter of the thread that made it, which may be newer than our arming.
  if (thread.process->space) note_seccomp_filter(*thread.process->space, status);
  if (arming_->may_fault() && should_learn_actions(*thread.process, status)) {
    hold_for({.kind = Work::kActions, .pid = thread.process->pid, .tid = thread.tid}, thread);
  }
  watch(ThreadChange::Kind::kThreadBorn, thread.process->pid, thread.tid);
}

void TracingPartImpl::thread_ending(Thread& thread) {
  const AddressSpace* space = thread.process->space.get();
  if (auto call = space ? calls_->last_call(*space, thread) : std::nullopt) {
    options_.watch_threads({.kind = ThreadChange::Kind::kSystemCall, .pid = thread.process->pid, .tid = thread.tid, .registers = *call});
  }
  watch(ThreadChange::Kind::kThreadEnding, thread.process->pid, thread.tid);
}

// At a signal of ours. If we are killed before the thread goes on without it, it is delivered: the handler finds it marked.
bool TracingPartImpl::move_on(Thread& thread, ThreadRegisters& registers, Address pc, siginfo_t& info) {
  info.si_errno = kMovedOn;
  if (ptrace(PTRACE_SETSIGINFO, thread.tid, 0, &info) != 0) return false;
  native_architecture().set_pc(registers, pc);
  return native_architecture().write_registers(thread.tid, registers).ok();
}

// A load of traced memory in a handler has faulted: the handler goes on where its fix-up says, and the target's own
// handling of the signal never learns of it.
std::optional<ClientId> TracingPartImpl::redirect_fault(Thread& thread) {
  siginfo_t info;
  if (ptrace(PTRACE_GETSIGINFO, thread.tid, 0, &info) != 0 || info.si_code <= 0) return {};
  const Architecture& machine = native_architecture();
  ThreadRegisters registers;
  if (!machine.read_registers(thread.tid, registers).ok()) return {};
  Address pc = machine.pc(registers);
  for (auto& [id, used] : thread.process->space->clients) {
    for (auto& region : used.regions) {
      if (!region->contains(pc)) continue;
      Client* client = arming_->find_client(id);
      if (!client) return {};
      const std::vector<abi::FaultFixup>& fixups = client->image.fixups;
      int64_t offset = pc - region->image();
      auto fixup = std::lower_bound(fixups.begin(), fixups.end(), offset,
                                    [](const abi::FaultFixup& a, int64_t value) { return a.fault_offset < value; });
      if (fixup == fixups.end() || fixup->fault_offset != offset) return {};
      if (!move_on(thread, registers, region->image() + fixup->resume_offset, info)) return {};
      return id;
    }
  }
  return {};
}

// Not to be delivered; but if the thread blocks or ignores it, its arrival alone has done harm.
void TracingPartImpl::signal_is_ours(Thread& thread) {
  int signal = std::exchange(thread.signal, 0);
  Process& process = *thread.process;
  if (should_mend_action(thread, signal)) {
    hold_for({.kind = Work::kResetAction, .pid = process.pid, .tid = thread.tid, .signal = signal}, thread);
  }
}

void TracingPartImpl::signal_arrived(Thread& thread) {
  AddressSpace* space = thread.process->space.get();
  if (!space || !space->has_code()) return;
  if (thread.signal == SIGSEGV || thread.signal == SIGBUS) {
    auto registers = calls_->is_on() ? CallWatch::rings(thread.tid) : std::nullopt;
    bool rings = CallWatch::rings_for_slots(thread.tid);
    auto client = redirect_fault(thread);
    if (!client) return show_fault(*space, thread);
    signal_is_ours(thread);
    if (rings) return hold_for({.kind = Work::kSlots, .pid = thread.process->pid, .tid = thread.tid, .client = *client}, thread);
    auto call = registers ? CallWatch::read_call(*space, *registers) : std::nullopt;
    if (call) hold_for({.kind = Work::kWatchedCall, .pid = thread.process->pid, .tid = thread.tid, .call = *call}, thread);
  } else if (thread.signal == SIGFPE || thread.signal == SIGILL) {
    show_fault(*space, thread);
  } else if (calls_->is_on() && CallWatch::is_cancellation(thread.signal)) {
    CallWatch::leave_call(*space, thread);
  } else if (thread.signal == SIGTRAP) {
    ThreadRegisters registers;
    if (!native_architecture().read_registers(thread.tid, registers).ok()) return;
    Address pc = native_architecture().pc(registers);
    if (const PatchedSite* site = space->breakpoint_at(pc - 1)) {
      siginfo_t info;
      if (ptrace(PTRACE_GETSIGINFO, thread.tid, 0, &info) != 0) return;
      if (move_on(thread, registers, site->trampoline, info)) signal_is_ours(thread);
      return;
    }
    for (const TracingTrap& trap : space->tracing_traps) {
      if (pc != trap.trap + 1) continue;
      thread.signal = 0;
      return hold_for({.kind = Work::kTracing, .pid = thread.process->pid, .tid = thread.tid, .tracing = trap.call}, thread);
    }
    if (space->linker_trap == Address() || pc != space->linker_trap + 1) return;
    thread.signal = 0;
    hold_for({Work::kLibraries, thread.process->pid, thread.tid}, thread);
  }
}

void TracingPartImpl::system_call_stopped(Thread& thread) {
  const Architecture& machine = native_architecture();
  ThreadRegisters registers;
  if (!machine.read_registers(thread.tid, registers).ok()) return;
  AddressSpace* space = thread.process->space.get();
  if (space && !CallWatch::is_program_call(*space, machine.pc(registers))) return;  // a handler asks who runs
  ThreadChange change{.kind = ThreadChange::Kind::kSystemCall, .pid = thread.process->pid, .tid = thread.tid};
  change.registers = machine.script_registers(registers);
  bool enters = machine.enters_system_call(thread.tid);
  bool restricts = enters && abi::may_judge_places(change.registers.site_id, change.registers);
  if (restricts && space && space->is_mapped() && space->call_restriction.empty()) {  // of code without a site
    hold_for({.kind = Work::kWatchedCall, .pid = change.pid, .tid = change.tid, .call = change.registers, .at_call = true}, thread);
  }
  bool told = enters ? enter_call(thread, change) : leave_call(thread, registers, change);
  if (told) options_.watch_threads(change);
}

void TracingPartImpl::thread_stopped(Thread& thread) {
  AddressSpace* space = thread.process->space.get();
  if (space) introduce_thread(*space, thread);
  if (!thread.pc_unchecked || !space) return;
  thread.pc_unchecked = false;
  if (space->is_restored) return;
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

Result<std::unique_ptr<TracingPart>> TracingPart::create(const EngineOptions& options) {
  auto part = std::make_unique<TracingPartImpl>(options);
  TRY_DO(part->start());
  return std::unique_ptr<TracingPart>(std::move(part));
}

}  // namespace spile::engine
