#include "engine/thread_identities.h"

#include <chrono>

#include "abi/arena.h"

namespace spile::engine {
namespace {

template <typename T>
Result<void> put_down(const AddressSpace& space, const ClientSpace& client, size_t offset, const T& value) {
  return space.memory.write_value(client.process_table.begin + static_cast<int64_t>(offset), value);
}

// A table that can't be written is that of a process which has just ended.
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

// The slot of the thread pointer, which no living thread has, is in no handler.
void leave_handler(const AddressSpace& space, const ClientSpace& client, uint64_t thread_pointer) {
  auto slot = find_slot(space, client, thread_pointer);
  if (!slot) return;
  Address busy = *slot + offsetof(abi::ThreadSlot, busy);
  auto value = space.memory.read_value<uint32_t>(busy);
  if (value.ok() && *value != 0) (void)space.memory.write_value(busy, uint32_t{0});
}

void leave_handlers(const AddressSpace& space, uint64_t thread_pointer) {
  if (!space.memory.is_open()) return;
  for (auto& [id, client] : space.clients) {
    if (client.process_table.size() != 0) leave_handler(space, client, thread_pointer);
  }
}

uint64_t borrowers_of(const AddressSpace& space) { return space.users.empty() ? 0 : space.users.size() - 1; }

}  // namespace

std::optional<Address> find_slot(const AddressSpace& space, const ClientSpace& client, uint64_t thread_pointer) {
  uint64_t key = abi::thread_table_key(thread_pointer);
  uint64_t index = abi::thread_table_index(thread_pointer);
  constexpr int kMostProbes = 256;
  for (int probe = 0; probe < kMostProbes; probe++, index = (index + 1) % abi::kThreadTableEntries) {
    auto entry = space.memory.read_value<abi::ThreadTableEntry>(client.process_table.begin +
                                                                static_cast<int64_t>(index * sizeof(abi::ThreadTableEntry)));
    if (!entry.ok() || entry->thread_pointer == 0) return {};
    if (entry->thread_pointer != key) continue;
    if (entry->slot_offset >= client.arena.size()) return {};
    return client.arena.begin + static_cast<int64_t>(entry->slot_offset);
  }
  return {};
}

Result<void> introduce_process(AddressSpace& space, const ClientSpace& client, pid_t pid) {
  space.identified = pid;
  abi::ThreadIdentity first{.thread_pointer = 0, .tid = static_cast<uint64_t>(pid)};
  TRY_DO(put_down(space, client, identity_offset(abi::kFirstThread), first));
  for (auto& [pointer, thread] : space.known_threads) {
    TRY_DO(put_down(space, client, identity_offset(thread.index), identity_of(pointer, thread)));
  }
  TRY_DO(put_down(space, client, offsetof(abi::ProcessTable, pid), static_cast<uint64_t>(pid)));
  // Never the same, whichever spile arms the process.
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto life = static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  TRY_DO(put_down(space, client, offsetof(abi::ProcessTable, life), life));
  return put_down(space, client, offsetof(abi::ProcessTable, borrowers), borrowers_of(space));
}

void introduce_fork(AddressSpace& space, pid_t pid) {
  space.known_threads.clear();
  space.known_thread_indices.clear();
  for (auto& [id, client] : space.clients) {
    if (client.process_table.size() != 0) (void)introduce_process(space, client, pid);
  }
}

void introduce_thread(AddressSpace& space, Thread& thread) {
  if (thread.introduced || space.identified != thread.process->pid) return;
  ThreadRegisters registers;
  if (!native_architecture().read_registers(thread.tid, registers).ok()) return;
  uint64_t pointer = native_architecture().thread_pointer(registers);
  if (pointer == 0) return;  // its C library has not set up yet
  thread.introduced = true;
  auto known = space.known_threads.find(pointer);
  bool fresh = known == space.known_threads.end();
  if (fresh) {
    if (space.known_threads.size() >= abi::kThreadTableEntries / 2) return;  // handlers ask the kernel
    auto index = static_cast<uint32_t>(abi::thread_table_index(pointer));
    while (!space.known_thread_indices.insert(index).second) index = (index + 1) % abi::kThreadTableEntries;
    known = space.known_threads.emplace(pointer, KnownThread{index, 0}).first;
  }
  // One that was born with its parent's would be taken for that, and the other way round. Others take over from the dead.
  bool shared = thread.parents_pointer == 0 ? !fresh : pointer == thread.parents_pointer;
  if (!fresh && !shared) leave_handlers(space, pointer);
  known->second.tid = shared ? 0 : static_cast<uint64_t>(thread.tid);
  put_down_everywhere(space, identity_offset(known->second.index), identity_of(pointer, known->second));
  // The first thread may have been met before its thread pointer was known.
  if (shared) put_down_everywhere(space, identity_offset(abi::kFirstThread) + offsetof(abi::ThreadIdentity, tid), uint64_t{0});
}

void bury_thread(const AddressSpace& space, pid_t tid) {
  for (auto& [pointer, thread] : space.known_threads) {
    // Unless another one has taken over.
    if (thread.tid == static_cast<uint64_t>(tid)) return leave_handlers(space, pointer);
  }
}

void count_borrowers(const AddressSpace& space) {
  put_down_everywhere(space, offsetof(abi::ProcessTable, borrowers), borrowers_of(space));
}

}  // namespace spile::engine
