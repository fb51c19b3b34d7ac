#include "session/live/script_run.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>

#include "abi/time_counter.h"
#include "base/clock.h"
#include "base/number_text.h"
#include "base/print.h"
#include "base/terminal_text.h"
#include "base/unique_fd.h"
#include "bpf/kernel_memory.h"
#include "engine/process/process_status.h"
#include "runs/run/otlp_message.h"
#include "runs/run/run_metrics.h"
#include "runs/run/run_stream.h"
#include "runs/send/kafka_sender.h"
#include "runs/send/otlp_sender.h"
#include "sema/terms/intrinsics.h"
#include "sema/terms/recorded.h"
#include "session/arena/arena_memory.h"
#include "session/arena/arena_view.h"
#include "session/arena/call_history.h"
#include "session/arena/controller.h"
#include "session/arena/skips.h"
#include "session/invocation/progress.h"
#include "session/invocation/signals.h"
#include "session/live/flight_recorder.h"
#include "session/live/timers.h"
#include "session/output/output.h"
#include "session/output/run_recorder.h"
#include "session/places/kernel_side.h"
#include "session/places/kernel_targets.h"
#include "session/places/process_watch.h"
#include "session/places/target_side.h"
#include "session/serve/procfs_server.h"
#include "session/serve/session_status.h"
#include "session/serve/status_socket.h"
#include "session/stacks/kernel_stacks.h"
#include "session/stacks/process_stacks.h"
#include "session/terms/trust.h"

namespace spile::session {

namespace {

// How often output rings are read: handlers make no system calls, so nothing wakes spile. While records come, they are read often
// enough that a ring of 1 MiB has room for a million records a second.
constexpr int64_t kBusyPollNs = 2'000'000;
constexpr int64_t kIdlePollNs = 10'000'000;
constexpr int64_t kHousekeepingNs = 100'000'000;
constexpr int64_t kAnnouncePatienceNs = 300'000'000;
constexpr int64_t kUsersNs = 1'000'000'000;
constexpr int64_t kSendPatienceMs = 5'000;
constexpr int64_t kThawPatienceNs = 10'000'000'000;

class ScriptRun {
 public:
  ScriptRun(const RunInput& input, const TargetOptions& traced, const OutputOptions& output, const MessageOptions& messages)
      : program_(input.program),
        script_(input.script),
        files_(input.files),
        features_(input.kernel),
        module_name_(input.module_name),
        is_compatible_(input.is_compatible),
        traced_(traced),
        output_options_(output),
        messages_(messages),
        watch_(program_, [this](int probe, size_t, const abi::Subject& subject) { run_about(probe, subject); }),
        sampler_(
            program_,
            [this](int probe, const abi::Subject& subject, std::span<const char> stack) { run_sample(probe, subject, stack); },
            [this](pid_t pid, const sema::Site& site) { return target_->locate(pid, site); }),
        kernel_targets_(program_),
        timers_(program_),
        runs_(program_.probes.size()) {}

  Result<void> prepare();
  Result<void> start();
  Result<void> run();
  Result<void> stop();
  int finish();

 private:
  bool has_target_probes() const { return !script_.target.image.bytes.empty(); }
  // Handlers outside of spile work over the arena: their rings are read and their shards merged.
  bool shares_arena() const { return has_target_probes() || script_.kernel.over_arena; }
  bool has_uprobes() const;
  bool has_kernel_probes() const { return !script_.kernel.object.empty(); }
  bool exit_requested() const;
  bool failed() const;

  void let_controller_read_kernel();
  void walk_in_kernel();
  void warn_of_children() const;
  Result<void> run_probes(sema::ProbeKind kind);
  Result<void> run_controller_probe(int probe);
  void switch_conditions();
  void run_about(int probe, const abi::Subject& subject, int64_t at_ns = monotonic_ns());
  void run_sample(int probe, const abi::Subject& sample, std::span<const char> stack);
  Result<void> wait_and_collect();
  void housekeeping(int64_t now);
  void take_signals();
  SessionStatus describe() const;
  void announce();
  const std::string& why_processes_untrusted();
  void watch_trust();
  void warn_of_users(int64_t now);
  void stand_still();
  void await_thaw();
  void note_places();
  Result<void> record_tick();
  Result<void> send_tick();
  bool has_probes(sema::ProbeKind kind) const;
  bool ends_after_errors() const;
  Result<void> fetch_globals();
  HttpFiles::Metrics metrics_face();
  std::string losses_text();
  bool finish_record(const std::string& losses);
  bool warn_of_command() const;

  const sema::Program& program_;
  const codegen::CompiledScript& script_;
  const probes::ModuleFiles& files_;
  const kernelinfo::Features features_;
  const std::string& module_name_;
  const bool is_compatible_;
  bool has_begun_ = false;  // the begin probes have run without an error
  const TargetOptions& traced_;
  const OutputOptions& output_options_;
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
  KernelStacks kernel_stacks_;
  UniqueFd kernel_reader_;                   // for handlers of the controller that read the kernel's memory
  std::unique_ptr<UserStacks> user_stacks_;  // without a target_, which has its own
  std::unique_ptr<ProcessStacks> process_stacks_;
  std::unique_ptr<LiveRun> live_;          // null: nobody reads globals meanwhile
  std::unique_ptr<RunRecorder> recorder_;  // null: absent
  std::unique_ptr<runs::OtlpSender> otlp_;    // null: absent
  std::unique_ptr<runs::KafkaSender> kafka_;  // null: absent
  std::unique_ptr<Output> output_;
  std::unique_ptr<Controller> controller_;
  Timers timers_;
  FlightSocket flight_;
  ProcfsServer procfs_;
  StatusSocket status_;
  std::vector<uint64_t> runs_;  // of handlers in spile, by index of the probe

  int64_t armed_ns_ = 0;  // from here on -T counts
  bool announced_ = false;
  int64_t armed_at_ = 0;  // the same moment, seconds since the epoch
  int64_t next_collection_ = 0;
  int64_t next_housekeeping_ = 0;
  int64_t next_tick_ = INT64_MAX;  // of recorder_
  int64_t next_send_ = INT64_MAX;  // of otlp_
  bool stop_signal_ = false;
  std::string why_untrusted_;  // the reason of the first traced process that was not to be trusted; it stays
  bool warned_of_users_ = false;
  int64_t next_look_at_users_ = 0;
  bool pause_signal_ = false;
  bool gave_up_ = false;
};

// Does everything that can fail, before anything is touched but -c's command, which stands still.
Result<void> ScriptRun::prepare() {
  const std::shared_ptr<runs::Presenter>& presenter = output_options_.presenter;
  TRY(signals_, Signals::block(presenter && presenter->takes_signal()));
  if (output_options_.bulk && has_kernel_probes()) {
    return Error{
        "-b can't be used with kernel probes: it writes a file for each thread, and handlers in the kernel have no rings of "
        "threads",
        "leave out -b"};
  }
  if (has_kernel_probes() && !has_target_probes() && traced_.processes.size() > 1) {
    return Error{"several -x can't be used with probes that run in the kernel: such probes are for one process, or for all",
                 "leave out -x, and compare pid() in the script"};
  }
  bool follows = !traced_.command.empty() || !traced_.processes.empty();
  if (!follows && (watch_.watches_processes() || sampler_.samples() || kernel_targets_.follows())) {
    return Error{"probes on processes need a command or a process to trace",
                 "use -c COMMAND or -x PID; without --runtime=inproc, process.begin and the like are for all processes"};
  }
  TRY(memory_, ArenaMemory::create(script_));
  if (has_target_probes() || follows) {
    TRY(target_, TargetSide::create({.program = program_,
                                     .script = script_,
                                     .files = files_,
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
  if (shared.empty() && has_target_probes()) shared = target_->arena_memory();
  const bool has_two = script_.layout.kernel_offset != 0;
  TRY(arena_,
      ArenaView::create(script_.layout, shared, has_target_probes(), has_two ? script_.kernel.arena : codegen::ArenaLayout()));
  TRY(output_, Output::open(output_options_, messages_, script_));
  if (presenter && CallHistory::is_noted(script_.layout)) {
    calls_ = std::make_unique<CallHistory>(*arena_, program_, script_.string_limit);
    presenter->use_calls(*calls_);
  }
  if (output_options_.events) output_->write_events(program_, *arena_);
  if (sema::is_recorded(program_)) live_ = std::make_unique<LiveRun>(program_, script_, *arena_, traced_, output_options_.record);
  if (!output_options_.otlp.empty()) {
    if (!live_)
      return Error{"--otlp can't be used with a bundle that was made without it", "give it when the bundle is made, too"};
    TRY(otlp_, runs::OtlpSender::create(output_options_.otlp));
  }
  if (!output_options_.kafka.empty()) {
    TRY(kafka_, runs::KafkaSender::create(output_options_.kafka));
    utsname names{};
    ::uname(&names);
    output_->send_events(program_, *arena_, *kafka_, names.nodename);
  }
  if (output_options_.record.is_on()) {
    TRY(recorder_, RunRecorder::create(*live_, script_, output_options_.record));
    output_->record_by(*recorder_, *arena_);
  }
  if (target_ && (kafka_ || recorder_)) {  // events have their process
    target_->before_slots_are_reused([this] { output_->records().collect(*arena_); });
  }
  if (!program_.guru) output_->actions().trust_processes_by([this] { return why_processes_untrusted(); });
  if (output_options_.in_memory()) {
    TRY(flight_, FlightSocket::listen());
  }
  const std::span<uint8_t> own(reinterpret_cast<uint8_t*>(arena_->base()), script_.layout.size);
  const std::span<uint8_t> kernel =
      has_two ? std::span(own.data() + script_.layout.kernel_offset, script_.kernel.arena.size) : own;
  if (target_) target_->make_stacks(own, has_two ? kernel : std::span<uint8_t>(), arena_->controller_state());
  if (target_) output_->names().name_processes_by(target_->stacks());
  if (has_kernel_probes()) {
    TRY_DO(kernel_stacks_.fill(kernel, has_two ? script_.kernel.arena : script_.layout, program_.needs));
    output_->names().name_kernel_by(&kernel_stacks_);
  }
  TRY(controller_, Controller::place(script_.controller, *arena_, [this] { output_->records().collect_controller(*arena_); }));
  // of begin probes; from start() on, of all others
  if (traced_.time_limit_ns > 0) controller_->set_limit(monotonic_ns() + traced_.time_limit_ns);
  controller_->initialize();
  if (program_.needs & sema::kNeedsKernelMemory) let_controller_read_kernel();
  walk_in_kernel();

  pid_t process = 0;
  if (target_) {
    TRY(process, target_->acquire(has_kernel_probes() && !has_uprobes()));
  }
  arena_->set_target(process);
  if (process_stacks_ && !traced_.processes.empty()) process_stacks_->set_target(process, false);
  if (has_kernel_probes()) {
    TRY(kernel_, KernelSide::load(program_, script_, files_, features_, process, memory_, *arena_, messages_.verbosity()));
    warn_of_children();
  }
  return {};
}

// Begin, end and timer handlers run in spile itself: a program reads for them what the kernel alone can read.
void ScriptRun::let_controller_read_kernel() {
  auto reader = bpf::load_kernel_reader();
  if (!reader.ok()) {
    print_to(stderr, "WARNING: begin, end and timer probes can't read the kernel's memory: {}\n{}", reader.error().message,
             reader.error().hint.empty() ? "" : fmt::format("  hint: {}\n", reader.error().hint));
    return;
  }
  kernel_reader_ = std::move(reader).value();
  arena_->controller_state().kernel_reader = static_cast<uint64_t>(kernel_reader_.get()) + 1;
}

// Prepares for handlers in the kernel that ask for stacks of processes.
void ScriptRun::walk_in_kernel() {
  if (script_.layout.processes_offset == 0) return;
  UserStacks* stacks = target_ ? target_->stacks() : nullptr;
  if (!stacks) {
    const std::span<uint8_t> arena(reinterpret_cast<uint8_t*>(arena_->base()), script_.layout.size);
    user_stacks_ = std::make_unique<UserStacks>(arena, std::span<uint8_t>(), script_.layout, program_.needs);
    output_->names().name_processes_by(stacks = user_stacks_.get());
  }
  process_stacks_ =
      std::make_unique<ProcessStacks>(*stacks, *arena_, *controller_, static_cast<uint32_t>(program_.limits.max_backtrace),
                                      script_.layout.kernel_offset != 0 ? target_->arena_fd() : -1);
  output_->names().walk_stacks_by(process_stacks_.get());
  if (target_) target_->give_maps_to([this](pid_t pid, uint64_t map) { process_stacks_->take_map(pid, map); });
}

bool ScriptRun::has_uprobes() const {
  return std::ranges::any_of(program_.probes, [](const sema::Probe& probe) {
    return probe.domain == sema::Domain::kKernel &&
           std::ranges::any_of(probe.points, [](const sema::ResolvedPoint& point) { return point.site.file_offset != 0; });
  });
}

// A uprobe on one process does not hit in its children.
void ScriptRun::warn_of_children() const {
  if (traced_.processes.empty() || !traced_.children || messages_.suppress_warnings || !has_uprobes()) return;
  std::vector<pid_t> family = {traced_.first_process()};
  for (size_t i = 0; i < family.size(); ++i) {
    for (pid_t child : engine::children_of(family[i])) family.push_back(child);
  }
  if (family.size() == 1) return;
  print_to(stderr,
           "WARNING: {} of process {} {} not probed: probes that run in the kernel are for one process, or for all without -x\n",
           family.size() == 2 ? "a child" : fmt::format("{} children", family.size() - 1), traced_.first_process(),
           family.size() == 2 ? "is" : "are");
}

// spile empties the rings, so it must not be the last to run on a busy machine. Without the right to a higher priority it keeps
// its own. Children (of system()) have the usual priority.
void run_early() {
  sched_param parameters{};
  if (sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &parameters) == 0) setpriority(PRIO_PROCESS, 0, -10);
}

// Begin probes run before any other probe can be hit.
Result<void> ScriptRun::start() {
  TRY_DO(run_probes(sema::ProbeKind::kBegin));
  has_begun_ = !failed();
  if (exit_requested() || failed()) return {};
  if (kernel_ || has_target_probes()) run_early();
  if (kernel_) {
    for (const codegen::KernelCode::Copy& copy : script_.kernel.copies)
      std::memcpy(arena_->base() + copy.to, arena_->base() + copy.from, copy.size);
    TRY_DO(kernel_->export_globals(*controller_));
    TRY_DO(kernel_->attach());
  }
  if (target_) {
    TRY_DO(target_->execute());
    if (process_stacks_ && !traced_.command.empty()) process_stacks_->set_target(target_->process(), true);
    switch_conditions();
    TRY_DO(target_->arm());
    TRY_DO(sampler_.start(target_->processes()));
    if (kernel_) TRY_DO(kernel_targets_.start(*kernel_, target_->processes()));
    watch_.start(target_->processes());
    TRY_DO(target_->resume());
  }
  TRY_DO(procfs_.open(
      program_, *controller_, module_name_, output_options_.http, messages_,
      [this](int probe) {
        if (exit_requested() || failed()) return;  // of several lines that were read at once
        Result<void> ran = run_controller_probe(probe);
        if (!ran.ok()) print_to(stderr, "ERROR: {}\n", ran.error().message);
      },
      metrics_face()));
  armed_ns_ = monotonic_ns();
  if (traced_.time_limit_ns > 0) controller_->set_limit(armed_ns_ + traced_.time_limit_ns);
  armed_at_ = time(nullptr);
  if (otlp_) next_send_ = armed_ns_ + otlp_->every_ns();
  if (recorder_) {
    note_places();
    if (kernel_) recorder_->note_kernel();
    if (!output_options_.record.stream) next_tick_ = armed_ns_ + output_options_.record.every_ns;
    recorder_->note_started();
    recorder_->send();
  }
  status_ = StatusSocket::listen();
  timers_.start(armed_ns_);
  return {};
}

Result<void> ScriptRun::run() {
  while (!exit_requested() && !failed() && !stop_signal_) {
    if (target_ && target_->finished()) break;
    if (!output_->usable()) break;
    TRY_DO(wait_and_collect());
    if (std::exchange(pause_signal_, false)) stand_still();
    int64_t now = monotonic_ns();
    for (int probe : timers_.take_due(now)) {
      TRY_DO(run_controller_probe(probe));
      if (exit_requested() || failed()) break;
    }
    if (now >= next_housekeeping_) housekeeping(now);
    if (now >= next_tick_) TRY_DO(record_tick());
    if (now >= next_send_) TRY_DO(send_tick());
    if (recorder_ && recorder_->writer().failure()) break;
    if (traced_.time_limit_ns > 0 && now - armed_ns_ >= traced_.time_limit_ns) break;
  }
  return {};
}

// Sleeps until there is something to do, and does it.
Result<void> ScriptRun::wait_and_collect() {
  watch_trust();
  // Events that the engine noted while it did something else (a command that ended while it was released) do not wake ppoll().
  if (target_) {
    TRY_DO(target_->poll(*arena_, 0));
    if (target_->finished()) return {};
  }
  int64_t now = monotonic_ns();
  int64_t until = now + kHousekeepingNs;
  if (sampler_.samples()) until = std::min(until, now + sampler_.patience_ns());
  if (shares_arena()) until = std::min(until, std::max(next_collection_, now));
  if (process_stacks_) until = std::min(until, std::max(process_stacks_->next_serve_ns(), now));
  if (auto due = timers_.next_due()) until = std::min(until, *due);
  if (traced_.time_limit_ns > 0) until = std::min(until, armed_ns_ + traced_.time_limit_ns);
  until = std::min({until, next_tick_, next_send_});
  int64_t wait = std::max<int64_t>(until - now, 0);

  // Served in this order; -1: this run has no such source. The kernel's ring is read in any case.
  struct Source {
    int fd;
    std::function<Result<void>()> take;
  };
  runs::Presenter* const presenter = output_options_.presenter.get();
  runs::RunStream* const stream = output_options_.record.stream.get();
  auto done = [](auto act) { return [act]() -> Result<void> { return act(), Result<void>(); }; };
  const Source sources[] = {
      {signals_.fd(), done([this] { take_signals(); })},
      {signals_.stop_fd(), done([this] { pause_signal_ = true; })},
      {procfs_.files_fd(), done([this] { procfs_.serve_files(); })},
      {procfs_.input_fd(), done([this] { procfs_.serve_input(); })},
      {procfs_.http_fd(), done([this] { procfs_.serve_http(); })},
      {presenter ? presenter->input() : -1, done([presenter] { presenter->take_input(); })},
      {status_.fd(), done([this] { status_.serve([this] { return describe(); }); })},
      {stream ? stream->requests_fd() : -1,
       [this, stream]() -> Result<void> {
         for (uint64_t left = stream->take_requests(); left > 0; --left) TRY_DO(record_tick());
         return {};
       }},
      {flight_.fd(), done([this] { flight_.serve(output_->file()); })},
      {target_ ? target_->wait_fd() : -1, [this] { return target_->poll(*arena_, 0); }},
      {kernel_ ? kernel_->poll_fd() : -1, done([] {})},
      {sampler_.first_samples_fd(), done([] {})},
  };
  pollfd descriptors[std::size(sources)];
  for (size_t i = 0; i < std::size(sources); i++) descriptors[i] = {sources[i].fd, POLLIN, 0};
  timespec timeout{wait / 1'000'000'000, wait % 1'000'000'000};
  ppoll(descriptors, std::size(descriptors), &timeout, nullptr);
  sampler_.drain();  // before somebody asks for what the samples have changed
  for (size_t i = 0; i < std::size(sources); i++) {
    if (descriptors[i].revents != 0) TRY_DO(sources[i].take());
  }
  if (kernel_) {
    TRY([[maybe_unused]] size_t count, kernel_->consume(output_->records()));
    if (!shares_arena()) output_->records().hand_on(true);  // one ring, in order
  }
  now = monotonic_ns();
  if (process_stacks_) process_stacks_->serve();
  if (shares_arena() && now >= next_collection_) {
    bool any = output_->records().collect(*arena_);
    output_->records().hand_on(false);
    next_collection_ = now + (any ? kBusyPollNs : kIdlePollNs);
  }
  if (recorder_) recorder_->send();
  return {};
}

// For `spile list`.
SessionStatus ScriptRun::describe() const {
  return describe_session(program_, script_, *arena_, runs_, target_ ? target_->processes() : traced_.processes, armed_at_);
}

// Tells a user at a terminal what spile waits for, unless the run is over before.
void ScriptRun::announce() {
  announced_ = true;
  const runs::Presenter* presenter = output_options_.presenter.get();
  if (!shows_progress(messages_) || output_options_.flight_recorder || (presenter && presenter->input() >= 0)) return;
  const SessionStatus status = describe();
  uint64_t places = 0;
  for (const ProbeStatus& probe : status.probes) places += probe.runs_in == "spile" ? 0 : probe.places;
  if (places == 0) return;
  std::string where;
  if (!status.processes.empty()) {
    where = fmt::format(" in {} ({})", one_line(engine::ProcessStatus::read(status.processes.front()).field("Name"), 64),
                        status.processes.front());
    if (status.processes.size() > 1)
      where += fmt::format(" and {} other process{}", status.processes.size() - 1, status.processes.size() == 2 ? "" : "es");
  }
  std::string paused;
  if (target_ && target_->paused_ns() > 0) paused = fmt::format(", paused {}", time_text(target_->paused_ns()));
  print_to(stderr, "spile: armed {} place{}{}{}; Ctrl-C ends\n", with_commas(places), places == 1 ? "" : "s", where, paused);
}

void ScriptRun::take_signals() {
  Signals::Taken taken = signals_.take();
  if (taken.stop) stop_signal_ = true;
  if (taken.next_file) output_->file().next_file();
  if (taken.user && output_options_.presenter) {
    output_options_.presenter->take_signal();
    if (output_options_.presenter->has_all()) output_->actions().request_exit();
  }
}

// A process may change its user, or end, so a reason that was found once stays.
const std::string& ScriptRun::why_processes_untrusted() {
  if (!target_) return why_untrusted_;
  if (why_untrusted_.empty()) why_untrusted_ = target_->why_ended_untrusted();
  for (pid_t pid : target_->processes()) {
    if (why_untrusted_.empty()) why_untrusted_ = why_untrusted(pid);
  }
  return why_untrusted_;
}

// Remembers that a process had fewer rights than spile, for scripts in which processes make the text of commands: it may be gone,
// or released, when its record is read.
void ScriptRun::watch_trust() {
  if (!script_.commands.made_at.empty() && !program_.guru && why_untrusted_.empty()) why_processes_untrusted();
}

// Ctrl-Z. A tracer that does not answer makes its processes stand still at their next fork, thread or signal, so they are
// released before.
void ScriptRun::stand_still() {
  int64_t since = monotonic_ns();
  std::vector<pid_t> before;
  Result<void> suspended;
  if (target_) {
    before = target_->processes();
    suspended = target_->suspend();
    output_->records().collect(*arena_);
    output_->records().hand_on(true);
  }
  output_->file().flush();
  if (suspended.ok()) signals_.stand_still();
  if (!target_) return;
  if (auto resumed = target_->go_on(); !resumed.ok()) print_to(stderr, "WARNING: {}\n", resumed.error().message);
  sampler_.catch_up(target_->processes());
  kernel_targets_.catch_up(target_->processes());
  std::vector<pid_t> now = target_->processes();
  auto is_new = [&](pid_t pid) { return std::find(before.begin(), before.end(), pid) == before.end(); };
  print_to(stderr, "WARNING: {}: hits of {} process{} were not counted for {:.2f} s; {} came and {} ended meanwhile\n",
           suspended.ok() ? "spile was stopped" : fmt::format("spile did not stop: {}", suspended.error().message), before.size(),
           before.size() == 1 ? "" : "es", static_cast<double>(monotonic_ns() - since) / 1e9,
           std::count_if(now.begin(), now.end(), is_new),
           static_cast<int64_t>(before.size()) - std::count_if(now.begin(), now.end(), [&](pid_t pid) { return !is_new(pid); }));
}

// Traced processes share the arena: an attacker who controls one of them can write there what handlers in another one read.
void ScriptRun::warn_of_users(int64_t now) {
  if (now < next_look_at_users_ || warned_of_users_ || messages_.suppress_warnings || !has_target_probes() || !target_) return;
  next_look_at_users_ = now + kUsersNs;
  std::string who = different_users(target_->processes());
  if (who.empty()) return;
  warned_of_users_ = true;
  print_to(
      stderr,
      "WARNING: {} share memory while spile traces both: an attacker who controls one of them can use it to take over the other. "
      "To prevent that, end spile, and trace the processes of each user with a separate spile (-x PID)\n",
      who);
}

void ScriptRun::housekeeping(int64_t now) {
  next_housekeeping_ = now + kHousekeepingNs;
  arena_->refresh_clock();
  warn_of_users(now);
  if (!announced_ && now - armed_ns_ >= kAnnouncePatienceNs) announce();
  procfs_.serve_http();
  const Skips skips = count_skips(*arena_);
  if (runs::Presenter* const presenter = output_options_.presenter.get())
    presenter->note_losses(skips.all() + controller_->lost_elements());
  const uint64_t skipped = skips.skipped_probes();
  if (program_.limits.max_skipped > 0 && skipped > static_cast<uint64_t>(program_.limits.max_skipped)) {
    print_to(stderr, "ERROR: Skipped too many probes ({}), check MAXSKIPPED (-DMAXSKIPPED=0 to allow any number).\n", skipped);
    gave_up_ = true;
  }
}

// Handlers stop by themselves after more errors than MAXERRORS, also where the record of an error was lost.
bool ScriptRun::failed() const {
  auto most = static_cast<uint64_t>(program_.limits.max_errors);
  if (kernel_ && kernel_->errors() > most) return true;
  if (const auto* header = arena_->kernel_header(); header && __atomic_load_n(&header->errors, __ATOMIC_RELAXED) > most)
    return true;
  // Any traced process can write this word: it counts where the script's handlers there can.
  bool may_fail = script_.target_records & (abi::record_kind_bit(abi::kError) | abi::record_kind_bit(abi::kErrorText));
  return output_->errors().count() > most || gave_up_ || controller_->failure() || (target_ && target_->handler_failed()) ||
         (may_fail && std::atomic_ref<uint32_t>(arena_->header().errors).load() > most);
}

bool ScriptRun::exit_requested() const {
  if (kernel_ && kernel_->exit_requested()) return true;
  if (const auto* header = arena_->kernel_header(); header && __atomic_load_n(&header->exit_requested, __ATOMIC_RELAXED) != 0)
    return true;
  if (output_->actions().exit_requested()) return true;
  // Any traced process can write this word: it counts where the script's handlers there can.
  return script_.target_records & abi::record_kind_bit(abi::kExit) &&
         std::atomic_ref<uint32_t>(arena_->header().exit_requested).load() != 0;
}

Result<void> ScriptRun::run_probes(sema::ProbeKind kind) {
  struct Run {
    int64_t sequence;
    int probe;
    bool once;
  };
  std::vector<Run> ordered;
  // The report of globals that the script never reads is printed after errors, too.
  auto runs = [&](const sema::Probe& probe) {
    return probe.kind == kind || (kind == sema::ProbeKind::kError && probe.kind == sema::ProbeKind::kEnd && probe.is_report);
  };
  for (const sema::Probe& probe : program_.probes) {
    if (!runs(probe)) continue;
    for (const sema::ResolvedPoint& point : probe.points) ordered.push_back({point.sequence, probe.index, point.once});
  }
  std::stable_sort(ordered.begin(), ordered.end(), [](const Run& a, const Run& b) { return a.sequence < b.sequence; });
  for (const Run& run : ordered) {
    TRY_DO(run_controller_probe(run.probe));
    if (run.once) output_->actions().request_exit();
    // exit() in a begin probe lets the remaining begin probes be; end probes all run.
    if (kind == sema::ProbeKind::kBegin && (exit_requested() || failed())) break;
  }
  return {};
}

// Makes the controller's copies of globals those of now.
Result<void> ScriptRun::fetch_globals() {
  if (shares_arena()) {
    output_->records().collect(*arena_);  // merging waits for handlers, and these may wait for room in their rings
    controller_->merge();
  }
  if (kernel_) TRY_DO(kernel_->import_globals(*controller_));
  return {};
}

// Null: globals can't be read meanwhile, or the script has probes that say what others may read.
HttpFiles::Metrics ScriptRun::metrics_face() {
  if (!live_ || has_probes(sema::ProbeKind::kProcfsRead)) return nullptr;
  return [this](bool is_open_metrics) {
    if (Result<void> fetched = fetch_globals(); !fetched.ok()) print_to(stderr, "ERROR: {}\n", fetched.error().message);
    return runs::metrics_text(live_->facts(), live_->probes(), live_->globals(), live_->tick(*controller_, runs_),
                              is_open_metrics);
  };
}

Result<void> ScriptRun::send_tick() {
  next_send_ = monotonic_ns() + otlp_->every_ns();
  TRY_DO(fetch_globals());
  if (shares_arena()) output_->records().hand_on(false);
  otlp_->send(runs::otlp_metrics(live_->facts(), live_->probes(), live_->globals(), live_->tick(*controller_, runs_)));
  return {};
}

void ScriptRun::note_places() {
  if (!target_) return;
  recorder_->note_modules(target_->processes());
  recorder_->note_armed(target_->places_by_mechanism(), target_->paused_ns());
}

Result<void> ScriptRun::record_tick() {
  if (!output_options_.record.stream) next_tick_ = monotonic_ns() + output_options_.record.every_ns;
  TRY_DO(fetch_globals());
  if (shares_arena()) output_->records().hand_on(false);
  note_places();
  recorder_->add_tick(*controller_, runs_);
  return {};
}

Result<void> ScriptRun::run_controller_probe(int probe) {
  TRY_DO(fetch_globals());
  ++runs_[static_cast<size_t>(probe)];
  controller_->run_probe(probe);
  switch_conditions();
  if (kernel_) TRY_DO(kernel_->export_globals(*controller_));
  // Text that handlers elsewhere printed earlier is written earlier.
  if (shares_arena()) output_->records().collect(*arena_);
  output_->records().collect_controller(*arena_);
  output_->records().hand_on(true);
  return {};
}

// A handler in the controller may have changed what conditions of probes depend on.
void ScriptRun::switch_conditions() {
  if (target_ && has_target_probes())
    target_->switch_conditions([this](int probe) { return controller_->condition_holds(probe); });
}

// Runs a probe on the life of a process, from within the engine. at_ns: when this was.
void ScriptRun::run_about(int probe, const abi::Subject& subject, int64_t at_ns) {
  if (exit_requested() || failed()) return;
  abi::Subject& about = arena_->controller_state().subject;
  about = subject;
  about.module_map = target_->module_map_of(static_cast<pid_t>(subject.pid), at_ns);
  auto ran = run_controller_probe(probe);
  about.active = 0;
  if (!ran.ok()) print_to(stderr, "WARNING: {}\n", ran.error().message);
}

// A sample has the thread's number and registers; its name is read from /proc now.
void ScriptRun::run_sample(int probe, const abi::Subject& sample, std::span<const char> stack) {
  abi::Subject subject = sample;
  subject.time_ns = arena_->time_of(abi::time_counter()) - (monotonic_ns() - sample.time_ns);
  subject.stack_size = arena_->keep_stack(stack);
  describe_thread(subject, static_cast<pid_t>(sample.pid), static_cast<pid_t>(sample.tid));
  run_about(probe, subject, sample.time_ns);
}

// A frozen process can't be restored: its mappings are undone by system calls that it makes itself.
void ScriptRun::await_thaw() {
  std::vector<pid_t> frozen = target_->frozen();
  if (frozen.empty()) return;
  (void)signals_.take();  // the signal that has ended the session
  print_to(stderr,
           "WARNING: process {} is frozen by its control group: waiting up to {} s for it to be thawed, to restore its code "
           "(Ctrl-C stops waiting)\n",
           frozen.front(), kThawPatienceNs / 1'000'000'000);
  int64_t until = monotonic_ns() + kThawPatienceNs;
  pollfd signal{signals_.fd(), POLLIN, 0};
  constexpr int kOftenMs = 50;
  while (!target_->frozen().empty() && monotonic_ns() < until) {
    if (::poll(&signal, 1, kOftenMs) > 0 && signals_.take().stop) return;
  }
}

// Removes all probes, so that every target is as it was, then runs the end probes.
Result<void> ScriptRun::stop() {
  controller_->set_limit(0);  // end probes take the time that they need
  if (output_options_.presenter) {
    output_->records().collect(*arena_);
    output_->records().hand_on(true);
    output_options_.presenter->before_end();
  }
  status_ = StatusSocket();  // nothing is armed from here on
  procfs_.close();
  arena_->enable(false);
  watch_trust();              // while it is known which processes are traced
  output_->records().collect(*arena_);  // a thread that waits for room in its ring goes on, and leaves its handler
  sampler_.stop();
  watch_.stop();
  kernel_targets_.stop();
  if (kernel_) {
    if (auto quiet = kernel_->detach(); !quiet.ok())
      print_to(stderr, "WARNING: {}: the last hits may be missing\n", quiet.error().message);
    for (size_t count = 1; count > 0;) {
      TRY(count, kernel_->consume(output_->records()));
    }
  }
  Result<void> detached;
  if (target_) await_thaw();
  if (recorder_) note_places();  // loaded since the last tick
  if (target_) detached = target_->detach();
  if (target_ && detached.ok()) detached = target_->poll(*arena_, 0);  // a handler may have been left in order to remove it
  output_->records().collect(*arena_);
  output_->records().hand_on(true);
  // End probes may clear what was counted.
  if (otlp_) TRY_DO(send_tick());
  if (recorder_) TRY_DO(record_tick());
  // Counts are reported even where not all probes could be removed.
  TRY_DO(run_probes(failed() && !ends_after_errors() ? sema::ProbeKind::kError : sema::ProbeKind::kEnd));
  output_->finish_presentation();
  return detached;
}

bool ScriptRun::has_probes(sema::ProbeKind kind) const {
  return std::any_of(program_.probes.begin(), program_.probes.end(),
                     [&](const sema::Probe& probe) { return probe.kind == kind && !probe.is_report; });
}

// After errors, `probe error` runs. A script without one has its end probes run instead, so that what was collected is not lost;
// but not where the begin probes have failed, as nothing was collected then. Warns of end probes that do not run.
bool ScriptRun::ends_after_errors() const {
  if (has_probes(sema::ProbeKind::kError) || !has_probes(sema::ProbeKind::kEnd)) return false;
  if (has_begun_ && !is_compatible_) return true;
  if (!messages_.suppress_warnings) {
    print_to(stderr,
             "WARNING: the end probes were not run because of {}\n  hint: `probe end, error {{ ... }}` runs after errors, too\n",
             has_begun_ ? "the errors (--compatible)" : "errors of the begin probes");
  }
  return false;
}

std::string text_of(const std::vector<std::string>& warnings) {
  std::string text;
  for (const std::string& warning : warnings) text += fmt::format("WARNING: {}\n", warning);
  return text;
}

// Returns "WARNING: ..." lines about what was not counted or not printed.
std::string ScriptRun::losses_text() {
  const std::string when_full =
      messages_.verb.is_set() ? messages_.verb.when_full : "raise -DMAXMAPENTRIES, or the size in its declaration";
  std::string text = count_skips(*arena_).text(when_full) + text_of(output_->errors().refusals());
  if (output_options_.presenter) text += output_options_.presenter->losses();
  if (kernel_) text += kernel_->skips_text(when_full);
  if (const UserStacks* stacks = target_ ? target_->stacks() : user_stacks_.get()) text += stacks->losses();
  if (process_stacks_ && process_stacks_->cut_stacks() > 0) {
    text += fmt::format(
        "WARNING: {} user stacks in values were cut off: spile had not read yet what the process had mapped, or it ran code "
        "that is in no file\n",
        process_stacks_->cut_stacks());
  }
  text += timers_.losses_text();
  if (sampler_.lost() > 0)
    text += fmt::format("WARNING: {} samples were lost: they came faster than they could be taken\n", sampler_.lost());
  if (const auto& profile = sampler_.profile(); profile.threads > 0 && profile.samples == 0) {
    text += fmt::format(
        "WARNING: timer.profile took no sample: {} thread{} used {:.1f} ms of processor time in all, and samples are {:g} ms "
        "apart\n",
        profile.threads, profile.threads == 1 ? "" : "s", static_cast<double>(profile.unseen_ns) / 1e6,
        static_cast<double>(profile.period_ns) / 1e6);
  }
  if (target_ && target_->handed_over() > 0) {
    text += fmt::format(
        "WARNING: {} process{} released before another tracer attached to {} (see -v): later hits there were not counted\n",
        target_->handed_over(), target_->handed_over() == 1 ? " was" : "es were", target_->handed_over() == 1 ? "it" : "them");
  }
  if (controller_->lost_elements() > 0) {
    text += fmt::format("WARNING: {} array elements lost, array full ({})\n", controller_->lost_elements(), when_full);
  }
  return text;
}

// Ends the document. Returns whether it is whole.
bool ScriptRun::finish_record(const std::string& losses) {
  recorder_->finish(realtime_offset_ns() + monotonic_ns(), losses);
  const runs::RunWriter& writer = recorder_->writer();
  if (const Error* failure = writer.failure()) {
    print_to(stderr, "ERROR: {}\n", failure->message);
    if (!failure->hint.empty()) print_to(stderr, "  hint: {}\n", failure->hint);
    return false;
  }
  if (shows_progress(messages_)) {
    print_to(stderr, "spile: recorded {} event{} in {} ({} bytes); spile report {} shows them\n", with_commas(writer.events()),
             writer.events() == 1 ? "" : "s", writer.path(), with_commas(writer.bytes()), writer.path());
  }
  return true;
}

// Warns of a command (-c) that did not succeed. Returns whether it did not.
bool ScriptRun::warn_of_command() const {
  if (!target_ || !target_->command_status()) return false;
  const int status = *target_->command_status();
  if (WIFSIGNALED(status)) {
    print_to(stderr, "WARNING: Child process exited with signal {} ({})\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    return true;
  }
  if (WEXITSTATUS(status) == 0) return false;
  print_to(stderr, "WARNING: Child process exited with status {}\n", WEXITSTATUS(status));
  return true;
}

int ScriptRun::finish() {
  output_->finish_streams(*arena_);
  output_->actions().wait_for_commands(signals_.fd());
  if (target_) target_->warn_never_loaded();
  if (const Error* failure = controller_->failure()) print_to(stderr, "ERROR: {}\n  hint: {}\n", failure->message, failure->hint);
  bool all_well = !failed() && !output_->write_failed();
  if (otlp_) otlp_->finish(kSendPatienceMs);
  if (kafka_) kafka_->finish(kSendPatienceMs);
  const std::string losses = losses_text() + (otlp_ ? otlp_->losses() : "") + (kafka_ ? kafka_->losses() : "");
  if (!messages_.suppress_warnings) print_to(stderr, "{}", losses);
  const std::string repeated = text_of(output_->errors().repeated());
  if (recorder_ && !finish_record(losses + repeated)) all_well = false;
  uint64_t skipped = count_skips(*arena_).skipped_probes(), errors = output_->errors().count() + output_->errors().suppressed();
  if (!messages_.verb.is_set() || !messages_.suppress_warnings) print_to(stderr, "{}", repeated);
  if (errors > 0 || skipped > 0) {
    print_to(stderr, "WARNING: Number of errors: {}, skipped probes: {}\n", errors, skipped);
  }
  if (warn_of_command()) all_well = false;
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
