#include "engine/trace/tracer.h"

#include <errno.h>
#include <fmt/format.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <thread>

#include "base/processes/proc.h"
#include "engine/process/refusal.h"
#include "engine/trace/thread_seizure.h"

namespace spile::engine {
namespace {

// Programs may make threads and children as fast as they are received.
constexpr std::chrono::milliseconds kLongestSweep(20);
constexpr int kSweepPause = 5;                             // times what a sweep of all threads takes, between two of them
constexpr std::chrono::milliseconds kPatienceForEach(10);  // thread that is to stop

constexpr int kSystemCallStop = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD

// Whether the thread is in uninterruptible sleep, or has ended, even if another call of wait has received its end.
bool is_out_of_user_space(pid_t tid) {
  std::string state = process_status(tid, "State");
  return state.empty() || state[0] == 'D' || state[0] == 'Z' || state[0] == 'X';
}

bool is_stop_signal(int signal) { return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU; }

}  // namespace

bool share_memory(pid_t a, pid_t b, int event) {
  long same = syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);
  if (same < 0) return event == PTRACE_EVENT_VFORK;  // no CONFIG_KCMP
  return same == 0;
}

Result<std::unique_ptr<Tracer>> Tracer::create(TraceListener& listener, TraceWishes wishes) {
  std::unique_ptr<Tracer> tracer(new Tracer(listener));
  tracer->wishes_ = wishes;
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  if (int error = pthread_sigmask(SIG_BLOCK, &child, &tracer->original_mask_)) {
    return Error::from_errno("block SIGCHLD", error);
  }
  tracer->signal_fd_ = UniqueFd(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!tracer->signal_fd_) return Error::from_errno("signalfd", errno);
  tracer->sweep_timer_ = UniqueFd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  tracer->wait_timer_ = UniqueFd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!tracer->sweep_timer_ || !tracer->wait_timer_) return Error::from_errno("timerfd_create", errno);
  tracer->wait_fd_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  if (!tracer->wait_fd_) return Error::from_errno("epoll_create1", errno);
  for (int fd : {tracer->signal_fd_.get(), tracer->sweep_timer_.get(), tracer->wait_timer_.get()}) {
    epoll_event readable{.events = EPOLLIN, .data = {}};
    if (epoll_ctl(tracer->wait_fd_.get(), EPOLL_CTL_ADD, fd, &readable) != 0) return Error::from_errno("epoll_ctl", errno);
  }
  return tracer;
}

Tracer::~Tracer() { pthread_sigmask(SIG_SETMASK, &original_mask_, nullptr); }

bool Thread::is_at_end() const {
  return event == PTRACE_EVENT_EXIT ||
         (kind == StopKind::kSystemCall && (calls.number == SYS_exit || calls.number == SYS_exit_group));
}

Process* Tracer::find_process(pid_t pid) {
  auto found = processes_.find(pid);
  return found == processes_.end() ? nullptr : found->second.get();
}

Process* Tracer::next_process(uint64_t after) {
  Process* next = nullptr;
  for (auto& [pid, process] : processes_) {
    if (process->serial > after && (!next || process->serial < next->serial)) next = process.get();
  }
  return next;
}

Thread* Tracer::find_thread(pid_t tid) {
  auto found = threads_.find(tid);
  return found == threads_.end() ? nullptr : found->second;
}

Process& Tracer::add_process(pid_t pid) {
  auto& process = processes_[pid];
  process = std::make_unique<Process>();
  process->pid = pid;
  process->serial = ++met_;
  return *process;
}

Thread& Tracer::add_thread(Process& process, pid_t tid) {
  auto& thread = process.threads[tid];
  thread = std::make_unique<Thread>();
  thread->tid = tid;
  thread->process = &process;
  threads_[tid] = thread.get();
  return *thread;
}

Result<void> Tracer::seize_threads(Process& process) {
  pid_t pid = process.pid;
  std::optional<ThreadSeizure> seizure;
  auto seize_one = [&](pid_t tid) {
    if (process.threads.empty()) return ptrace(PTRACE_SEIZE, tid, 0, options()) == 0 ? 0 : errno;
    if (!seizure) seizure.emplace();
    return seizure->seize(tid, options(), kPatienceForEach);
  };
  auto since = Clock::now();
  // Threads may start others until all are seized; those that seized threads start are traced from birth.
  for (bool found = true; found;) {
    found = false;
    for (pid_t tid : threads_of(process.pid)) {
      if (process.threads.contains(tid)) continue;
      int error = seize_one(tid);
      if (error == ETIMEDOUT) {
        TRY_DO(wait_for_sleeper(pid, since));
        if (!find_process(pid)) return explain_refusal(pid, ESRCH);
        found = true;
        break;
      }
      if (error != 0) {
        // Threads that are ending can't be seized. One born to a seized thread between the listing and now is ours
        // already, and its birth not yet received.
        if (error == ESRCH || has_ended(tid)) continue;
        if (tracer_of(tid) == gettid()) {
          if (tid != process.pid || process.threads.empty()) continue;
          // A seized thread has executed a program, and has taken the first thread's number.
          for (auto& [former, thread] : process.threads) {
            threads_.erase(former);
            if (!process_status(former, "State").empty()) departed_.insert(former);
          }
          process.threads.clear();
          add_thread(process, tid);
          found = true;
          continue;
        }
        return explain_refusal(process.pid, error);
      }
      add_thread(process, tid);
      found = true;
    }
  }
  if (process.threads.empty()) return explain_refusal(process.pid, ESRCH);
  return {};
}

Result<Process*> Tracer::seize(pid_t pid) {
  if (find_process(pid)) return Error{fmt::format("attach {}: already attached", pid), ""};
  TRY_DO(check_attachable(pid));
  Process& process = add_process(pid);
  if (auto seized = seize_threads(process); !seized.ok()) {
    // Seized threads can only be let go while stopped.
    Process* left = find_process(pid);
    if (left && !left->threads.empty() && keep_still({left}, 1000).ok() && find_process(pid)) release(*left);
    processes_.erase(pid);
    return std::move(seized).error();
  }
  return &process;
}

std::vector<Process*> Tracer::seize_sharers(Process& process) {
  std::vector<Process*> found;
  std::vector<Process*> left = {&process};
  while (!left.empty()) {
    pid_t parent = left.back()->pid;
    left.pop_back();
    for (pid_t child : children_of(parent)) {
      // Children that it vforks from here on are traced from birth.
      if (find_process(child) || !share_memory(parent, child, 0)) continue;
      auto seized = seize(child);
      if (!seized.ok()) continue;
      if (!share_memory(parent, child, 0)) {  // it has run another program in between
        if (keep_still({*seized}, 1000).ok() && find_process(child)) release(**seized);
        continue;
      }
      (*seized)->parent = parent;
      found.push_back(*seized);
      left.push_back(*seized);
    }
  }
  return found;
}

Result<Process*> Tracer::seize_child(pid_t pid) {
  if (ptrace(PTRACE_SEIZE, pid, 0, options()) != 0) return explain_refusal(pid, errno);
  Process& process = add_process(pid);
  process.launched = true;
  add_thread(process, pid);
  return &process;
}

bool Tracer::pump(int timeout_ms) {
  auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  bool any = false;
  for (;;) {
    // Emptied before the statuses are collected, so that no later one is missed.
    signalfd_siginfo info;
    while (read(signal_fd_.get(), &info, sizeof info) > 0) {
      owes_sweep_ = true;  // it may stand for others, too
      if (are_many()) any |= receive_one(static_cast<pid_t>(info.ssi_pid));
    }
    uint64_t expirations;
    (void)!read(sweep_timer_.get(), &expirations, sizeof expirations);
    if (read(wait_timer_.get(), &expirations, sizeof expirations) > 0) interrupt_waits_that_are_over();
    any |= are_many() ? receive_likely() : sweep();
    if (any || timeout_ms == 0) return any;
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (timeout_ms > 0 && left <= 0) return false;
    pollfd wait{wait_fd_.get(), POLLIN, 0};
    ::poll(&wait, 1, timeout_ms < 0 ? -1 : static_cast<int>(left));
  }
}

// Receives from threads that may have a status.
bool Tracer::sweep() {
  int status;
  pid_t tid;
  bool any = false;
  auto enough = Clock::now() + kLongestSweep;
  while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
    receive(tid, status);
    any = true;
    if (Clock::now() < enough) continue;
    raise(SIGCHLD);  // blocked: wait_fd() is readable again
    break;
  }
  return any;
}

bool Tracer::receive_one(pid_t tid) {
  int status;
  if (waitpid(tid, &status, __WALL | WNOHANG) != tid) return false;
  receive(tid, status);
  return true;
}

// To find a thread that has a status, the kernel looks at all of them, one after the other. Where they are thousands, the threads
// that had a status last (one that starts others, and those) are asked first, and all of them now and then.
bool Tracer::receive_likely() {
  bool any = false;
  for (pid_t tid : std::array(likely_)) any |= tid != 0 && receive_one(tid);
  auto now = Clock::now();
  if (!owes_sweep_) return any;
  if (now >= next_sweep_) {
    owes_sweep_ = false;
    std::vector<pid_t> running;
    for (auto& [tid, thread] : threads_) {
      if (thread->running) running.push_back(tid);
    }
    for (pid_t tid : running) any |= receive_one(tid);
    any |= sweep();
    auto end = Clock::now();
    next_sweep_ = end + std::min<Clock::duration>(kSweepPause * (end - now), kLongestSweep);
    return any;
  }
  auto left = std::chrono::ceil<std::chrono::nanoseconds>(next_sweep_ - now).count();
  itimerspec when{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = std::max<long>(left, 1)}};
  timerfd_settime(sweep_timer_.get(), 0, &when, nullptr);
  return any;
}

void Tracer::note_likely(pid_t tid) {
  if (std::ranges::find(likely_, tid) != likely_.end()) return;
  likely_[next_likely_++ % likely_.size()] = tid;
}

void Tracer::receive(pid_t tid, int status) {
  note_likely(tid);
  if (!WIFSTOPPED(status)) return receive_exit(tid, status);
  Thread* thread = find_thread(tid);
  if (!thread) {
    if (leaving_.contains(tid)) return receive_leaving(tid, status);
    early_[tid] = status;
    return;
  }
  int event = status >> 16, signal = WSTOPSIG(status);
  if (event != PTRACE_EVENT_EXEC && !keep_number(*thread)) return (void)receive_one(tid);
  thread->running = thread->listening = false;
  thread->signal = 0;
  thread->event = 0;
  if (event == PTRACE_EVENT_STOP) {
    thread->kind = is_stop_signal(signal) ? StopKind::kGroupStop : StopKind::kTrap;
    thread->in_vfork = false;
    // In a group-stop calls end as they do without us.
    if (thread->kind == StopKind::kTrap && !thread->makes_our_calls) repeat_interrupted_call(tid, thread->wait, thread->sleep);
  } else if (event != 0) {
    thread->kind = StopKind::kEvent;
    thread->event = event;
    receive_event(*thread, event);
  } else if (signal == kSystemCallStop) {
    thread->kind = StopKind::kSystemCall;
    if (!thread->makes_our_calls) meet_system_call(tid, thread->wait, thread->sleep);
    if (!thread->shown_faults.empty() && !thread->makes_our_calls) listener_.shown_fault_ends(*thread);
    if (wishes_.system_calls && !thread->makes_our_calls) listener_.system_call_stopped(*thread);
  } else {
    thread->kind = StopKind::kSignal;
    thread->signal = signal;
    // Without us, a signal that the program ignores would not have woken the thread.
    bool may_be_ignored = !is_stop_signal(signal) && signal != SIGCONT;
    if (may_be_ignored && !thread->makes_our_calls) repeat_interrupted_call(tid, thread->wait, thread->sleep);
    listener_.signal_arrived(*thread);
  }
  thread->sleep.reset();
  listener_.thread_stopped(*thread);
  resume_unless_kept(*thread);
}

void Tracer::receive_exit(pid_t tid, int status) {
  early_.erase(tid);
  Thread* thread = find_thread(tid);
  if (!thread) {
    leaving_.erase(tid);
    if (departed_.erase(tid) == 0) listener_.stranger_exited(tid, status);
    return;
  }
  Process* process = thread->process;
  threads_.erase(tid);
  auto node = process->threads.extract(tid);
  thread->gone = true;
  thread->running = false;
  graveyard_.push_back(std::move(node.mapped()));
  // The leader's end is reported when all other threads have gone.
  if (tid != process->pid) return listener_.thread_ended(*graveyard_.back());
  for (auto& [other, left] : process->threads) {
    threads_.erase(other);
    left->gone = true;
    left->running = false;
    graveyard_.push_back(std::move(left));
  }
  process->threads.clear();
  listener_.process_exited(*process, status);
  processes_.erase(process->pid);
}

// A released thread stops once more. Threads and children that it has started are seized with it, and leave with it.
void Tracer::receive_leaving(pid_t tid, int status) {
  int event = status >> 16;
  unsigned long child = 0;
  bool birth = event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE;
  if (birth && ptrace(PTRACE_GETEVENTMSG, tid, 0, &child) == 0) {
    pid_t born = static_cast<pid_t>(child);
    auto early = early_.find(born);
    if (early == early_.end()) {
      leaving_.insert(born);
    } else {
      let_leave(born, early->second);
      early_.erase(early);
    }
  }
  let_leave(tid, status);
}

void Tracer::let_leave(pid_t tid, int status) {
  int event = status >> 16, signal = WSTOPSIG(status);
  std::optional<InterruptedWait> wait;
  if (event == PTRACE_EVENT_STOP && !is_stop_signal(signal)) repeat_interrupted_call(tid, wait, {});
  if (event == 0 && signal == kSystemCallStop) meet_system_call(tid, wait, {});
  bool delivers = event == 0 && signal != kSystemCallStop;
  ptrace(PTRACE_DETACH, tid, 0, static_cast<long>(delivers ? signal : 0));
  leaving_.erase(tid);
}

void Tracer::receive_event(Thread& thread, int event) {
  switch (event) {
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE: receive_birth(thread, event); break;
    case PTRACE_EVENT_VFORK_DONE: thread.in_vfork = false; break;
    case PTRACE_EVENT_EXEC: receive_exec(thread); break;
    case PTRACE_EVENT_EXIT:
      if (wishes_.ends) listener_.thread_ending(thread);
      break;
    default: break;
  }
}

void Tracer::receive_birth(Thread& parent, int event) {
  unsigned long message = 0;
  if (ptrace(PTRACE_GETEVENTMSG, parent.tid, 0, &message) != 0) return;
  pid_t child = static_cast<pid_t>(message);
  note_likely(child);
  if (event == PTRACE_EVENT_VFORK) parent.in_vfork = true;
  if (find_thread(child)) return;
  ProcessStatus status = ProcessStatus::read(child);
  Process* born = nullptr;
  if (status.field("Tgid") == std::to_string(parent.process->pid)) {
    listener_.thread_born(parent, add_thread(*parent.process, child), status);
  } else {
    born = &add_process(child);
    born->parent = parent.process->pid;
    born->stops_at_calls = parent.process->stops_at_calls;
    add_thread(*born, child);
    bool shares_memory = share_memory(parent.tid, child, event);
    // Keeping an address space still means keeping all processes still that run in it.
    if (shares_memory) born->keep_still = parent.process->keep_still;
    listener_.process_forked(parent, *born, status, shares_memory);
  }
  if (auto early = early_.find(child); early != early_.end()) {
    int first_stop = early->second;
    early_.erase(early);
    receive(child, first_stop);
  }
}

void Tracer::receive_exec(Thread& thread) {
  // All other threads are gone; the survivor has become the leader, whatever its tid was.
  Process& process = *thread.process;
  std::vector<pid_t> others;
  for (auto& [tid, other] : process.threads) {
    if (tid != process.pid) others.push_back(tid);
  }
  unsigned long former = 0;  // the tid that the survivor had: nobody reports its end
  ptrace(PTRACE_GETEVENTMSG, thread.tid, 0, &former);
  for (pid_t tid : others) {
    if (tid != static_cast<pid_t>(former)) departed_.insert(tid);
    threads_.erase(tid);
    auto node = process.threads.extract(tid);
    node.mapped()->gone = true;
    node.mapped()->running = false;
    graveyard_.push_back(std::move(node.mapped()));
  }
  thread.wait.reset();
  ++process.executed;
  thread.keeps_number = false;
  // the caller that keeps it still means the former program, and will let go only the remaining users of that address space
  process.keep_still = 0;
  listener_.process_executed(process);
}

void Tracer::resume_unless_kept(Thread& thread) {
  if (thread.gone || thread.running) return;
  // A thread at its end is never kept: other threads, for which we may be waiting, can wait for its end.
  bool kept = (thread.holds > 0 || thread.process->keep_still > 0) && !thread.is_at_end();
  if (!kept) resume(thread);
}

// If a thread other than the first executes a program, it takes the first thread's number, and registers that we write to that
// number reach the new program. This makes the first thread, which is stopped, stop again before it ends: until we resume it
// there, the other thread can't take its number (ptrace(2), "execve(2) under ptrace"). False: the number has changed hands
// already.
bool Tracer::keep_number(Thread& thread) {
  if (thread.keeps_number || thread.tid != thread.process->pid || thread.process->threads.size() == 1) return true;
  constexpr int kExecuted = SIGTRAP | PTRACE_EVENT_EXEC << 8;
  thread.keeps_number = ptrace(PTRACE_SETOPTIONS, thread.tid, 0, options() | PTRACE_O_TRACEEXIT) == 0;
  siginfo_t stop{};
  return ptrace(PTRACE_GETSIGINFO, thread.tid, 0, &stop) != 0 || stop.si_code != kExecuted;
}

bool Tracer::stops_at_calls(const Thread& thread) const {
  if (thread.makes_our_calls) return false;
  if (thread.wait || !thread.shown_faults.empty()) return true;
  return wishes_.system_calls && (thread.process->stops_at_calls || thread.calls.is_open || thread.calls.handler_may_report ||
                                  !thread.calls.interrupted.empty() || thread.calls.moved_to != Address());
}

void Tracer::expect_end_of_wait(const InterruptedWait& wait) {
  if (wait.until >= next_end_) return;
  next_end_ = wait.until;
  auto since_boot = std::chrono::duration_cast<std::chrono::nanoseconds>(next_end_.time_since_epoch()).count();
  constexpr int64_t kSecond = 1'000'000'000;
  itimerspec when{.it_interval = {}, .it_value = {.tv_sec = since_boot / kSecond, .tv_nsec = since_boot % kSecond}};
  timerfd_settime(wait_timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void Tracer::interrupt_waits_that_are_over() {
  next_end_ = Clock::time_point::max();
  for (auto& [tid, thread] : threads_) {
    if (!thread->wait || !thread->running || thread->makes_our_calls) continue;
    if (!thread->wait->is_over()) expect_end_of_wait(*thread->wait);
    else ptrace(PTRACE_INTERRUPT, tid, 0, 0);
  }
}

void Tracer::resume(Thread& thread) {
  // ESRCH: killed meanwhile; its end will be received.
  if (thread.kind == StopKind::kGroupStop) {
    thread.listening = true;
    ptrace(PTRACE_LISTEN, thread.tid, 0, 0);
  } else {
    bool to_call = stops_at_calls(thread);
    // Where returns are reported, it ends at one.
    bool may_end = thread.kind == StopKind::kTrap && !wishes_.system_calls;
    if (thread.wait && may_end && !thread.makes_our_calls) end_wait_if_over(thread.tid, thread.wait);
    if (thread.wait) expect_end_of_wait(*thread.wait);
    ptrace(to_call ? PTRACE_SYSCALL : PTRACE_CONT, thread.tid, 0, static_cast<long>(thread.signal));
  }
  thread.signal = 0;
  thread.running = true;
}

// Where threads are many, looking at each before would take longer than it is worth.
void Tracer::mark_sleep(Thread& thread) {
  if (thread.running && !thread.wait && !are_many()) thread.sleep = SleepMark::read(thread.tid);
}

void Tracer::interrupt(Thread& thread) {
  mark_sleep(thread);
  ptrace(PTRACE_INTERRUPT, thread.tid, 0, 0);
}

void Tracer::unhold(Thread& thread) {
  if (thread.gone) return;
  CHECK(thread.holds > 0);
  thread.holds--;
  resume_unless_kept(thread);
}

void Tracer::stop_at_ends(uint64_t patience_ms) {
  if (std::exchange(wishes_.ends, true)) return;
  uint64_t seen = 0;
  while (Process* process = next_process(seen)) {
    pid_t pid = process->pid;
    seen = process->serial;
    bool still = keep_still({process}, patience_ms).ok();
    process = find_process(pid);
    if (!still || !process) continue;
    for (auto& [tid, thread] : process->threads) {
      if (!thread->running) ptrace(PTRACE_SETOPTIONS, tid, 0, options(*thread));
    }
    let_go({process});
  }
}

bool Tracer::all_still(const std::vector<Process*>& processes, bool allow_blocked) {
  for (Process* process : processes) {
    for (auto& [tid, thread] : process->threads) {
      if (!thread->running || thread->is_at_end()) continue;
      if (!thread->in_vfork && !(allow_blocked && is_out_of_user_space(tid))) return false;
      // The interrupt stays pending and stops it before it returns to user space.
      thread->pc_unchecked = true;
    }
  }
  return true;
}

// Receives the stops of threads of these processes, where they are many.
bool Tracer::receive_stops(const std::vector<Process*>& processes) {
  if (!are_many()) return false;
  std::vector<pid_t> running;
  for (Process* process : processes) {
    for (auto& [tid, thread] : process->threads) {
      if (thread->running) running.push_back(tid);
    }
  }
  bool any = false;
  for (pid_t tid : running) any |= receive_one(tid);
  return any;
}

Result<void> Tracer::keep_still(const std::vector<Process*>& processes, uint64_t patience_ms) {
  for (Process* process : processes) {
    process->keep_still++;
    // All before the first is stopped, which then does not wait for it.
    for (auto& [tid, thread] : process->threads) mark_sleep(*thread);
  }
  for (Process* process : processes) {
    for (auto& [tid, thread] : process->threads) {
      if (thread->running) ptrace(PTRACE_INTERRUPT, tid, 0, 0);
    }
  }
  // Processes that exit while we wait leave processes_; look them up anew each time.
  std::vector<pid_t> pids;
  for (Process* process : processes) pids.push_back(process->pid);
  auto start = Clock::now(), last_progress = start;
  size_t fewest = SIZE_MAX;
  for (;;) {
    std::vector<Process*> left;
    for (pid_t pid : pids) {
      if (Process* process = find_process(pid)) left.push_back(process);
    }
    size_t running = 0, all = 0;
    for (Process* process : left) {
      all += process->threads.size();
      running += static_cast<size_t>(
          std::count_if(process->threads.begin(), process->threads.end(), [](auto& each) { return each.second->running; }));
    }
    auto now = Clock::now();
    if (running < fewest) {
      fewest = running;
      last_progress = now;
    }
    auto waited = now - start;
    if (all_still(left, now - last_progress > std::chrono::milliseconds(20))) return {};
    // Many threads take their time, but not for ever: others may be born meanwhile.
    bool stuck = now - last_progress > std::chrono::milliseconds(patience_ms);
    if (stuck || waited > std::chrono::milliseconds(patience_ms) + all * kPatienceForEach) {
      let_go(left);
      return Error{fmt::format("process {}: {} of {} threads did not stop within {} ms", pids.front(), running, all,
                               std::chrono::duration_cast<std::chrono::milliseconds>(waited).count()),
                   "is the machine overloaded, or a thread stuck in the kernel?"};
    }
    if (!receive_stops(left)) pump(5);
    // Threads born while we wait start stopped; those that a listener resumed before the interrupt came are asked
    // again.
  }
}

Result<void> Tracer::wait_for_sleeper(pid_t pid, Clock::time_point since) {
  constexpr std::chrono::milliseconds kNotWorthTelling(500);
  auto waited = Clock::now() - since;
  std::string state =
      process_status(pid, "State").starts_with("D") ? "is in uninterruptible sleep (state D)" : "has no thread that stops";
  if (waited > std::chrono::milliseconds(patience_.most_ms)) {
    return Error{fmt::format("process {} {} and could not be stopped for {:.0f} s", pid, state,
                             std::chrono::duration<double>(waited).count()),
                 fmt::format("/proc/{}/wchan may name what it waits for; try again when that is over", pid)};
  }
  bool goes_on = waited < kNotWorthTelling || !patience_.keep_waiting || patience_.keep_waiting(pid, state);
  if (!goes_on) return Error{fmt::format("process {} {}, and the wait for it was interrupted", pid, state), ""};
  pump(20);
  return {};
}

void Tracer::let_go(const std::vector<Process*>& processes) {
  for (Process* process : processes) {
    if (process->keep_still > 0) process->keep_still--;  // 0 if it has executed another program since
    for (auto& [tid, thread] : process->threads) resume_unless_kept(*thread);
  }
}

// A process's first thread, once it has ended, can't be waited for before all others have been.
bool Tracer::receive_ends(pid_t pid, pid_t but) {
  Process* process = find_process(pid);
  if (!process) return false;
  std::vector<pid_t> others;
  for (auto& [tid, thread] : process->threads) {
    if (tid != but) others.push_back(tid);
  }
  bool any = false;
  for (pid_t tid : others) {
    siginfo_t end{};
    if (waitid(P_PID, static_cast<id_t>(tid), &end, WEXITED | WNOHANG | WNOWAIT | __WALL) != 0 || end.si_pid != tid) continue;
    int status;
    if (waitpid(tid, &status, __WALL | WNOHANG) != tid) continue;
    receive(tid, status);
    any = true;
  }
  return any;
}

Result<void> Tracer::await_stop(Thread& thread) {
  pid_t tid = thread.tid, pid = thread.process->pid;
  constexpr int kSelves = 32;  // so often it alone is asked, where all others are many
  for (int tries = 1; thread.running && !thread.gone; tries++) {
    int status;
    pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error::from_errno(fmt::format("wait for thread {}", tid), errno);
    if (got > 0) {
      receive(got, status);
      continue;
    }
    if (are_many() && tries % kSelves != 0) {
      std::this_thread::sleep_for(std::chrono::microseconds(tries < kSelves ? 10 : 100));
      continue;
    }
    siginfo_t next{};
    if (waitid(P_ALL, 0, &next, WEXITED | WSTOPPED | WNOWAIT | __WALL) != 0 || next.si_pid == tid) continue;
    // A status of another thread has to wait, unless it is an end that our thread waits for.
    if (!receive_ends(pid, tid)) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  if (thread.gone) return Error{fmt::format("thread {} has ended", tid), ""};
  return {};
}

Result<void> Tracer::settle(Thread& thread) {
  for (int tries = 0; tries < 16; tries++) {
    if (thread.gone) break;
    if (thread.kind == StopKind::kTrap || thread.kind == StopKind::kGroupStop) return {};
    ptrace(PTRACE_INTERRUPT, thread.tid, 0, 0);
    resume(thread);
    TRY_DO(await_stop(thread));
  }
  return Error{fmt::format("thread {} does not come to rest", thread.tid), ""};
}

Result<void> Tracer::step(Thread& thread) {
  ptrace(PTRACE_SINGLESTEP, thread.tid, 0, static_cast<long>(std::exchange(thread.signal, 0)));
  thread.running = true;
  TRY_DO(await_stop(thread));
  if (thread.kind == StopKind::kSignal && thread.signal == SIGTRAP) thread.signal = 0;
  return {};
}

void Tracer::release(Process& process) {
  for (auto& [tid, thread] : process.threads) {
    // In a group-stop the thread stays stopped, as job control wants it.
    if (thread->kind == StopKind::kTrap && thread->wait) end_wait_if_over(tid, thread->wait);
    int signal = thread->kind == StopKind::kSignal ? thread->signal : 0;
    if (thread->running) {
      leaving_.insert(tid);
    } else {
      ptrace(PTRACE_DETACH, tid, 0, static_cast<long>(signal));
    }
    threads_.erase(tid);
    thread->gone = true;
    thread->running = false;
    graveyard_.push_back(std::move(thread));
  }
  process.threads.clear();
  pid_t pid = process.pid;
  processes_.erase(pid);
}

}  // namespace spile::engine
