#include "engine/space/space_calls.h"

#include <fmt/format.h>
#include <sys/ptrace.h>

#include <algorithm>

#include "engine/process/call_restriction.h"
#include "engine/process/frozen.h"
#include "engine/process/memory_map.h"

namespace spile::engine {
namespace {

Result<SystemCallText> find_system_call(AddressSpace& space, pid_t pid) {
  TRY(MemoryMap map, MemoryMap::read(pid));
  std::vector<const Mapping*> candidates;
  for (const Mapping& mapping : map.all()) {
    if (!mapping.executable || mapping.path == "[vsyscall]" || mapping.path.starts_with("/memfd:spile-")) continue;
    // The vdso is in every process and is not patched; any other text will do.
    candidates.insert(mapping.path == "[vdso]" ? candidates.begin() : candidates.end(), &mapping);
  }
  // The code that restores signals is in the C library: a large program that has one, or will have one, need not be searched.
  auto is_system = [](const Mapping* mapping) {
    std::string_view name = std::string_view(mapping->path).substr(mapping->path.rfind('/') + 1);
    return name == "[vdso]" || name.starts_with("ld-") || name.starts_with("libc.") || name.starts_with("libc-");
  };
  if (std::count_if(candidates.begin(), candidates.end(), is_system) > 1) {
    std::erase_if(candidates, [&](const Mapping* mapping) { return !is_system(mapping); });
  }
  SystemCallText found;
  for (const Mapping* mapping : candidates) {
    std::vector<uint8_t> text(std::min<uint64_t>(mapping->size(), uint64_t{4} << 20));
    text.resize(space.memory.read_some(Address(mapping->begin), text));
    native_architecture().find_system_call(text, Address(mapping->begin), found);
    if (found.recovers()) break;
  }
  // Below a goroutine's stack lies other memory, which may be in use: a recovery frame must not be written there.
  for (const Module& module : find_modules(pid, map, space.memory)) {
    if (module.go) found.restore = Address();
  }
  if (found.call == Address()) return Error{fmt::format("process {} has no system call instruction", pid), ""};
  return found;
}

bool has_seccomp_filter(pid_t tid) { return ProcessStatus::read(tid).has_seccomp_filter(); }

// Whether the thread can be stopped in user space: not while it waits for a vfork child, nor at its end.
bool can_serve(const Thread& thread) { return thread.event != PTRACE_EVENT_VFORK && !thread.is_at_end(); }

// Finds a thread and stops it. Null: none can be stopped now.
Thread* find_servant(Tracer& tracer, AddressSpace& space) {
  // Threads without filters come first: calls of theirs are sure to do no harm.
  for (bool filtered : {false, true}) {
    for (Process* process : space.users) {
      for (auto& [tid, thread] : process->threads) {
        if (thread->running || !can_serve(*thread) || (has_seccomp_filter(tid) || has_dispatch(tid)) != filtered) continue;
        tracer.hold(*thread);
        return thread.get();
      }
    }
  }
  // By pid and tid: waiting may end any of them.
  std::vector<pid_t> pids;
  for (Process* process : space.users) pids.push_back(process->pid);
  for (pid_t pid : pids) {
    Process* process = tracer.find_process(pid);
    if (!process) continue;
    std::vector<pid_t> tids;
    for (auto& [tid, thread] : process->threads) tids.push_back(tid);
    std::vector<pid_t> filtered;
    for (size_t i = 0; i < tids.size() + filtered.size(); i++) {
      pid_t tid = i < tids.size() ? tids[i] : filtered[i - tids.size()];
      if (i < tids.size() && has_seccomp_filter(tid)) {
        filtered.push_back(tid);
        continue;
      }
      Thread* thread = tracer.find_thread(tid);
      std::string state = process_status(tid, "State");
      if (!thread || thread->in_vfork || state.empty() || state[0] == 'D' || state[0] == 'Z' || state[0] == 'X') continue;
      tracer.hold(*thread);
      tracer.interrupt(*thread);
      auto deadline = Tracer::Clock::now() + std::chrono::milliseconds(500);
      while (thread->running && !thread->gone && Tracer::Clock::now() < deadline) tracer.pump(20);
      // Meanwhile the thread may have executed another program, or another thread that did so may have taken its number.
      bool is_there = !thread->gone && thread->process->space.get() == &space;
      if (is_there && !thread->running && can_serve(*thread)) return thread;
      tracer.unhold(*thread);
    }
  }
  return nullptr;
}

constexpr std::chrono::milliseconds kWaitForEnd(300);

// Whether any thread may still run. None does in a process that has been killed, although its end was not received yet.
bool any_lives(const AddressSpace& space) {
  for (const Process* process : space.users) {
    for (auto& [tid, thread] : process->threads) {
      std::string state = process_status(tid, "State");
      if (!state.empty() && state[0] != 'Z' && state[0] != 'X') return true;
    }
  }
  return false;
}

// Whether a thread that stood still does so no more, since something killed it. Gives its end time to be received.
bool has_been_killed(Tracer& tracer, const Thread& thread) {
  constexpr int kMoment = 10;  // ms
  siginfo_t info;
  if (ptrace(PTRACE_GETSIGINFO, thread.tid, 0, &info) == 0 || errno != ESRCH) return false;
  tracer.pump(kMoment);
  return true;
}

}  // namespace

pid_t pid_of(const AddressSpace& space) { return space.users.empty() ? 0 : space.users.front()->pid; }

bool is_at_end(const AddressSpace& space) {
  auto ends = [](const auto& thread) { return thread.second->is_at_end(); };
  return std::ranges::all_of(space.users, [&](const Process* process) { return std::ranges::all_of(process->threads, ends); });
}

void let_run(Tracer& tracer, const AddressSpace& space, std::chrono::milliseconds time) {
  auto until = Tracer::Clock::now() + time;
  for (auto left = time; left.count() > 0 && !space.users.empty();
       left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Tracer::Clock::now())) {
    tracer.pump(static_cast<int>(left.count()));
  }
}

Result<Thread*> borrow_thread(Tracer& tracer, AddressSpace& space) {
  for (Process* process : space.users) {
    if (is_frozen(process->pid))
      return Error{fmt::format("process {} is frozen by its control group", process->pid), "thaw it first"};
  }
  // Threads that stop during the search stay stopped: the children of a program that vforks all the time would end before they
  // are found.
  for (Process* process : space.users) process->keep_still++;
  struct Release {
    Tracer& tracer;
    AddressSpace& space;
    ~Release() { tracer.let_go(space.users); }
  } release{tracer, space};
  auto since = Tracer::Clock::now();
  while (!is_at_end(space)) {
    if (Thread* servant = find_servant(tracer, space)) return servant;
    if (Tracer::Clock::now() - since > kWaitForEnd && !any_lives(space)) break;
    if (pid_t pid = pid_of(space)) TRY_DO(tracer.wait_for_sleeper(pid, since));
  }
  return Error{"no thread is left that could make system calls for us", ""};
}

Result<RemoteCalls> begin_calls(Tracer& tracer, AddressSpace& space, Thread& thread) {
  std::vector<uint8_t> bytes;
  auto text_at = [&](Address at, uint64_t length) {
    bytes.assign(length, 0);
    bytes.resize(space.memory.read_some(at, bytes));
    return std::span<const uint8_t>(bytes);
  };
  bool known = space.system_call.call != Address() && native_architecture().is_intact(space.system_call, text_at);
  if (!known) {
    TRY(space.system_call, find_system_call(space, thread.process->pid));
  }
  return RemoteCalls::begin(tracer, thread, space.system_call, space.memory);
}

Result<void> make_calls(Tracer& tracer, AddressSpace& space, const CallsAct& act) {
  constexpr int kMostServants = 8;
  for (int tries = 1;; tries++) {
    TRY(Thread * thread, borrow_thread(tracer, space));
    auto done = [&]() -> Result<void> {
      TRY(RemoteCalls calls, begin_calls(tracer, space, *thread));
      TRY_DO(act(calls, *thread));
      return calls.finish();
    }();
    bool has_left = thread->gone || thread->process->space.get() != &space || (!done.ok() && has_been_killed(tracer, *thread));
    tracer.unhold(*thread);
    if (done.ok() || !has_left || tries == kMostServants) return done;
  }
}

}  // namespace spile::engine
