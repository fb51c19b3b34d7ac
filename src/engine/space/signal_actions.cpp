#include "engine/space/signal_actions.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/clock.h"
#include "engine/space/space_calls.h"
#include "engine/trace/remote_call.h"

namespace spile::engine {
namespace {

constexpr int kOurs[] = {SIGTRAP, SIGBUS, SIGSEGV};
constexpr uint64_t bit(int signal) { return uint64_t{1} << (signal - 1); }
constexpr uint64_t kOurBits = bit(SIGTRAP) | bit(SIGBUS) | bit(SIGSEGV);
// How long to wait between readings, in ns: a reading costs a new thread, or one with a fault, some hundred microseconds.
constexpr uint64_t kBirthPeriod = 20'000'000;
constexpr uint64_t kMostOfTime = 50;  // one part of so many
constexpr uint64_t kFaultPeriod = 1'000'000'000;

// Which of our signals are handled or ignored. Empty: the process has ended.
std::optional<uint64_t> handled_signals(const ProcessStatus& status) {
  std::string caught = status.field("SigCgt");
  if (caught.empty()) return std::nullopt;
  return (strtoull(caught.c_str(), nullptr, 16) | strtoull(status.field("SigIgn").c_str(), nullptr, 16)) & kOurBits;
}

uint64_t now_ns() { return static_cast<uint64_t>(monotonic_ns()); }

bool is_default(const SignalAction& action) { return action.handler == reinterpret_cast<uint64_t>(SIG_DFL); }
bool is_ignored(const SignalAction& action) { return action.handler == reinterpret_cast<uint64_t>(SIG_IGN); }
// The kernel resets the handler and nothing else. A program that does so sets flags of its own, and SA_RESETHAND is its wish.
bool is_reset(const SignalAction& now, const SignalAction& before) {
  return is_default(now) && !is_default(before) && now.flags == before.flags && now.restorer == before.restorer &&
         now.mask == before.mask && (before.flags & SA_RESETHAND) == 0;
}
bool was_handler(const SignalAction& now) {
  return is_default(now) && (now.flags & SA_SIGINFO) != 0 && (now.flags & SA_RESETHAND) == 0;
}

}  // namespace

Result<SignalAction> read_action(RemoteCalls& calls, const AddressSpace& space, int signal) {
  auto number = static_cast<uint64_t>(signal);
  TRY_DO(calls.call("read the action for a signal", SYS_rt_sigaction, {number, 0, space.scratch().value, 8}));
  auto action = space.memory.read_value<SignalAction>(space.scratch());
  TRY_DO(space.memory.write_value(space.scratch(), SignalAction{}));
  return action;
}

Result<void> set_action(RemoteCalls& calls, const AddressSpace& space, int signal, const SignalAction& action) {
  TRY_DO(space.memory.write_value(space.scratch(), action));
  auto number = static_cast<uint64_t>(signal);
  auto set = calls.call("set the action for a signal", SYS_rt_sigaction, {number, space.scratch().value, 0, 8});
  TRY_DO(space.memory.write_value(space.scratch(), SignalAction{}));
  if (!set.ok()) return std::move(set).error();
  return {};
}

namespace {

// Whether our action can be set: in case the tracer is killed, where the program has no action of its own.
bool can_stand_in(const Process& process, int signal) {
  return signal != SIGTRAP && process.space && process.space->signal_code.handles_faults();
}

// REQUIRES: the program's action is the default one.
Result<void> stand_in(RemoteCalls& calls, Process& process, int signal) {
  if (!can_stand_in(process, signal)) return {};
  TRY_DO(set_action(calls, *process.space, signal, process.space->signal_code.fault_action()));
  process.actions.known[signal] = process.space->signal_code.fault_action();
  process.actions.handled |= bit(signal);
  process.actions.met |= bit(signal);
  return {};
}

// Whether our action has stood for the signal before, and can be set again.
bool stands_again(const Process& process, int signal, uint64_t handled) {
  const SignalActions& actions = process.actions;
  return (actions.met & ~handled & bit(signal)) && !actions.refused && can_stand_in(process, signal);
}

}  // namespace

bool should_learn_actions(const Process& process, const ProcessStatus& status) {
  auto handled = handled_signals(status);
  if (!handled) return false;
  if (std::any_of(std::begin(kOurs), std::end(kOurs), [&](int signal) { return stands_again(process, signal, *handled); }))
    return true;
  // Of a process with thousands of threads it takes long; their births must not be spent on that alone.
  uint64_t period = std::max(kBirthPeriod, kMostOfTime * process.actions.took_ns);
  return *handled != process.actions.handled || (*handled != 0 && now_ns() >= process.actions.read_ns + period);
}

namespace {

Result<void> learn(RemoteCalls& calls, Process& process) {
  process.actions.handled = 0;
  for (int signal : kOurs) {
    TRY(SignalAction now, read_action(calls, *process.space, signal));
    if (!is_default(now)) process.actions.handled |= bit(signal);
    auto known = process.actions.known.find(signal);
    if (!is_default(now)) {
      process.actions.known[signal] = now;
      process.actions.lost &= ~bit(signal);
    } else if (known != process.actions.known.end() && !is_reset(now, known->second)) {
      process.actions.known.erase(known);
    }
  }
  process.actions.read_ns = now_ns();
  return {};
}

// Puts back an action that was reset, or sets ours. Returns true if the thread had the signal blocked, since it had a handler and
// was reset.
Result<bool> put_back(RemoteCalls& calls, Process& process, int signal) {
  auto known = process.actions.known.find(signal);
  bool is_known = known != process.actions.known.end();
  TRY(SignalAction now, read_action(calls, *process.space, signal));
  if (is_known && is_reset(now, known->second)) {
    TRY_DO(set_action(calls, *process.space, signal, known->second));
    return !is_ignored(known->second);
  }
  // What a program has reset itself looks the same only if it keeps the flags.
  if (!is_known && was_handler(now) && !(process.actions.lost & bit(signal))) {
    process.actions.lost |= bit(signal);
    return Error{fmt::format("process {}: its handler for {} is lost: the kernel has reset it, as a probe met a bad pointer or "
                             "a breakpoint in a thread that blocks the signal",
                             process.pid, strsignal(signal)),
                 "start spile after the program has set its handlers"};
  }
  // First of all: other threads may be waiting with their first bad pointers.
  if (is_default(now)) TRY_DO(stand_in(calls, process, signal));
  return false;
}

}  // namespace

Result<void> learn_signal_actions(Tracer& tracer, Process& process, Thread& thread) {
  AddressSpace& space = *process.space;
  if (space.scratch() == Address()) return {};
  uint64_t start = now_ns();
  auto begun = begin_calls(tracer, space, thread);
  process.actions.refused = !begun.ok();
  TRY(RemoteCalls calls, std::move(begun));
  TRY_DO(learn(calls, process));
  process.actions.took_ns = process.actions.read_ns - start;
  for (int signal : kOurs) {
    bool again = stands_again(process, signal, process.actions.handled) && !process.actions.known.contains(signal);
    if (again) TRY_DO(stand_in(calls, process, signal));
  }
  return calls.finish();
}

bool should_mend_action(const Thread& thread, int signal) {
  const SignalActions& actions = thread.process->actions;
  auto handled = handled_signals(ProcessStatus::read(thread.tid));
  if (!handled) return false;
  bool has_it = *handled & bit(signal);
  if (!has_it && actions.known.contains(signal)) return true;
  if (!has_it && !actions.refused && can_stand_in(*thread.process, signal)) return true;
  // There may be one that was set since we looked.
  return now_ns() >= actions.read_ns + kFaultPeriod;
}

Result<void> mend_signal_action(Tracer& tracer, Thread& thread, int signal) {
  Process& process = *thread.process;
  AddressSpace& space = *process.space;
  if (space.scratch() == Address()) return {};
  process.actions.read_ns = now_ns();
  auto begun = begin_calls(tracer, space, thread);
  process.actions.refused = !begun.ok();
  if (!begun.ok()) {
    // Under a seccomp filter, for example: then there may be nothing to put back.
    bool reset = process.actions.known.contains(signal) &&
                 !(handled_signals(ProcessStatus::read(process.pid)).value_or(kOurBits) & bit(signal));
    if (!reset) return {};
    return std::move(begun).error().within(fmt::format("put back the action for {}", strsignal(signal)));
  }
  RemoteCalls calls = std::move(begun).value();
  auto was_blocked = put_back(calls, process, signal);
  TRY_DO(learn(calls, process));
  TRY_DO(calls.finish());
  if (!was_blocked.ok()) return std::move(was_blocked).error();
  uint64_t blocked = 0;
  if (!*was_blocked || ptrace(PTRACE_GETSIGMASK, thread.tid, sizeof blocked, &blocked) != 0) return {};
  blocked |= bit(signal);
  ptrace(PTRACE_SETSIGMASK, thread.tid, sizeof blocked, &blocked);
  return {};
}

Result<void> take_back_actions(RemoteCalls& calls, Process& process) {
  const AddressSpace& space = *process.space;
  if (space.scratch() == Address()) return {};
  for (int signal : kOurs) {
    // A child that was forked before its parent had that memory has neither it nor the actions.
    auto present = read_action(calls, space, signal);
    if (!present.ok() || !space.in_code(Address(present->restorer))) continue;
    TRY_DO(set_action(calls, space, signal, SignalAction{}));
    process.actions.known.erase(signal);
    process.actions.handled &= ~bit(signal);
    if (signal != SIGTRAP) process.actions.met |= bit(signal);
  }
  return {};
}

}  // namespace spile::engine
