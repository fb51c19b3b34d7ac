#include "session/arena/handler_guard.h"

#include <errno.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <iterator>
#include <string_view>

#include "base/check.h"
#include "base/clock.h"

namespace spile::session {

namespace {

constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
constexpr size_t kStackSize = 64 << 10;
HandlerGuard* the_guard = nullptr;
struct sigaction actions_before[std::size(kFaults)];

int tick_signal() { return SIGRTMIN + 3; }

// Called in a signal's handler. Handlers in processes do nothing from here on, as after SIGKILL.
[[noreturn]] void end_at_once() {
  constexpr std::string_view kText =
      "ERROR: code of the script has damaged spile's own memory: spile ends at once\n"
      "  hint: in a bundle: somebody has changed it, make it again; in embedded C (-g): look there; what is left in processes "
      "does nothing\n";
  (void)!write(STDERR_FILENO, kText.data(), kText.size());
  _exit(1);
}

}  // namespace

Result<std::unique_ptr<HandlerGuard>> HandlerGuard::create() {
  CHECK(the_guard == nullptr);
  std::unique_ptr<HandlerGuard> guard(new HandlerGuard);
  // A handler may have used up or lost the stack.
  guard->stack_ = std::make_unique<char[]>(kStackSize);
  stack_t stack{};
  stack.ss_sp = guard->stack_.get();
  stack.ss_size = kStackSize;
  if (sigaltstack(&stack, nullptr) != 0) return Error::from_errno("give signals a stack", errno);
  the_guard = guard.get();
  struct sigaction action{};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;  // the mask stays as it is when we jump
  action.sa_sigaction = &take_fault;
  for (size_t i = 0; i < std::size(kFaults); ++i) sigaction(kFaults[i], &action, &actions_before[i]);
  action.sa_sigaction = &take_tick;
  action.sa_flags |= SA_RESTART;
  sigaction(tick_signal(), &action, nullptr);
  sigset_t ticks;
  sigemptyset(&ticks);
  sigaddset(&ticks, tick_signal());
  sigprocmask(SIG_UNBLOCK, &ticks, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = tick_signal();
  event._sigev_un._tid = guard->thread_ = gettid();
  timer_t timer;
  if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0) return Error::from_errno("make a timer", errno);
  guard->timer_ = timer;
  const itimerspec every{{1, 0}, {1, 0}};
  if (timer_settime(timer, 0, &every, nullptr) != 0) return Error::from_errno("start a timer", errno);
  return guard;
}

HandlerGuard::~HandlerGuard() {
  if (timer_) timer_delete(*timer_);
  signal(tick_signal(), SIG_IGN);
  for (size_t i = 0; i < std::size(kFaults); ++i) sigaction(kFaults[i], &actions_before[i], nullptr);
  stack_t none{};
  none.ss_flags = SS_DISABLE;
  sigaltstack(&none, nullptr);
  the_guard = nullptr;
}

sigjmp_buf& HandlerGuard::next_slot() {
  CHECK(depth_ < kMostCalls);  // a handler empties a ring, and that walks a stack: no deeper
  Slot& slot = slots_[depth_++];
  slot.ticks = 0;
  ended_ = nullptr;
  current_ = &slot;
  return slot.place;
}

void HandlerGuard::return_to_call() { siglongjmp(the_guard->current_->place, kReturned); }

void HandlerGuard::take_fault(int signal, siginfo_t* info, void*) {
  HandlerGuard& guard = *the_guard;
  if (Slot* call = guard.current_; call && info->si_code > 0 && gettid() == guard.thread_) {
    if (guard.ended_ == call) end_at_once();
    guard.ended_ = call;
    guard.has_ended_ = true;
    guard.signal_ = signal;
    siglongjmp(call->place, 1);
  }
  if (guard.has_ended_ && info->si_code > 0) end_at_once();
  // A fault of ours: it comes again, and does what it did before.
  for (size_t i = 0; i < std::size(kFaults); ++i) {
    if (kFaults[i] == signal) sigaction(signal, &actions_before[i], nullptr);
  }
  if (info->si_code <= 0) raise(signal);
}

void HandlerGuard::take_tick(int, siginfo_t*, void*) {
  HandlerGuard* guard = the_guard;
  Slot* call = guard ? guard->current_ : nullptr;
  if (!call || !guard->is_to_end() || ++call->ticks <= kPatienceSeconds) return;
  guard->ended_ = call;
  guard->has_ended_ = true;
  guard->signal_ = 0;
  siglongjmp(call->place, 1);
}

// Called in a signal's handler.
bool HandlerGuard::is_to_end() const {
  sigset_t pending;
  sigpending(&pending);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    if (sigismember(&pending, signal) == 1) return true;
  }
  return limit_ns_ > 0 && monotonic_ns() >= limit_ns_;
}

std::string HandlerGuard::reason() const {
  return signal_ == 0 ? "did not end" : fmt::format("died of SIG{}", sigabbrev_np(signal_));
}

}  // namespace spile::session
