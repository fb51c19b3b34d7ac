#include "engine/process_lives.h"

#include <errno.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "engine/change/removal.h"
#include "engine/process/call_restriction.h"
#include "engine/process/descendants.h"
#include "engine/process/memory_map.h"
#include "engine/process/refusal.h"
#include "engine/space/signal_actions.h"
#include "engine/space/space_calls.h"
#include "engine/space/space_setup.h"
#include "engine/space/thread_identities.h"

namespace spile::engine {

Result<pid_t> ProcessLives::launch(const LaunchOptions& options) {
  TRY(held_, Launcher::start(options));
  const pid_t pid = held_->pid();
  auto process = tracer_.seize_child(pid);
  if (!process.ok()) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    return std::move(process).error();
  }
  waiting_.insert(pid);
  if (!options.before_exec) TRY_DO(execute());
  return pid;
}

Result<void> ProcessLives::execute() {
  if (!held_) return {};
  Launcher launcher = *std::exchange(held_, {});
  const pid_t pid = launcher.pid();
  launcher.go();
  if (auto failure = launcher.failure()) {
    while (tracer_.find_process(pid)) tracer_.pump(100);
    waiting_.erase(pid);
    reports_.forget(pid);
    return *failure;
  }
  // The exec event is on its way: process_executed holds the thread for us.
  while (tracer_.find_process(pid) && !works_.contains(DeferredWork::kExec, pid)) tracer_.pump(100);
  works_.perform();
  if (!tracer_.find_process(pid)) return Error{fmt::format("{} ended before its first instruction", launcher.program()), ""};
  return {};
}

// Gives a process the address space of a traced process in whose memory it runs, which is not always its parent (CLONE_PARENT).
// False: it runs in no such memory.
bool ProcessLives::join_space(Process& process) {
  for (auto& [pid, other] : tracer_.processes()) {
    if (other.get() == &process || !other->space || !share_memory(process.pid, pid, 0)) continue;
    process.space = other->space;
    process.space->users.push_back(&process);
    count_borrowers(*process.space);
    if (calls_.sharers_changed(*process.space)) works_.add({DeferredWork::kSharers, process.pid, 0});
    return true;
  }
  return false;
}

Descendants ProcessLives::attach_descendants() {
  return attach_to_descendants({
      .traced =
          [this] {
            tracer_.pump(0);
            works_.perform();
            return processes();
          },
      .is_traced = [this](pid_t pid) { return tracer_.find_process(pid) || tracer_of(pid) == gettid(); },
      .attach = [this](pid_t pid) { return attach(pid); },
  });
}

Result<void> ProcessLives::attach(pid_t pid) {
  auto deadline = Tracer::Clock::now() + std::chrono::seconds(2);
  for (;;) {
    ProgramRun before = ProgramRun::of(pid);
    auto attached = attach_now(pid);
    if (attached.ok() || tracer_.find_process(pid) || Tracer::Clock::now() > deadline || !before.has_changed(pid))
      return attached;
    tracer_.pump(2);
  }
}

Result<void> ProcessLives::attach_now(pid_t pid) {
  if (auto filters = check_filters(pid); !filters.ok()) return std::move(filters).error().within(fmt::format("attach {}", pid));
  TRY(Process * process, tracer_.seize(pid));
  if (process->space) return {};  // it has executed a program meanwhile
  if (join_space(*process)) {
    for (Process* sharer : tracer_.seize_sharers(*process)) join_space(*sharer);
    return {};
  }
  auto space = std::make_shared<AddressSpace>();
  space->users = {process};
  process->space = space;
  for (Process* sharer : tracer_.seize_sharers(*process)) {
    sharer->space = space;
    space->users.push_back(sharer);
  }
  // While all threads stand still we know whether it has executed another program, which is armed by the work that is queued
  // then.
  TRY_DO(tracer_.keep_still(space->users, options_.stop_patience_ms));
  auto has_executed = [&] {
    Process* now = tracer_.find_process(pid);
    return now && now->space != space;
  };
  if (has_executed()) return tracer_.let_go(space->users), Result<void>();
  auto prepared = prepare_space(*space, pid);
  if (prepared.ok() || has_executed()) return {};
  if (tracer_.keep_still(space->users, options_.stop_patience_ms).ok()) {
    if (has_executed()) return tracer_.let_go(space->users), Result<void>();
    for (Process* user : std::vector(space->users)) tracer_.release(*user);
  }
  return std::move(prepared).error().within(fmt::format("attach {}", pid));
}

// Removes what a killed controller has left, and arms the process. REQUIRES: it is kept still; this lets it go.
Result<void> ProcessLives::prepare_space(AddressSpace& space, pid_t pid) {
  auto open = [&]() -> Result<AddressSpace> {
    TRY(space.memory, TargetMemory::open(pid));
    return find_remains(pid);
  };
  auto remains = open();
  // If the process can call ptrace(2), it must not run before the trap on that call is in place: the call would fail.
  bool stands = remains.ok() && remains->empty() && arming_.watches_tracing(space);
  if (!stands) tracer_.let_go(space.users);
  if (!remains.ok()) return std::move(remains).error();
  // Sites of a killed controller are taken out before ours are armed.
  if (!remains->empty()) {
    space.inherit(*remains);
    ArmingState::Change change(space.arming);
    TRY_DO(remove_all(tracer_, space, options_.stop_patience_ms));
    space.overwritten.clear();  // the killed controller's, which may not have written them yet
  }
  Reports reports;
  auto armed = arming_.can_arm(space) ? arming_.arm_space(space, reports) : Result<void>();
  if (stands) tracer_.let_go(space.users);
  TRY_DO(armed);
  reports_.report_armed(pid, reports);
  return {};
}

void ProcessLives::resume_all() {
  for (pid_t pid : std::exchange(waiting_, {})) works_.release_hold(pid);
}

std::vector<pid_t> ProcessLives::processes() const {
  std::vector<pid_t> pids;
  for (auto& [pid, process] : tracer_.processes()) pids.push_back(pid);
  return pids;
}

Result<std::vector<Module>> ProcessLives::modules(pid_t pid) {
  Process* process = tracer_.find_process(pid);
  if (!process || !process->space) return Error{fmt::format("process {} is not traced", pid), ""};
  return find_modules(pid, process->space->memory);
}

static void note_parents_pointer(const Thread& parent, Thread& child) {
  ThreadRegisters registers;
  if (!native_architecture().read_registers(parent.tid, registers).ok()) return;
  child.parents_pointer = native_architecture().thread_pointer(registers);
}

void ProcessLives::process_forked(Thread& parent, Process& child, const ProcessStatus& status, bool shares_memory) {
  reports_.report(nullptr, {.kind = Event::Kind::kProcessStarted, .pid = child.pid, .parent = parent.process->pid});
  for (auto& [id, guest] : arming_.clients().all()) {
    if (guest->follows.contains(parent.process->pid)) guest->follows.insert(child.pid);
  }
  reports_.watch(ThreadChange::Kind::kProcessBorn, child.pid, child.pid);
  child.gained_rights = parent.process->gained_rights;
  std::shared_ptr<AddressSpace> from = parent.process->space;
  if (!from) return;
  child.actions = parent.process->actions;
  if (shares_memory) {
    note_parents_pointer(parent, *child.threads.at(child.pid));
    child.space = from;
    from->users.push_back(&child);
    count_borrowers(*from);
    if (calls_.sharers_changed(*from))
      works_.hold_for({DeferredWork::kSharers, child.pid, child.pid}, *child.threads.at(child.pid));
    return;
  }
  auto memory = TargetMemory::open(child.pid);
  if (!memory.ok()) return arming_.note_trouble(child.pid, memory.error());
  auto space = std::make_shared<AddressSpace>();
  space->memory = std::move(memory).value();
  space->users = {&child};
  space->inherit(*from);
  child.space = space;
  child.call_restriction = parent.process->call_restriction;
  // Its table of thread slots is empty, so its handlers can't finish the calls that its parent had pending. We can, but only now:
  // what is known of the parent may be gone later.
  arming_.write_module_maps(*space);
  introduce_fork(*space, child.pid);
  calls_.begin_child(*space, child);
  ThreadRegisters registers;
  if (native_architecture().read_registers(parent.tid, registers).ok()) {
    resolve_pending_returns(*from, native_architecture().thread_pointer(registers), space->memory);
  }
  own_returns(*space, child.pid);  // if we are killed before, the child finds what is pending in its parent's slots
  tracer_.hold(*child.threads.at(child.pid));
  works_.add({DeferredWork::kFork, child.pid, child.pid, from->arming.is_changing() || parent.pc_unchecked});
}

// Mostly a child is armed by being a copy of its parent. If it was copied while its parent was being armed, all that it has got
// is taken out, and it is armed as a new program is.
void ProcessLives::finish_fork(const DeferredWork& work) {
  Process* child = tracer_.find_process(work.pid);
  Thread* first = tracer_.find_thread(work.pid);
  if (child && first && tracer_.await_stop(*first).ok()) {
    std::shared_ptr<AddressSpace> space = child->space;
    for (auto& [id, client] : space->clients) (void)measure_arena(*space, client);
    bool anew = work.anew || !space->is_mapped();
    if (anew) {
      child->stops_at_calls = true;
      space->calls.set_gap(kNotArmed);
    }
    Reports reports;
    auto arm = [&]() -> Result<void> {
      if (anew) TRY_DO(remove_all(tracer_, *space, options_.stop_patience_ms));
      space->overwritten.clear();  // had not been written when it was forked
      if (anew ? arming_.can_arm(*space) : arming_.lacks_sites(*space)) TRY_DO(arming_.arm_space(*space, reports));
      return {};
    };
    auto armed = arm();
    reports_.report_armed(work.pid, reports);
    arming_.note_failure(*space, work.pid, armed);
  }
  works_.release_hold(work.tid);
}

void ProcessLives::process_executed(Process& process) {
  bool ours = waiting_.contains(process.pid);
  bool handlers_reported = !std::exchange(process.stops_at_calls, true);  // one that is no more
  if (process.space) arming_.vacate_slots(*process.space, process.pid);
  leave_space(process);
  process.space = std::make_shared<AddressSpace>();
  Thread& survivor = *process.threads.at(process.pid);
  survivor.introduced = false;
  if (ours || handlers_reported) survivor.calls.is_open = handlers_reported && !ours;
  process.actions = {};
  process.space->calls.restrict(process.call_restriction);
  survivor.parents_pointer = 0;
  survivor.calls.interrupted.clear();
  survivor.shown_faults.clear();
  survivor.calls.moved_to = Address();
  process.space->users = {&process};
  tracer_.hold(*process.threads.at(process.pid));
  works_.add({DeferredWork::kExec, process.pid, process.pid});
}

void ProcessLives::finish_exec(const DeferredWork& work) {
  Process* process = tracer_.find_process(work.pid);
  if (process) {
    Event executed{.kind = Event::Kind::kProcessExecuted, .pid = work.pid};
    Reports reports;
    std::shared_ptr<AddressSpace> space = process->space;
    auto arm_anew = [&]() -> Result<void> {
      TRY(space->memory, TargetMemory::open(work.pid));
      reports_.watch(ThreadChange::Kind::kExecuted, work.pid, work.pid);
      TRY(auto present, modules(work.pid));
      for (const Module& module : present) {
        if (module.main_executable) executed.path = module.path;
      }
      // Other processes that have the arena mapped could take it over.
      bool gains = !waiting_.contains(work.pid) && has_gained_rights(work.pid);
      process->gained_rights |= gains;
      space->arming.set_refused(process->gained_rights);
      if (!arming_.can_arm(*space)) return {};
      if (gains)
        return Error{executed.path +
                         " has privileges of its own (set-uid, set-gid or capabilities): neither it nor what it starts is probed",
                     ""};
      if (process->gained_rights) return {};
      return arming_.arm_space(*space, reports);
    };
    auto armed = arm_anew();
    if (lacks_file_rights(work.pid)) {
      arming_.note_trouble(work.pid,
                           Error{executed.path + " is set-uid or set-gid, and runs without those privileges while it is traced",
                                 "run spile as root"});
    }
    executed.report = std::exchange(reports[kOwnClient], {});
    reports_.report(nullptr, std::move(executed));
    reports_.report_armed(work.pid, reports);
    arming_.note_failure(*space, work.pid, armed);
  }
  if (!waiting_.contains(work.pid)) works_.release_hold(work.tid);
}

void ProcessLives::hand_over(pid_t pid, const std::string& reason) {
  Process* process = tracer_.find_process(pid);
  if (!process) return;
  std::shared_ptr<AddressSpace> space = process->space;
  if (space && space->users.size() == 1 && space->memory.is_open()) {
    auto removed = [&] {
      ArmingState::Change change(space->arming);
      return remove_all(tracer_, *space, options_.stop_patience_ms);
    }();
    arming_.note_failure(*space, pid, removed);
    arming_.report_overwritten(*space, pid);
  }
  process = tracer_.find_process(pid);
  if (!process) return;
  auto still = tracer_.keep_still({process}, options_.stop_patience_ms);
  process = tracer_.find_process(pid);
  if (!process) return;
  if (!still.ok()) return arming_.note_trouble(pid, still.error());
  if (!process->launched) handed_over_.insert(pid);
  reports_.report(nullptr, {.kind = Event::Kind::kReleased, .pid = pid, .message = reason});
  leave_space(*process);
  waiting_.erase(pid);
  tracer_.release(*process);
  auto deadline = Tracer::Clock::now() + std::chrono::milliseconds(options_.stop_patience_ms);
  while (!tracer_.all_released() && Tracer::Clock::now() < deadline) tracer_.pump(5);
}

void ProcessLives::look_after_handed_over() {
  constexpr std::chrono::milliseconds kOften(50);
  if (handed_over_.empty() || Tracer::Clock::now() - looked_after_ < kOften) return;
  looked_after_ = Tracer::Clock::now();
  std::erase_if(handed_over_, [&](pid_t pid) {
    std::string state = process_status(pid, "State");
    if (!state.empty() && state[0] != 'Z' && state[0] != 'X') return false;
    reports_.report(nullptr, {.kind = Event::Kind::kProcessExited, .pid = pid});
    for (auto& [id, guest] : arming_.clients().all()) guest->follows.erase(pid);
    return true;
  });
}

void ProcessLives::process_exited(Process& process, int status) {
  reports_.watch(ThreadChange::Kind::kProcessEnded, process.pid, process.pid);
  leave_space(process);
  waiting_.erase(process.pid);
  reports_.report(nullptr, {.kind = Event::Kind::kProcessExited, .pid = process.pid, .parent = process.parent, .status = status});
  for (auto& [id, guest] : arming_.clients().all()) guest->follows.erase(process.pid);
}

void ProcessLives::leave_space(Process& process) {
  if (!process.space) return;
  AddressSpace& space = *process.space;
  std::erase(space.users, &process);
  count_borrowers(space);
  if (!space.users.empty() && calls_.sharers_changed(space)) works_.add({DeferredWork::kSharers, pid_of(space), 0});
}

void ProcessLives::thread_born(Thread& parent, Thread& thread, const ProcessStatus& status) {
  note_parents_pointer(parent, thread);
  if (arming_.may_fault() && should_learn_actions(*thread.process, status)) {
    works_.hold_for({.kind = DeferredWork::kActions, .pid = thread.process->pid, .tid = thread.tid}, thread);
  }
  reports_.watch(ThreadChange::Kind::kThreadBorn, thread.process->pid, thread.tid);
}

void ProcessLives::thread_ending(Thread& thread) {
  const AddressSpace* space = thread.process->space.get();
  if (auto call = space ? calls_.last_call(*space, thread) : std::nullopt) {
    options_.events.watch_threads(
        {.kind = ThreadChange::Kind::kSystemCall, .pid = thread.process->pid, .tid = thread.tid, .registers = *call});
  }
  reports_.watch(ThreadChange::Kind::kThreadEnding, thread.process->pid, thread.tid);
}

}  // namespace spile::engine
