#pragma once
// What an engine is created with, the shape of its arena, and what a program is launched with.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/terms/event.h"
#include "engine/terms/module.h"
#include "engine/terms/site_request.h"

namespace spile::engine {

// Where things lie in the arena (abi/arena.h). The engine itself needs only its size and where pending returns are.
struct ArenaGeometry {
  uint64_t size = 0;  // of the whole arena; rounded up to pages
  uint64_t slots_offset = 0;
  uint64_t slot_stride = 0;
  uint32_t slot_count = 0;
  uint32_t first_slots = 0;  // that are mapped at first; threads then ring for more (abi::kSlotBell). 0: all
  uint64_t shadow_offset = 0;  // from a slot's start
  uint64_t shadow_stride = 0;
  uint32_t shadow_capacity = 0;  // 0: no return probes
};

struct LaunchOptions {
  std::vector<std::string> arguments;  // the first is looked up in PATH; for a shell command {"/bin/sh", "-c", command}
  std::optional<std::vector<std::string>> environment = {};  // "NAME=value"; the controller's if absent
  std::optional<uid_t> user = {};  // run as this user and its group (the controller must be root)
  std::optional<gid_t> group = {};
};

// Asked several times a second while the engine waits for a process whose threads can't be stopped now; `state` says why
// not. False: it gives up.
using KeepWaiting = std::function<bool(pid_t pid, const std::string& state)>;

struct EngineOptions {
  // Called from within the other functions, whenever such a thing happens. May be empty.
  ThreadWatcher watch_threads;
  bool watch_system_calls = false;  // not in a process that another engine traces
  // Which of the probes on system calls are for this process, for as long as it runs one program. May be empty: all.
  std::function<CallProbes(pid_t pid)> call_probes;
  ModuleResolver resolve_module;     // may be empty
  ModuleDescriber describe_modules;  // may be empty
  StackOwnership owns_stacks;        // may be empty
  ReturnReaderFinder return_readers;  // may be empty
  uint64_t stop_patience_ms = 2000;  // for a thread that doesn't stop (uninterruptible sleep)
  // For a process to be armed first, of which no thread can be stopped.
  uint64_t sleep_patience_ms = 10'000;
  KeepWaiting keep_waiting;  // may be empty: it waits
};

}  // namespace spile::engine
