#include "session/live/script_run.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

#include "base/clock.h"
#include "base/messages.h"
#include "base/unique_fd.h"
#include "bpf/kernel_memory.h"
#include "runs/run/run_stream.h"
#include "runs/text/presenter.h"
#include "sema/terms/intrinsics.h"
#include "session/arena/arena_memory.h"
#include "session/arena/arena_view.h"
#include "session/arena/call_history.h"
#include "session/arena/controller.h"
#include "session/arena/skips.h"
#include "session/invocation/progress.h"
#include "session/invocation/signals.h"
#include "session/live/armed_note.h"
#include "session/live/controller_probes.h"
#include "session/live/end_conditions.h"
#include "session/live/event_loop.h"
#include "session/live/flight_recorder.h"
#include "session/live/loss_report.h"
#include "session/live/run_checks.h"
#include "session/live/run_parts.h"
#include "session/live/run_reports.h"
#include "session/live/run_stacks.h"
#include "session/live/standstill.h"
#include "session/live/tickers.h"
#include "session/live/timers.h"
#include "session/live/trust_watch.h"
#include "session/output/output.h"
#include "session/places/kernel_side.h"
#include "session/places/kernel_targets.h"
#include "session/places/process_watch.h"
#include "session/places/target_side.h"
#include "session/serve/procfs_server.h"
#include "session/serve/session_status.h"
#include "session/serve/status_socket.h"
#include "session/stacks/thread_sampler.h"

namespace spile::session {

namespace {

// How often output rings are read: handlers make no system calls, so nothing wakes spile. While records come, they are read often
// enough that a ring of 1 MiB has room for a million records a second.
constexpr int64_t kBusyPollNs = 2'000'000;
constexpr int64_t kIdlePollNs = 10'000'000;
constexpr int64_t kHousekeepingNs = 100'000'000;
constexpr int64_t kAnnouncePatienceNs = 300'000'000;
constexpr int64_t kNeverAgainNs = int64_t{1} << 60;

bool runs_in_processes(const codegen::CompiledScript& script) { return !script.target.image.bytes.empty(); }
bool runs_in_kernel(const codegen::CompiledScript& script) { return !script.kernel.object.empty(); }

bool has_probes(const sema::Program& program, sema::ProbeKind kind) {
  return std::ranges::any_of(program.probes, [&](const sema::Probe& probe) { return probe.kind == kind && !probe.is_report; });
}

// Begin, end and timer handlers run in spile itself: a program reads for them what the kernel alone can read. Returns that
// program; none, after a warning, where it can't be loaded.
UniqueFd let_controller_read_kernel(ArenaView& arena) {
  auto reader = bpf::load_kernel_reader();
  if (!reader.ok()) {
    warn("begin, end and timer probes can't read the kernel's memory: " + reader.error().message, reader.error().hint);
    return {};
  }
  arena.controller_state().kernel_reader = static_cast<uint64_t>(reader->get()) + 1;
  return std::move(reader).value();
}

// spile empties the rings, so it must not be the last to run on a busy machine. Without the right to a higher priority it keeps
// its own. Children (of system()) have the usual priority.
void run_early() {
  sched_param parameters{};
  if (sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &parameters) == 0) setpriority(PRIO_PROCESS, 0, -10);
}

// Warns of a command (-c) that did not succeed. status: as waitpid(2) has it; null: it has not ended. Returns whether it did not.
bool warn_of_command(std::optional<int> status) {
  if (!status || (WIFEXITED(*status) && WEXITSTATUS(*status) == 0)) return false;
  if (WIFSIGNALED(*status))
    warn(fmt::format("Child process exited with signal {} ({})", WTERMSIG(*status), strsignal(WTERMSIG(*status))));
  else warn(fmt::format("Child process exited with status {}", WEXITSTATUS(*status)));
  return true;
}

// The page that reads top-down: prepare(), start(), run(), stop(), finish().
class ScriptRun {
 public:
  ScriptRun(const RunInput& input, const TargetOptions& traced, const OutputOptions& options, const MessageOptions& messages)
      : input_(input),
        traced_(traced),
        options_(options),
        messages_(messages),
        watch_(input.program,
               [this](int probe, size_t, const abi::Subject& subject) { probes_->run_about(probe, subject, monotonic_ns()); }),
        sampler_(
            input.program,
            [this](int probe, const abi::Subject& sample, std::span<const char> stack) {
              probes_->run_sample(probe, sample, stack);
            },
            [this](pid_t pid, const sema::Site& site) { return target_->locate(pid, site); }),
        kernel_targets_(input.program),
        timers_(input.program) {}

  Result<void> prepare();
  Result<void> start();
  Result<void> run();
  Result<void> stop();
  int finish();

 private:
  runs::Presenter* presenter() const { return options_.presenter.get(); }
  bool ends() const { return ends_->exit_requested() || ends_->failed(); }

  Result<void> make_arena();
  Result<void> open_output();
  Result<void> place_controller();
  Result<void> acquire_processes();
  Result<void> attach_kernel();
  Result<void> arm_processes();
  Result<void> serve_others();
  void set_up_loop();
  bool is_over() const;
  Result<void> wait_and_collect();
  Result<void> run_timers();
  void housekeeping();
  void take_signals();
  SessionStatus describe() const;
  void announce();
  Result<void> stop_handlers();
  Result<void> release_processes();
  bool ends_after_errors() const;

  const RunInput input_;
  const TargetOptions& traced_;
  const OutputOptions& options_;
  const MessageOptions& messages_;

  // ORDER: later members use earlier ones until they are destroyed.
  Signals signals_;
  ProcessWatch watch_;
  ThreadSampler sampler_;
  ArenaMemory memory_;
  std::unique_ptr<ArenaView> arena_;
  std::unique_ptr<KernelSide> kernel_;
  KernelTargets kernel_targets_;
  std::unique_ptr<TargetSide> target_;
  std::unique_ptr<CallHistory> calls_;
  UniqueFd kernel_reader_;  // for handlers of the controller that read the kernel's memory
  std::optional<RunStacks> stacks_;
  std::optional<TrustWatch> trust_;
  std::unique_ptr<RunReports> reports_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<Controller> controller_;
  std::optional<RunParts> parts_;
  std::optional<EndConditions> ends_;
  std::optional<ControllerProbes> probes_;
  Timers timers_;
  Tickers tickers_;
  EventLoop loop_;
  FlightSocket flight_;
  ProcfsServer procfs_;
  StatusSocket status_;

  bool has_begun_ = false;  // the begin probes have run without an error
  int64_t armed_ns_ = 0;    // from here on -T counts
  int64_t armed_at_ = 0;    // the same moment, seconds since the epoch
  int64_t next_collection_ = 0;
  bool stop_signal_ = false;
  bool pause_signal_ = false;
};

// ---- prepare(): all that can fail, before anything is touched but -c's command, which stands still

Result<void> ScriptRun::prepare() {
  TRY(signals_, Signals::block(presenter() && presenter()->takes_signal()));
  const bool needs_processes = watch_.watches_processes() || sampler_.samples() || kernel_targets_.follows();
  TRY_DO(check_run(input_.script, traced_, options_, needs_processes));
  TRY_DO(make_arena());
  TRY_DO(open_output());
  TRY_DO(stacks_->make_tables(output_->names()));
  TRY_DO(place_controller());
  stacks_->walk_in_kernel(*controller_, output_->names());
  TRY_DO(acquire_processes());
  // From here on the parts stand until the run's end.
  parts_.emplace(RunParts{input_.program, input_.script, *arena_, *controller_, *output_, kernel_.get(), target_.get()});
  ends_.emplace(*parts_);
  probes_.emplace(*parts_, *ends_);
  reports_->use(*parts_, *probes_);
  return {};
}

// The memory that handlers share, with the side of processes, which may have to map it first.
Result<void> ScriptRun::make_arena() {
  TRY(memory_, ArenaMemory::create(input_.script));
  if (runs_in_processes(input_.script) || !traced_.command.empty() || !traced_.processes.empty()) {
    TRY(target_, TargetSide::create({.program = input_.program,
                                     .script = input_.script,
                                     .files = input_.files,
                                     .options = traced_,
                                     .messages = messages_,
                                     .memory = {memory_.place(), memory_.shared_fd()},
                                     .watch = watch_,
                                     .sampler = sampler_,
                                     .kernel_targets = kernel_targets_,
                                     .interrupted = [this] { return signals_.stop_is_pending(); }}));
  }
  TRY_DO(memory_.cover_shared_pages());
  std::span<uint8_t> shared = memory_.all();
  if (shared.empty() && runs_in_processes(input_.script)) shared = target_->arena_memory();
  const bool has_two = input_.script.layout.kernel_offset != 0;
  TRY(arena_, ArenaView::create(input_.script.layout, shared, runs_in_processes(input_.script),
                                has_two ? input_.script.kernel.arena : codegen::ArenaLayout()));
  stacks_.emplace(input_.program, input_.script, *arena_, target_.get());
  trust_.emplace(input_.program, input_.script, target_.get());
  return {};
}

// What is printed, and what is reported to others.
Result<void> ScriptRun::open_output() {
  TRY(output_, Output::open(options_, messages_, input_.script));
  if (presenter() && CallHistory::is_noted(input_.script.layout)) {
    calls_ = std::make_unique<CallHistory>(*arena_, input_.program, input_.script.string_limit);
    presenter()->use_calls(*calls_);
  }
  TRY(reports_, RunReports::open(input_.program, input_.script, traced_, options_, *arena_, *output_));
  if (target_ && reports_->names_processes()) target_->before_slots_are_reused([this] { output_->records().collect(*arena_); });
  if (!input_.program.guru) output_->actions().trust_processes_by([this] { return trust_->why_untrusted(); });
  if (options_.in_memory()) {
    TRY(flight_, FlightSocket::listen());
  }
  return {};
}

Result<void> ScriptRun::place_controller() {
  TRY(controller_,
      Controller::place(input_.script.controller, *arena_, [this] { output_->records().collect_controller(*arena_); }));
  // of begin probes; from start() on, of all others
  if (traced_.time_limit_ns > 0) controller_->set_limit(monotonic_ns() + traced_.time_limit_ns);
  controller_->initialize();
  if (input_.program.needs & sema::kNeedsKernelMemory) kernel_reader_ = let_controller_read_kernel(*arena_);
  return {};
}

// Processes stand still, or are attached to; programs are loaded into the kernel.
Result<void> ScriptRun::acquire_processes() {
  pid_t process = 0;
  if (target_) {
    TRY(process, target_->acquire(runs_in_kernel(input_.script) && !has_uprobes(input_.program)));
  }
  arena_->set_target(process);
  if (ProcessStacks* stacks = stacks_->of_processes(); stacks && !traced_.processes.empty()) stacks->set_target(process, false);
  if (!runs_in_kernel(input_.script)) return {};
  TRY(kernel_, KernelSide::load(input_.program, input_.script, input_.files, input_.kernel, process, memory_, *arena_,
                                messages_.verbosity()));
  warn_of_children(input_.program, traced_);
  return {};
}

// ---- start(): the begin probes, which run before any other probe can be hit; then the others are armed

Result<void> ScriptRun::start() {
  TRY_DO(probes_->run_all(sema::ProbeKind::kBegin));
  has_begun_ = !ends_->failed();
  if (ends()) return {};
  if (kernel_ || runs_in_processes(input_.script)) run_early();
  if (kernel_) TRY_DO(attach_kernel());
  if (target_) TRY_DO(arm_processes());
  TRY_DO(serve_others());
  armed_ns_ = monotonic_ns();
  armed_at_ = time(nullptr);
  if (traced_.time_limit_ns > 0) controller_->set_limit(armed_ns_ + traced_.time_limit_ns);
  tickers_.add(armed_ns_, kHousekeepingNs, [this] { return housekeeping(), Result<void>(); });
  tickers_.add(armed_ns_ + kAnnouncePatienceNs, kNeverAgainNs, [this] { return announce(), Result<void>(); });
  reports_->start(tickers_, armed_ns_);
  status_ = StatusSocket::listen();
  timers_.start(armed_ns_);
  set_up_loop();
  return {};
}

Result<void> ScriptRun::attach_kernel() {
  for (const codegen::KernelCode::Copy& copy : input_.script.kernel.copies)
    std::memcpy(arena_->base() + copy.to, arena_->base() + copy.from, copy.size);
  TRY_DO(kernel_->export_globals(*controller_));
  return kernel_->attach();
}

Result<void> ScriptRun::arm_processes() {
  TRY_DO(target_->execute());
  if (ProcessStacks* stacks = stacks_->of_processes(); stacks && !traced_.command.empty())
    stacks->set_target(target_->process(), true);
  probes_->switch_conditions();
  TRY_DO(target_->arm());
  TRY_DO(sampler_.start(target_->processes()));
  if (kernel_) TRY_DO(kernel_targets_.start(*kernel_, target_->processes()));
  watch_.start(target_->processes());
  return target_->resume();
}

Result<void> ScriptRun::serve_others() {
  auto run_probe = [this](int probe) {
    if (ends()) return;  // of several lines that were read at once
    if (Result<void> ran = probes_->run(probe); !ran.ok()) fail(ran.error().message);
  };
  return procfs_.open(input_.program, *controller_, input_.module_name, options_.http, messages_, run_probe, reports_->metrics());
}

// Who wakes spile. Sources are served in this order.
void ScriptRun::set_up_loop() {
  loop_.on_readable([this] { return signals_.fd(); }, [this] { take_signals(); });
  loop_.on_readable([this] { return signals_.stop_fd(); }, [this] { pause_signal_ = true; });
  loop_.on_readable([this] { return procfs_.files_fd(); }, [this] { procfs_.serve_files(); });
  loop_.on_readable([this] { return procfs_.input_fd(); }, [this] { procfs_.serve_input(); });
  loop_.on_readable([this] { return procfs_.http_fd(); }, [this] { procfs_.serve_http(); });
  if (presenter()) loop_.on_readable([this] { return presenter()->input(); }, [this] { presenter()->take_input(); });
  loop_.on_readable([this] { return status_.fd(); }, [this] { status_.serve([this] { return describe(); }); });
  loop_.on_readable([this] { return reports_->requests_fd(); }, [this] { return reports_->serve_requests(); });
  loop_.on_readable([this] { return flight_.fd(); }, [this] { flight_.serve(output_->file()); });
  if (target_) loop_.on_readable([this] { return target_->wait_fd(); }, [this] { return target_->poll(*arena_, 0); });
  // What wakes spile for these is taken after each wait.
  if (kernel_) loop_.on_readable([this] { return kernel_->poll_fd(); }, [] {});
  loop_.on_readable([this] { return sampler_.first_samples_fd(); }, [] {});

  loop_.wake_by([this](int64_t) { return tickers_.next_ns(); });
  loop_.wake_by([this](int64_t) { return timers_.next_due().value_or(INT64_MAX); });
  if (sampler_.samples()) loop_.wake_by([this](int64_t now) { return now + sampler_.patience_ns(); });
  if (parts_->shares_arena()) loop_.wake_by([this](int64_t) { return next_collection_; });
  if (stacks_->of_processes()) loop_.wake_by([this](int64_t) { return stacks_->of_processes()->next_serve_ns(); });
  if (traced_.time_limit_ns > 0) loop_.wake_by([this](int64_t) { return armed_ns_ + traced_.time_limit_ns; });
}

// ---- run(): until something ends the run

Result<void> ScriptRun::run() {
  while (!is_over()) {
    TRY_DO(wait_and_collect());
    if (std::exchange(pause_signal_, false)) stand_still({signals_, *arena_, *output_, target_.get(), sampler_, kernel_targets_});
    TRY_DO(run_timers());
    TRY_DO(tickers_.run_due(monotonic_ns()));
  }
  return {};
}

bool ScriptRun::is_over() const {
  if (ends() || stop_signal_ || (target_ && target_->finished()) || !output_->usable() || reports_->failed()) return true;
  return traced_.time_limit_ns > 0 && monotonic_ns() - armed_ns_ >= traced_.time_limit_ns;
}

// Sleeps until there is something to do, and does it.
Result<void> ScriptRun::wait_and_collect() {
  trust_->look();
  // Events that the engine noted while it did something else (a command that ended while it was released) do not wake the loop.
  if (target_) {
    TRY_DO(target_->poll(*arena_, 0));
    if (target_->finished()) return {};
  }
  loop_.wait();
  sampler_.drain();  // before somebody asks for what the samples have changed
  TRY_DO(loop_.serve());
  if (kernel_) {
    TRY([[maybe_unused]] size_t count, kernel_->consume(output_->records()));
    if (!parts_->shares_arena()) output_->records().hand_on(true);  // one ring, in order
  }
  const int64_t now = monotonic_ns();
  if (ProcessStacks* stacks = stacks_->of_processes()) stacks->serve();
  if (parts_->shares_arena() && now >= next_collection_) {
    const bool any = output_->records().collect(*arena_);
    output_->records().hand_on(false);
    next_collection_ = now + (any ? kBusyPollNs : kIdlePollNs);
  }
  reports_->send();
  return {};
}

Result<void> ScriptRun::run_timers() {
  for (int probe : timers_.take_due(monotonic_ns())) {
    TRY_DO(probes_->run(probe));
    if (ends()) break;
  }
  return {};
}

void ScriptRun::housekeeping() {
  arena_->refresh_clock();
  trust_->warn_of_users(monotonic_ns());
  procfs_.serve_http();
  if (kernel_) kernel_->look_at_system(monotonic_ns());
  stacks_->renew_kernel();
  const Skips skips = count_skips(*arena_);
  if (presenter()) presenter()->note_losses(skips.all() + controller_->lost_updates());
  ends_->check_skips(skips);
}

void ScriptRun::take_signals() {
  const Signals::Taken taken = signals_.take();
  if (taken.stop) stop_signal_ = true;
  if (taken.next_file) output_->file().next_file();
  if (!taken.user || !presenter()) return;
  presenter()->take_signal();
  if (presenter()->has_all()) output_->actions().request_exit();
}

// For `spile list`.
SessionStatus ScriptRun::describe() const {
  return describe_session(input_.program, input_.script, *arena_, probes_->hits(),
                          target_ ? target_->processes() : traced_.processes, armed_at_);
}

// Tells a user at a terminal what spile waits for, unless the run is over before.
void ScriptRun::announce() {
  const bool is_interactive = presenter() && presenter()->input() >= 0;
  if (!shows_progress(messages_) || options_.flight_recorder || is_interactive) return;
  const std::string text = armed_note(describe(), target_ ? target_->paused_ns() : 0);
  if (!text.empty()) note(text);
}

// ---- stop(): removes all probes, so that every target is as it was, then runs the end probes

Result<void> ScriptRun::stop() {
  controller_->set_limit(0);  // end probes take the time that they need
  if (presenter()) {
    output_->records().collect(*arena_);
    output_->records().hand_on(true);
    presenter()->before_end();
  }
  status_ = StatusSocket();  // nothing is armed from here on
  procfs_.close();
  TRY_DO(stop_handlers());
  const Result<void> detached = release_processes();
  output_->records().collect(*arena_);
  output_->records().hand_on(true);
  TRY_DO(reports_->tick_last());
  // Where arrays overflow as the threads' parts of them are merged, the run has failed like any other with this error.
  TRY_DO(probes_->fetch_globals());
  // Counts are reported even where not all probes could be removed.
  TRY_DO(probes_->run_all(ends_->failed() && !ends_after_errors() ? sema::ProbeKind::kError : sema::ProbeKind::kEnd));
  output_->finish_presentation();
  return detached;
}

// From here on no handler runs in the kernel, and none begins in processes.
Result<void> ScriptRun::stop_handlers() {
  arena_->enable(false);
  trust_->look();                       // while it is known which processes are traced
  output_->records().collect(*arena_);  // a thread that waits for room in its ring goes on, and leaves its handler
  sampler_.stop();
  watch_.stop();
  kernel_targets_.stop();
  if (!kernel_) return {};
  if (auto quiet = kernel_->detach(); !quiet.ok()) warn(quiet.error().message + ": the last hits may be missing");
  for (size_t count = 1; count > 0;) {
    TRY(count, kernel_->consume(output_->records()));
  }
  return {};
}

Result<void> ScriptRun::release_processes() {
  if (target_) await_thaw(*target_, signals_);
  reports_->note_places();  // loaded since the last tick
  if (!target_) return {};
  TRY_DO(target_->detach());
  return target_->poll(*arena_, 0);  // a handler may have been left in order to remove it
}

// After errors, `probe error` runs. A script without one has its end probes run instead, so that what was collected is not lost;
// but not where the begin probes have failed, as nothing was collected then. Warns of end probes that do not run.
bool ScriptRun::ends_after_errors() const {
  if (has_probes(input_.program, sema::ProbeKind::kError) || !has_probes(input_.program, sema::ProbeKind::kEnd)) return false;
  if (has_begun_ && !input_.is_compatible) return true;
  warn(fmt::format("the end probes were not run because of {}",
                   has_begun_ ? "the errors (--compatible)" : "errors of the begin probes"),
       "`probe end, error { ... }` runs after errors, too");
  return false;
}

// ---- finish(): says what the run has missed

int ScriptRun::finish() {
  output_->finish_streams(*arena_);
  output_->actions().wait_for_commands(signals_.fd());
  if (target_) target_->warn_never_loaded();
  if (const Error* failure = controller_->failure()) fail(*failure);
  bool all_well = !ends_->failed() && !output_->write_failed();
  reports_->finish_sending();

  std::vector<std::string> warnings = losses_of({*parts_, *stacks_, timers_, sampler_, options_, messages_});
  std::ranges::move(reports_->losses(), std::back_inserter(warnings));
  for (const std::string& loss : warnings) warn(loss);
  const std::vector<std::string> repeated = output_->errors().repeated();
  warnings.insert(warnings.end(), repeated.begin(), repeated.end());
  if (!reports_->finish_document(warnings, shows_progress(messages_))) all_well = false;
  // What follows of a script's own errors is said with -w, too.
  for (const std::string& error : repeated) messages_.verb.is_set() ? warn(error) : note("WARNING: " + error);

  const uint64_t skipped = count_skips(*arena_).skipped_probes();
  const uint64_t errors = output_->errors().count() + output_->errors().suppressed();
  if (errors > 0 || skipped > 0) note(fmt::format("WARNING: Number of errors: {}, skipped probes: {}", errors, skipped));
  if (target_ && warn_of_command(target_->command_status())) all_well = false;
  return all_well ? 0 : 1;
}

}  // namespace

Result<int> run_script(const RunInput& input, const TargetOptions& target, const OutputOptions& output,
                       const MessageOptions& messages, const std::function<void()>& started) {
  ScriptRun run(input, target, output, messages);
  TRY_DO(run.prepare());
  TRY_DO(run.start());
  started();
  TRY_DO(run.run());
  TRY_DO(run.stop());
  return run.finish();
}

}  // namespace spile::session
