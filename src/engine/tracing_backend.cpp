// The backend that traces: what happens when, and who does it. process_lives (births, execs, ends), signal_stops and call_stops
// handle what the tracer reports; arming brings requests of all clients into processes; change/removal takes everything out
// again.

#include "engine/tracing_backend.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <set>

#include "engine/call_stops.h"
#include "engine/change/removal.h"
#include "engine/change/text_patcher.h"
#include "engine/process_lives.h"
#include "engine/share/guest_host.h"
#include "engine/shown_faults.h"
#include "engine/signal_stops.h"
#include "engine/space/space_calls.h"
#include "engine/space/space_setup.h"
#include "engine/space/thread_identities.h"
#include "engine/tracing_context.h"

namespace spile::engine {
namespace {

class TracingBackendImpl final : public TracingBackend, TraceListener, GuestService {
 public:
  explicit TracingBackendImpl(EngineOptions options) : options_(std::move(options)) {}
  ~TracingBackendImpl() override;
  Result<void> start();

  Result<void> use_image(const abi::CodeImage& image, const ArenaGeometry& geometry, UniqueFd arena, UniqueFd shared) override;
  Result<pid_t> launch(const LaunchOptions& options) override {
    start_hosting();
    return lives_->launch(options);
  }
  Result<void> execute() override { return lives_->execute(); }
  Result<void> attach(pid_t pid) override {
    start_hosting();  // before the attach: a spile that finds this one as tracer connects to it
    return lives_->attach(pid);
  }
  Descendants attach_descendants() override { return lives_->attach_descendants(); }
  void resume_all() override { lives_->resume_all(); }
  void probe_system_calls(const SystemCallHandlers& handlers) override {
    calls_->probe(handlers);
    own_->probes_calls = true;
  }
  std::vector<pid_t> processes() const override { return lives_->processes(); }
  Result<std::vector<Module>> modules(pid_t pid) override { return lives_->modules(pid); }
  Result<ArmReport> arm(std::span<const SiteRequest> sites) override;
  void switch_sites(std::span<const uint32_t> site_ids, bool on) override;
  Result<void> disarm() override;
  Result<void> detach() override;
  Result<void> suspend() override;
  int wait_fd() const override { return host_ ? host_->wait_fd() : tracer_->wait_fd(); }
  Result<std::vector<Event>> poll(int timeout_ms) override;

 private:
  Client& add_guest() override { return arming_->clients().add(); }
  Result<std::vector<pid_t>> follow(Client& guest, pid_t pid) override;
  Result<ArmReport> arm_for(Client& client, std::span<const SiteRequest> sites) override;
  void switch_for(Client& client, std::span<const uint32_t> site_ids, bool on) override {
    arming_->switch_sites(client, site_ids, on);
  }
  Result<void> drop_guest(Client& guest) override;
  void start_hosting();

  void process_forked(Thread& parent, Process& child, const ProcessStatus& status, bool shares_memory) override {
    lives_->process_forked(parent, child, status, shares_memory);
  }
  void process_executed(Process& process) override { lives_->process_executed(process); }
  void process_exited(Process& process, int status) override { lives_->process_exited(process, status); }
  void stranger_exited(pid_t pid, int status) override {
    reports_.report(own_, {.kind = Event::Kind::kOtherExited, .pid = pid, .status = status});
  }
  void signal_arrived(Thread& thread) override { signals_->signal_arrived(thread); }
  void thread_stopped(Thread& thread) override;
  void thread_born(Thread& parent, Thread& thread, const ProcessStatus& status) override {
    lives_->thread_born(parent, thread, status);
  }
  void thread_ending(Thread& thread) override { lives_->thread_ending(thread); }
  void thread_ended(Thread& thread) override {
    if (thread.process->space) arming_->thread_ended(*thread.process->space, thread);
    reports_.watch(ThreadChange::Kind::kThreadEnded, thread.process->pid, thread.tid);
  }
  void system_call_stopped(Thread& thread) override { call_stops_->system_call_stopped(thread); }
  void shown_fault_ends(Thread& thread) override {
    if (thread.process->space) return_from_shown_fault(*thread.process->space, thread);
  }

  void perform(const DeferredWork& work);
  void look_over_sites();
  Result<void> change_all(const std::function<Result<void>(AddressSpace&)>& change);
  Result<void> let_all_go();
  Result<void> disarm_all(AfterRemoval after);
  Result<ArmReport> arm_client(Client& client);

  EngineOptions options_;
  EventReports reports_;
  std::unique_ptr<Tracer> tracer_;
  std::unique_ptr<CallWatch> calls_;
  std::unique_ptr<Arming> arming_;
  Client* own_ = nullptr;
  std::unique_ptr<GuestHost> host_;
  std::unique_ptr<WorkQueue> works_;
  std::unique_ptr<ProcessLives> lives_;
  std::unique_ptr<SignalStops> signals_;
  std::unique_ptr<CallStops> call_stops_;
  Tracer::Clock::time_point next_look_{};  // at all sites
};

TracingBackendImpl::~TracingBackendImpl() {
  if (tracer_) (void)detach();
  tracer_.reset();
}

Result<void> TracingBackendImpl::start() {
  TRY(tracer_, Tracer::create(*this, {.ends = static_cast<bool>(options_.events.watch_threads),
                                      .system_calls = options_.watch_system_calls}));
  tracer_->be_patient({options_.sleep_patience_ms, options_.events.keep_waiting});
  auto report = [this](const Client* client, Event event) { reports_.report(client, std::move(event)); };
  calls_ = std::make_unique<CallWatch>(*tracer_, options_.stop_patience_ms, options_.events.call_probes,
                                       [this](Event event) { reports_.report(own_, std::move(event)); });
  arming_ = std::make_unique<Arming>(*tracer_, *calls_, options_.stop_patience_ms, report);
  own_ = &arming_->clients().add();
  own_->resolve_module = options_.events.resolve_module;
  own_->describe_modules = options_.events.describe_modules;
  own_->watch_threads = options_.events.watch_threads;
  own_->owns_stacks = options_.events.owns_stacks;
  own_->return_readers = options_.events.return_readers;
  reports_.begin(*arming_, *own_);
  works_ = std::make_unique<WorkQueue>(*tracer_, [this](const DeferredWork& work) { perform(work); });
  TracingContext context{options_, *tracer_, *calls_, *arming_, *own_, reports_, *works_};
  lives_ = std::make_unique<ProcessLives>(context);
  signals_ = std::make_unique<SignalStops>(context, *lives_);
  call_stops_ = std::make_unique<CallStops>(context);
  return {};
}

Result<void> TracingBackendImpl::use_image(const abi::CodeImage& image, const ArenaGeometry& geometry, UniqueFd arena,
                                           UniqueFd shared) {
  CHECK(own_->image.bytes.empty());
  own_->image = image;
  own_->geometry = geometry;
  own_->arena_fd = std::move(arena);
  own_->shared_fd = std::move(shared);
  return {};
}

// --- Guests ---

// If it fails, because another process has taken the name, this spile has no guests.
void TracingBackendImpl::start_hosting() {
  if (host_) return;
  auto started = GuestHost::start(*this);
  if (!started.ok()) return;
  host_ = std::move(started).value();
  reports_.set_host(host_.get());
  host_->watch(tracer_->wait_fd());
}

Result<std::vector<pid_t>> TracingBackendImpl::follow(Client& guest, pid_t pid) {
  works_->perform();
  if (!tracer_->find_process(pid)) return Error{fmt::format("process {} has ended", pid), ""};
  if (guest.watch_threads) tracer_->stop_at_ends(options_.stop_patience_ms);
  if (!tracer_->find_process(pid)) return Error{fmt::format("process {} has ended", pid), ""};
  guest.follows.insert(pid);
  return std::vector<pid_t>{pid};
}

Result<ArmReport> TracingBackendImpl::arm_for(Client& client, std::span<const SiteRequest> sites) {
  if (!client.arena_fd) return Error{"arm: no image was set", ""};
  works_->perform();
  TRY_DO(arming_->add_new_requests(client, sites));
  return arm_client(client);
}

Result<void> TracingBackendImpl::drop_guest(Client& guest) {
  guest.requests.clear();
  guest.resolve_module = nullptr;
  guest.describe_modules = nullptr;
  guest.watch_threads = nullptr;
  works_->perform();
  auto result = change_all([&](AddressSpace& space) { return arming_->drop_client(space, guest); });
  guest.follows.clear();
  // After a failure its memory stays mapped in a process, and the client stays known.
  if (result.ok()) arming_->clients().forget(guest.id);
  return result;
}

// --- Arming ---

Result<ArmReport> TracingBackendImpl::arm(std::span<const SiteRequest> sites) { return arm_for(*own_, sites); }

// Arms in all processes that the client follows. Other clients may have something to arm there too: late libraries.
Result<ArmReport> TracingBackendImpl::arm_client(Client& client) {
  ArmReport report;
  std::optional<Error> failure;
  std::set<AddressSpace*> done;
  std::vector<pid_t> pids = processes();
  for (pid_t pid : pids) {
    Process* process = tracer_->find_process(pid);
    // A program that has just been exec'd is armed by the work that is queued for it.
    if (!process || !process->space->memory.is_open() || !done.insert(process->space.get()).second) continue;
    std::shared_ptr<AddressSpace> space = process->space;
    if (!ClientTable::follows(client, *space)) continue;
    Reports reports;
    auto armed = arming_->arm_space(*space, reports);
    // That a process has ended meanwhile is not a failure of arming. Nor is that it executes another program, which is armed by
    // the work that is queued for it.
    if (arming_->has_left(*space, pid)) continue;
    ArmReport mine = std::move(reports[client.id]);
    reports.erase(client.id);
    reports_.report_armed(pid, reports);
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

void TracingBackendImpl::switch_sites(std::span<const uint32_t> site_ids, bool on) { arming_->switch_sites(*own_, site_ids, on); }

// --- Removing ---

Result<void> TracingBackendImpl::disarm() { return disarm_all(AfterRemoval::kGoOn); }

Result<void> TracingBackendImpl::disarm_all(AfterRemoval after) {
  own_->requests.clear();
  own_->resolve_module = nullptr;
  own_->probes_calls = false;
  works_->perform();
  return change_all([&](AddressSpace& space) {
    const pid_t pid = pid_of(space);
    auto removed = remove_all(*tracer_, space, options_.stop_patience_ms, after,
                              [&](Thread& thread) { return signals_->leave_endless_handler(thread); });
    arming_->report_overwritten(space, pid);
    return removed;
  });
}

// Applies a change to all address spaces, except those that have ended meanwhile. Returns the last of several errors.
Result<void> TracingBackendImpl::change_all(const std::function<Result<void>(AddressSpace&)>& change) {
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
    works_->perform();
  }
  if (result.ok()) return result;
  return Error{
      result.error().message,
      fmt::format("the code left in it does nothing; to remove it later, run: spile -x {} -e 'probe process.begin {{ exit() }}'",
                  left_behind)};
}

Result<void> TracingBackendImpl::suspend() {
  auto gone = let_all_go();
  // Modules are asked about anew, as the sites in them are forgotten with the rest.
  own_->resolve_module = options_.events.resolve_module;
  own_->probes_calls = calls_->is_on();
  own_->resolved.clear();
  // Threads that could not be let go at once (one waits for its vfork child) are let go at their next stop, which we must
  // receive.
  auto deadline = Tracer::Clock::now() + std::chrono::milliseconds(options_.stop_patience_ms);
  while (!tracer_->all_released() && Tracer::Clock::now() < deadline) tracer_->pump(10);
  if (gone.ok() && !tracer_->all_released())
    return Error{"a thread waits in the kernel, and can't be released now", "try again later"};
  return gone;
}

Result<void> TracingBackendImpl::detach() { return let_all_go(); }

Result<void> TracingBackendImpl::let_all_go() {
  if (host_) host_->announce_ending();
  arming_->set_leaving(true);
  auto disarmed = disarm_all(AfterRemoval::kRelease);
  lives_->resume_all();
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
  arming_->clients().forget_guests();
  reports_.set_host(nullptr);
  host_.reset();
  arming_->set_leaving(false);
  return disarmed;
}

// --- What happens to targets ---

Result<std::vector<Event>> TracingBackendImpl::poll(int timeout_ms) {
  bool busy = works_->size() > 0 || !reports_.empty();
  if (host_ && !busy && timeout_ms != 0) {
    pollfd wait{host_->wait_fd(), POLLIN, 0};
    ::poll(&wait, 1, timeout_ms);
  }
  tracer_->pump(busy || host_ ? 0 : timeout_ms);
  // A busy program always adds work: the work that is queued now is done, and the caller gets control again.
  works_->perform(works_->size());
  if (host_) host_->serve();
  lives_->look_after_handed_over();
  look_over_sites();
  tracer_->forget_ended_threads();
  return reports_.take();
}

// Ten times a second, or less often where it would take more than a hundredth of the time.
void TracingBackendImpl::look_over_sites() {
  if (Tracer::Clock::now() < next_look_) return;
  const auto begun = Tracer::Clock::now();
  uint64_t seen = 0;
  while (Process* process = tracer_->next_process(seen)) {
    seen = process->serial;
    const pid_t pid = process->pid;
    const std::shared_ptr<AddressSpace> space = process->space;
    // A child that was forked while its parent was armed has only a part of the patches yet.
    const bool is_whole = space && !space->arming.is_changing() && !works_->contains(DeferredWork::kFork, pid);
    if (!is_whole || pid_of(*space) != pid) continue;
    arming_->take_out_overwritten(*space, pid);
  }
  const auto now = Tracer::Clock::now();
  next_look_ = now + std::max<Tracer::Clock::duration>(std::chrono::milliseconds(100), 100 * (now - begun));
}

void TracingBackendImpl::perform(const DeferredWork& work) {
  switch (work.kind) {
    case DeferredWork::kExec: return lives_->finish_exec(work);
    case DeferredWork::kFork: return lives_->finish_fork(work);
    case DeferredWork::kLibraries: return signals_->finish_libraries(work);
    case DeferredWork::kWatchedCall: return call_stops_->finish_watched_call(work);
    case DeferredWork::kSharers: return call_stops_->finish_sharers(work);
    case DeferredWork::kTracing: return signals_->finish_tracing(work);
    case DeferredWork::kSlots: return call_stops_->finish_slots(work);
    case DeferredWork::kOverwritten: return signals_->finish_overwritten(work);
    case DeferredWork::kActions:
    case DeferredWork::kResetAction: return signals_->finish_signal(work);
  }
}

void TracingBackendImpl::thread_stopped(Thread& thread) {
  AddressSpace* space = thread.process->space.get();
  if (space) introduce_thread(*space, thread);
  if (!thread.pc_unchecked || !space) return;
  thread.pc_unchecked = false;
  if (space->sites.is_restored()) return;
  move_program_counters(*space, thread,
                        [&](Address pc, bool restarting) { return pc_out_of_window(space->sites.in_text(), pc, restarting); });
}

}  // namespace

// ORDER MECHANISM
const char* mechanism_name(Mechanism mechanism) {
  static constexpr const char* kNames[] = {"jump", "nop", "short jump", "punned jump", "int3", "refused"};
  return kNames[static_cast<size_t>(mechanism)];
}

size_t ArmReport::armed() const {
  return static_cast<size_t>(std::count_if(outcomes.begin(), outcomes.end(),
                                           [](const SiteOutcome& outcome) { return outcome.mechanism != Mechanism::kRefused; }));
}

Result<std::unique_ptr<TracingBackend>> TracingBackend::create(const EngineOptions& options) {
  auto backend = std::make_unique<TracingBackendImpl>(options);
  TRY_DO(backend->start());
  return std::unique_ptr<TracingBackend>(std::move(backend));
}

}  // namespace spile::engine
