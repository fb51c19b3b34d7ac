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

// Where things lie in the arena (abi/arena.h); offsets and strides in bytes. The engine itself needs only its size and where
// thread slots and pending returns are.
struct ArenaGeometry {
  uint64_t size = 0;          // of the whole arena; rounded up to pages
  uint64_t slots_offset = 0;  // of the first thread slot, from the arena's start
  uint64_t slot_stride = 0;   // from a slot to the next one
  uint32_t slot_count = 0;
  uint32_t first_slots = 0;    // that are mapped at first; threads then ring for more (abi::kSlotBell). 0: all
  uint64_t shadow_offset = 0;  // of a slot's abi::ShadowFrames, from the slot's start
  uint64_t shadow_stride = 0;
  uint32_t shadow_capacity = 0;  // frames in a slot; 0: no return probes
  // Pages of the arena, before the slots, over which processes map memory of another descriptor (ArenaMemory::shared_fd); 0:
  // none.
  uint64_t shared_offset = 0, shared_size = 0;
};

// Memory that the engine does not make itself. The caller keeps it for as long as the engine lives.
struct ArenaMemory {
  void* place = nullptr;  // addresses of spile's, of the geometry's size, where the arena is to be mapped; null: anywhere
  int shared_fd = -1;     // what lies at ArenaGeometry::shared_offset, from its own start
};

struct LaunchOptions {
  // not empty; the first is looked up in PATH; for a shell command {"/bin/sh", "-c", command}
  std::vector<std::string> arguments;
  std::optional<std::vector<std::string>> environment = {};  // "NAME=value"; the controller's if absent
  std::optional<uid_t> user = {};  // runs as this user (the controller must be root); absent: the controller's
  // and in this group alone; absent: the user's, or the controller's groups if `user` is absent, too
  std::optional<gid_t> group = {};
  bool before_exec = false;  // held before its exec, until Engine::execute()
};

// Asked every 20 ms or so, from the first half second on, while the engine waits for a process whose threads can't be stopped
// now. state: why not, as the rest of a sentence: "is in uninterruptible sleep (state D)". Returns whether the engine goes on
// waiting.
using KeepWaiting = std::function<bool(pid_t pid, const std::string& state)>;

// What the engine asks its caller, and tells it, from within calls of Engine. Each may be empty.
struct EngineEvents {
  ThreadWatcher watch_threads;  // set where EngineOptions::watch_system_calls is
  // Returns which of the probes on system calls are for the process; the answer holds for as long as it runs one program. Empty:
  // all.
  std::function<CallProbes(pid_t pid)> call_probes;
  ModuleResolver resolve_module;
  ModuleDescriber describe_modules;
  StackOwnership owns_stacks;
  ReturnReaderFinder return_readers;
  KeepWaiting keep_waiting;  // empty: waits for EngineOptions::sleep_patience_ms
};

struct EngineOptions {
  EngineEvents events;
  // Reports system calls, too. An attach to a process that another spile traces fails then.
  bool watch_system_calls = false;
  // How long to wait, when all threads of a process are to stand still, while no further thread stops.
  uint64_t stop_patience_ms = 2000;
  // How long to wait for a process of which no thread can be stopped (uninterruptible sleep), when a thread is needed for system
  // calls.
  uint64_t sleep_patience_ms = 10'000;
};

}  // namespace spile::engine
