#include "engine/space/thread_identities.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "abi/arena.h"
#include "abi/spilled_returns.h"

namespace spile::engine {
namespace {

// Finds the thread's entry in the client's table. Empty: it has none.
std::optional<Address> find_entry(const AddressSpace& space, const ClientSpace& client, uint64_t thread_pointer,
                                  abi::ThreadTableEntry& entry);

template <typename T>
Result<void> put_down(const AddressSpace& space, const ClientSpace& client, size_t offset, const T& value) {
  return space.memory.write_value(client.process_table.begin + static_cast<int64_t>(offset), value);
}

// Writes a value into all process tables. A table that can't be written is that of a process which has just ended.
template <typename T>
void put_down_everywhere(const AddressSpace& space, size_t offset, const T& value) {
  if (!space.memory.is_open()) return;
  for (auto& [id, client] : space.clients) {
    if (client.process_table.size() != 0) (void)put_down(space, client, offset, value);
  }
}

constexpr size_t identity_offset(uint64_t index) {
  return offsetof(abi::ProcessTable, identities) + index * sizeof(abi::ThreadIdentity);
}

abi::ThreadIdentity identity_of(uint64_t thread_pointer, const KnownThread& thread) {
  return {.thread_pointer = abi::thread_table_key(thread_pointer), .tid = thread.tid};
}

// Marks the slot of a thread pointer that no living thread has as being in no handler.
void leave_handler(const AddressSpace& space, const ClientSpace& client, uint64_t thread_pointer) {
  auto slot = find_slot(space, client, thread_pointer);
  if (!slot) return;
  Address busy = *slot + offsetof(abi::ThreadSlot, busy);
  auto value = space.memory.read_value<uint32_t>(busy);
  if (value.ok() && *value != 0) (void)space.memory.write_value(busy, uint32_t{0});
}

bool in_code(const ClientSpace& client, uint64_t address) {
  return std::any_of(client.code.begin(), client.code.end(),
                     [&](const AddressRange& range) { return range.contains(Address(address)); });
}

// Whether a return is pending in the slot: of a coroutine that another thread goes on with, or of a thread that has ended
// within a call, which looks the same while its stack is there.
bool has_pending_returns(const AddressSpace& space, const ClientSpace& client, Address slot_at, const abi::ThreadSlot& slot) {
  constexpr uint32_t kMostLooked = 1024;  // a thread ends with so many only where it says so on purpose
  const ArenaGeometry& geometry = client.geometry;
  uint32_t depth = std::min(slot.shadow_depth, geometry.shadow_capacity);
  if (depth > kMostLooked) return true;
  for (uint32_t i = depth; i-- > 0;) {
    auto frame = space.memory.read_value<abi::ShadowFrame>(
        slot_at + static_cast<int64_t>(geometry.shadow_offset + i * geometry.shadow_stride));
    if (!frame.ok()) return true;
    auto word =
        frame->stack_slot != 0 ? space.memory.read_value<uint64_t>(Address(frame->stack_slot)) : Result<uint64_t>(Error{});
    if (word.ok() && in_code(client, *word)) return true;
  }
  return false;
}

// Gives back the slot of a thread that has ended; sums and records in it stay. False: it can't be given back.
bool release_slot(const AddressSpace& space, const ClientSpace& client, uint64_t thread_pointer) {
  abi::ThreadTableEntry entry{};
  auto at = find_entry(space, client, thread_pointer, entry);
  if (!at) return true;  // it has never come to a handler
  const ArenaGeometry& geometry = client.geometry;
  bool known = client.header && geometry.slot_stride != 0 && entry.slot_offset >= geometry.slots_offset &&
               entry.slot_offset < client.arena.size() && geometry.slot_stride <= client.arena.size() - entry.slot_offset;
  if (!known) return false;
  Address slot_at = client.arena.begin + static_cast<int64_t>(entry.slot_offset);
  auto slot = space.memory.read_value<abi::ThreadSlot>(slot_at);
  if (!slot.ok() || slot->shared || slot->spilling || slot->given_up) return false;
  if (has_pending_returns(space, client, slot_at, *slot)) return false;
  if (!space.memory.write_value(*at, abi::kGoneEntry).ok()) return false;
  client.header->give_back((entry.slot_offset - geometry.slots_offset) / geometry.slot_stride);
  return space.memory.write_value(slot_at + offsetof(abi::ThreadSlot, owner), uint64_t{0}).ok();
}

void leave_handlers(const AddressSpace& space, uint64_t thread_pointer) {
  if (!space.memory.is_open()) return;
  for (auto& [id, client] : space.clients) {
    if (client.process_table.size() != 0) leave_handler(space, client, thread_pointer);
  }
}

bool some_thread_waits(const AddressSpace& space) {
  return std::any_of(space.users.begin(), space.users.end(), [](const Process* user) {
    return std::any_of(user->threads.begin(), user->threads.end(), [](const auto& each) { return each.second->in_vfork; });
  });
}

// Go's runtime bears threads with their parent's thread pointer, and each sets its own before it calls a function.
bool is_go(const AddressSpace& space) {
  return std::ranges::any_of(space.modules,
                             [](const auto& each) { return each.second.module.main_executable && each.second.module.go; });
}

uint64_t borrowers_of(const AddressSpace& space) { return space.users.empty() ? 0 : space.users.size() - 1; }

std::optional<Address> find_entry(const AddressSpace& space, const ClientSpace& client, uint64_t thread_pointer,
                                  abi::ThreadTableEntry& entry) {
  uint64_t key = abi::thread_table_key(thread_pointer);
  uint64_t index = abi::thread_table_index(thread_pointer);
  constexpr int kMostProbes = 256;
  for (int probe = 0; probe < kMostProbes; probe++, index = (index + 1) % abi::kThreadTableEntries) {
    Address at = client.process_table.begin + static_cast<int64_t>(index * sizeof(abi::ThreadTableEntry));
    auto found = space.memory.read_value<abi::ThreadTableEntry>(at);
    if (!found.ok() || found->thread_pointer == 0) return {};
    entry = *found;
    if (entry.thread_pointer == key) return at;
  }
  return {};
}

// Notes that several threads have this thread pointer: their handlers take turns in the overflow slot from now on. The identity
// is written first, which a thread looks at again after it has made its entry. REQUIRES: the newest of them has run no handler
// yet.
void share_pointer(AddressSpace& space, uint64_t pointer) {
  KnownThread* known = space.threads.find(pointer);
  if (!known) known = space.threads.add(pointer);
  if (!known) return;
  known->tid = 0;
  put_down_everywhere(space, identity_offset(known->index), identity_of(pointer, *known));
  // The first thread may have been met before its thread pointer was known.
  put_down_everywhere(space, identity_offset(abi::kFirstThread) + offsetof(abi::ThreadIdentity, tid), uint64_t{0});
  if (!space.memory.is_open()) return;
  for (auto& [id, client] : space.clients) {
    abi::ThreadTableEntry entry{};
    auto at = client.process_table.size() != 0 ? find_entry(space, client, pointer, entry) : std::nullopt;
    if (at) (void)space.memory.write_value(*at, abi::thread_table_key(pointer) | abi::kOverflowEntry);
  }
}

}  // namespace

std::optional<Address> find_slot(const AddressSpace& space, const ClientSpace& client, uint64_t thread_pointer) {
  abi::ThreadTableEntry entry{};
  if (!find_entry(space, client, thread_pointer, entry) || entry.slot_offset >= client.arena.size()) return {};
  return client.arena.begin + static_cast<int64_t>(entry.slot_offset);
}

Result<void> introduce_process(AddressSpace& space, const ClientSpace& client, pid_t pid) {
  space.threads.set_process(pid);
  abi::ThreadIdentity first{.thread_pointer = 0, .tid = static_cast<uint64_t>(pid)};
  TRY_DO(put_down(space, client, identity_offset(abi::kFirstThread), first));
  for (auto& [pointer, thread] : space.threads.by_pointer()) {
    TRY_DO(put_down(space, client, identity_offset(thread.index), identity_of(pointer, thread)));
  }
  TRY_DO(put_down(space, client, offsetof(abi::ProcessTable, pid), static_cast<uint64_t>(pid)));
  // A number that no other process has had, whichever spile arms it.
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto life = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  TRY_DO(put_down(space, client, offsetof(abi::ProcessTable, life), life));
  // Functions that change names and users count in the table of our own client alone (value_changes.h).
  auto own = space.clients.find(kOwnClient);
  const bool is_counted = own != space.clients.end() && &own->second == &client && !space.traps.misses_changes();
  TRY_DO(put_down(space, client, offsetof(abi::ProcessTable, keeps_nothing), uint64_t{is_counted ? 0u : 1u}));
  return put_down(space, client, offsetof(abi::ProcessTable, borrowers), borrowers_of(space));
}

void own_returns(const AddressSpace& space, pid_t pid) {
  constexpr size_t kProcess = abi::kInheritedOffset + offsetof(abi::InheritedState, process);
  put_down_everywhere(space, kProcess, static_cast<uint64_t>(pid));
}

void introduce_fork(AddressSpace& space, pid_t pid) {
  space.threads.clear();
  for (auto& [id, client] : space.clients) {
    if (client.process_table.size() != 0) (void)introduce_process(space, client, pid);
  }
}

void introduce_thread(AddressSpace& space, Thread& thread) {
  if (thread.introduced || space.threads.process() == 0) return;
  ThreadRegisters registers;
  if (!native_architecture().read_registers(thread.tid, registers).ok()) return;
  uint64_t pointer = native_architecture().thread_pointer(registers);
  const bool borrows = space.threads.process() != thread.process->pid;
  if (pointer == 0) {  // its C library has not set up yet, or it has none
    // The thread that bore another one may have been known by a thread pointer that it has set to 0 since.
    const bool is_first = thread.tid == thread.process->pid && !borrows;
    if (space.threads.add_without_pointer(thread.tid) || !is_first) share_pointer(space, 0);
    return;
  }
  space.threads.found_pointer(thread.tid);
  // A vfork child runs in its parent's slot, while that one waits.
  if (borrows && some_thread_waits(space)) return;
  thread.introduced = true;
  if (pointer == thread.parents_pointer && is_go(space)) return;  // has no entry yet: handlers ask who it is
  KnownThread* known = space.threads.find(pointer);
  bool fresh = known == nullptr;
  if (fresh) known = space.threads.add(pointer);
  if (!known) return;  // handlers ask the kernel
  // A thread that was born with its parent's thread pointer would be taken for the parent, and the other way round. Otherwise a
  // thread takes the thread pointer over from one that has ended.
  bool shared = thread.parents_pointer == 0 ? !fresh : pointer == thread.parents_pointer;
  thread.thread_pointer = shared ? 0 : pointer;
  if (shared) return share_pointer(space, pointer);
  if (!fresh) leave_handlers(space, pointer);
  known->tid = static_cast<uint64_t>(thread.tid);
  put_down_everywhere(space, identity_offset(known->index), identity_of(pointer, *known));
}

void bury_thread(AddressSpace& space, const Thread& thread) {
  const KnownThread* known = space.threads.find(thread.thread_pointer);
  // Another thread may have taken the thread pointer over.
  if (thread.thread_pointer == 0 || !known || known->tid != static_cast<uint64_t>(thread.tid)) return;
  leave_handlers(space, thread.thread_pointer);
  bool released = space.memory.is_open();
  for (auto& [id, client] : space.clients) {
    released = released && client.process_table.size() != 0 && release_slot(space, client, thread.thread_pointer);
  }
  if (!released) return;
  put_down_everywhere(space, identity_offset(known->index), abi::ThreadIdentity{.thread_pointer = abi::kGoneEntry, .tid = 0});
  space.threads.remove(thread.thread_pointer);
}

// Goes through the arena's file, since the program's memory is gone. Looks at every slot that was mapped, not only at those that
// the header lists as taken: a thread may have been killed after it claimed a slot and before it set the header's bit.
void vacate_slots(const ClientSpace& client, int arena_fd, pid_t pid) {
  if (!client.header || client.geometry.slot_stride == 0) return;
  uint64_t mapped = client.arena.size() < client.geometry.slots_offset
                        ? 0
                        : (client.arena.size() - client.geometry.slots_offset) / client.geometry.slot_stride;
  for (uint64_t index = abi::kFirstSlot; index < mapped; index++) {
    auto at = static_cast<off64_t>(client.geometry.slots_offset + index * client.geometry.slot_stride);
    abi::ThreadSlot slot;
    if (pread64(arena_fd, &slot, sizeof slot, at) != sizeof slot) continue;
    if (slot.shared || slot.owner >> 32 != static_cast<uint64_t>(pid)) continue;
    uint32_t idle = 0;
    uint64_t nobody = 0;
    (void)!pwrite64(arena_fd, &idle, sizeof idle, at + static_cast<off64_t>(offsetof(abi::ThreadSlot, busy)));
    // 0 if the thread was killed right after its claim
    uint64_t used = slot.thread_pointer != 0 ? slot.thread_pointer : abi::kGoneEntry;
    (void)!pwrite64(arena_fd, &used, sizeof used, at + static_cast<off64_t>(offsetof(abi::ThreadSlot, thread_pointer)));
    client.header->give_back(index);
    (void)!pwrite64(arena_fd, &nobody, sizeof nobody, at + static_cast<off64_t>(offsetof(abi::ThreadSlot, owner)));
  }
}

void free_overflow_slot(const ClientSpace& client, int arena_fd, pid_t tid) {
  if (client.geometry.slot_stride == 0) return;
  const uint64_t slot = client.geometry.slots_offset + abi::kOverflowSlot * client.geometry.slot_stride;
  const auto at = static_cast<off64_t>(slot + offsetof(abi::ThreadSlot, lock));
  uint32_t holder = 0;
  if (pread64(arena_fd, &holder, sizeof holder, at) != sizeof holder || holder != static_cast<uint32_t>(tid)) return;
  const uint32_t nobody = 0;
  (void)!pwrite64(arena_fd, &nobody, sizeof nobody, at);
}

void count_borrowers(const AddressSpace& space) {
  put_down_everywhere(space, offsetof(abi::ProcessTable, borrowers), borrowers_of(space));
}

}  // namespace spile::engine
