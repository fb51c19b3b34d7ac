#include "session/stacks/process_stacks.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <vector>

#include "abi/machine.h"
#include "abi/record.h"
#include "abi/stack_tables.h"
#include "base/clock.h"
#include "base/processes/proc.h"
#include "engine/process/memory_map.h"
#include "engine/process/process_status.h"
#include "engine/process/target_memory.h"

namespace spile::session {

namespace {

constexpr int64_t kOftenNs = 20'000'000;       // a process whose stacks end in code outside of any file is read again after that
constexpr int64_t kLookNs = 100'000'000;       // a process is looked at again, one after another
constexpr int64_t kBeginningNs = 100'000'000;  // a command may take so long to load its libraries,
constexpr int64_t kLookAtBeginningNs = 500'000;  // and may have ended soon after that

Result<std::vector<engine::Module>> modules_of(pid_t pid) {
  TRY(engine::TargetMemory memory, engine::TargetMemory::open(pid));
  return engine::find_modules(pid, memory);
}

}  // namespace

abi::ProcessMaps& ProcessStacks::maps() const {
  return *reinterpret_cast<abi::ProcessMaps*>(arena_.base() + arena_.layout().processes_offset);
}

ProcessStacks::ProcessStacks(UserStacks& stacks, ArenaView& arena, Controller& controller, uint32_t most_frames,
                             int process_arena)
    : stacks_(stacks), arena_(arena), controller_(controller), most_frames_(most_frames) {
  const codegen::ArenaLayout& layout = arena.layout();
  struct stat file;
  if (process_arena < 0 || layout.shadow_capacity == 0 || fstat(process_arena, &file) != 0) return;
  arena_inode_ = file.st_ino;
  maps().shadows = {layout.slot_count - abi::kFirstSlot, layout.slot_stride, layout.shadow_offset, layout.shadow_stride,
                    layout.shadow_capacity};
}

// Returns where the process has slot kFirstSlot of its handlers' arena; 0: it has none.
uint64_t ProcessStacks::slots_of(pid_t pid) const {
  if (arena_inode_ == 0) return 0;
  auto mappings = read_mappings(pid);
  if (!mappings.ok()) return 0;
  const uint64_t first = arena_.layout().slots_offset + abi::kFirstSlot * arena_.layout().slot_stride;
  for (const Mapping& mapping : *mappings) {
    const bool is_arena = mapping.inode == arena_inode_ && mapping.path.starts_with("/memfd:") && mapping.shared;
    if (is_arena && mapping.begin >= mapping.offset) return mapping.begin - mapping.offset + first;
  }
  return 0;
}

// The C library, which most commands load, takes some 20 ms to read: this is done before the command begins.
void ProcessStacks::set_target(pid_t pid, bool begins) {
  target_ = pid;
  if (begins) {
    if (auto own = modules_of(getpid()); own.ok()) {
      std::erase_if(*own, [](const engine::Module& module) { return module.path.find("/libc.so.") == std::string::npos; });
      stacks_.describe(getpid(), *own);
    }
    begun_until_ns_ = monotonic_ns() + kBeginningNs;
  }
  follow(pid);
}

// Handlers ask for processes in which they find no way, which is not so where a process has executed a program that lies at the
// same addresses.
void ProcessStacks::look_again(int64_t now) {
  const bool begins = now < begun_until_ns_;
  next_look_ns_ = now + (begins ? kLookAtBeginningNs : kLookNs);
  auto next = begins ? known_.find(target_) : known_.upper_bound(last_looked_);
  if (next == known_.end()) next = known_.begin();
  if (next == known_.end()) return;
  last_looked_ = next->first;
  next->second.read_ns = 0;
  follow(last_looked_);
}

void ProcessStacks::take_map(pid_t pid, uint64_t map) {
  if (map == 0 || known_[pid].map == map) return;
  publish(pid, known_[pid].map = map);
}

uint64_t ProcessStacks::follow(pid_t pid) {
  Known& known = known_[pid];
  const int64_t now = monotonic_ns();
  if (known.read_ns != 0 && now - known.read_ns < kOftenNs) return known.map;
  known.read_ns = now;
  Result<std::vector<engine::Module>> modules = modules_of(pid);
  // What has ended keeps the map that it had. A new program has another one.
  if (!modules.ok() || modules->empty()) return known.map;
  take_map(pid, stacks_.describe(pid, *modules));
  if (pid == target_) arena_.controller_state().module_map = known.map;
  return known.map;
}

// Takes the first place that is free, or else that of a process which has ended. False: all are taken.
bool ProcessStacks::take_place(pid_t pid) {
  const uint32_t home = abi::process_place(static_cast<uint64_t>(pid));
  for (bool reuse : {false, true}) {
    for (uint32_t step = 0; step < abi::kProcessSteps; ++step) {
      const uint32_t place = (home + step) % abi::kProcessMaps;
      auto [taken, is_free] = taken_.try_emplace(place, pid);
      if (!is_free && (!reuse || kill(taken->second, 0) == 0 || errno != ESRCH)) continue;
      if (!is_free) {
        places_.erase(taken->second);
        known_.erase(taken->second);
        taken->second = pid;
      }
      places_.emplace(pid, place);
      return true;
    }
  }
  return false;  // their printed stacks are copied, and those in values end early
}

// A handler sees the process last, so that it finds the map.
void ProcessStacks::publish(pid_t pid, uint64_t map) {
  if (!places_.contains(pid) && !take_place(pid)) return;
  abi::ProcessMap& entry = maps().maps[places_.at(pid)];
  entry.owner = static_cast<uint64_t>(engine::innermost_number(pid));
  std::atomic_ref<uint64_t>(entry.slots).store(slots_of(pid), std::memory_order_release);
  std::atomic_ref<uint64_t>(entry.module_map).store(map, std::memory_order_release);
  std::atomic_ref<uint64_t>(entry.process).store(static_cast<uint64_t>(pid), std::memory_order_release);
}

void ProcessStacks::serve() {
  if (const int64_t now = monotonic_ns(); now >= next_look_ns_) look_again(now);
  const uint64_t count = std::atomic_ref<uint64_t>(maps().wanted_count).load(std::memory_order_acquire);
  if (count == served_) return;
  const uint64_t first = count - std::min<uint64_t>(count - served_, abi::kWantedProcesses);
  served_ = count;
  std::set<pid_t> wanted;
  for (uint64_t n = first; n < count; ++n) {
    wanted.insert(
        static_cast<pid_t>(std::atomic_ref<uint64_t>(maps().wanted[n % abi::kWantedProcesses]).load(std::memory_order_relaxed)));
  }
  for (pid_t pid : wanted) {
    if (pid > 0) follow(pid);
  }
}

std::string ProcessStacks::text_of(uint32_t style, const char* payload, size_t size) {
  constexpr size_t kHead = 4 * sizeof(uint64_t);
  uint64_t head[4] = {};
  std::memcpy(head, payload, std::min(size, kHead));
  abi::ControllerState& state = arena_.controller_state();
  // The record may be read while a handler that is about another process prints.
  const abi::Subject before = state.subject;
  const std::vector<char> stack_before = before.active && before.stack_size ? arena_.kept_stack() : std::vector<char>();
  abi::Subject& subject = state.subject;
  subject = {};
  subject.active = 1;
  subject.pid = static_cast<pid_t>(head[0]);
  subject.tid = -1;  // its stack is not what it was
  subject.registers[abi::kConvention.program_counter] = head[1];
  subject.registers[abi::kConvention.stack_pointer] = head[2];
  subject.registers[abi::kConvention.frame_pointer] = head[3];
  subject.frame_kind = abi::kFrameInside;
  subject.module_map = subject.pid > 0 ? follow(static_cast<pid_t>(subject.pid)) : 0;
  subject.stack_begin = head[2] & ~uint64_t{7};
  subject.stack_size = arena_.keep_stack({payload + std::min(size, kHead), size - std::min(size, kHead)});
  const std::vector<uint64_t> addresses = controller_.walk_stack(most_frames_);
  const uint64_t map = subject.module_map;
  if (!stack_before.empty()) arena_.keep_stack(stack_before);
  subject = before;
  return stacks_.text_of(style, map, addresses);
}

uint64_t ProcessStacks::cut_stacks() const {
  return std::atomic_ref<uint64_t>(maps().cut_stacks).load(std::memory_order_relaxed);
}

}  // namespace spile::session
