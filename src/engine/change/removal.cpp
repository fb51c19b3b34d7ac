#include "engine/change/removal.h"

#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "abi/arena.h"
#include "abi/spilled_returns.h"
#include "engine/change/text_patcher.h"
#include "engine/process/memory_map.h"
#include "engine/space/breakpoints.h"
#include "engine/space/space_calls.h"
#include "engine/space/space_setup.h"
#include "engine/space/thread_identities.h"

namespace spile::engine {
namespace {

// The user-space program counter of a thread in the kernel, from /proc/PID/task/TID/syscall (proc(5)).
struct BlockedPlace {
  bool is_known = true;       // false: the thread has just woken up, and will stop before it returns to user space
  std::optional<Address> pc;  // absent: the thread has ended
};

BlockedPlace blocked_place(pid_t pid, pid_t tid) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/syscall", pid, tid));
  std::string text;
  std::getline(file, text);
  size_t last = text.rfind(' ');
  if (last == std::string::npos) return {.is_known = text != "running", .pc = {}};
  return {.pc = Address(strtoull(text.c_str() + last + 1, nullptr, 16))};
}

// Moves program counters in displaced code back to the text, unless somebody else has written there. Returns whether all threads
// are out of our code then, but for code that stays.
bool evacuate(AddressSpace& space, const std::set<Address>& foreign) {
  std::vector<std::pair<Address, const PatchedSite*>> by_trampoline;
  for (auto sites : {space.sites.in_text(), space.sites.retired()}) {
    for (const PatchedSite& site : sites) {
      if (site.is_relay) continue;
      by_trampoline.push_back({site.body, &site});
      if (site.trampoline != site.body) by_trampoline.push_back({site.trampoline, &site});
    }
  }
  std::sort(by_trampoline.begin(), by_trampoline.end());
  bool outside = true;
  auto move = [&](Address pc, bool restarting) -> std::optional<Address> {
    if (!space.in_code(pc)) return {};
    auto after = std::upper_bound(by_trampoline.begin(), by_trampoline.end(), pc,
                                  [](Address value, const auto& site) { return value < site.first; });
    if (after != by_trampoline.begin()) {
      const PatchedSite& site = *std::prev(after)->second;
      if (auto restored = site.restored(pc)) return foreign.contains(site.begin) ? std::nullopt : restored;
    }
    outside = false;
    return {};
  };
  for (Process* process : space.users) {
    for (auto& [tid, thread] : process->threads) {
      if (!thread->running) {
        move_program_counters(space, *thread, move);
      } else if (in_code_while_blocked(space, process->pid, tid)) {
        outside = false;
      }
    }
  }
  return outside;
}

// Which client's code an address is in. Regions are many where a process says so.
class CodeOfClients {
 public:
  explicit CodeOfClients(const AddressSpace& space) {
    for (auto& [id, client] : space.clients) {
      auto& ranges = ranges_[id] = client.code;
      std::ranges::sort(ranges, {}, &AddressRange::begin);
    }
  }
  bool contains(ClientId client, Address address) const {
    auto& ranges = ranges_.at(client);
    auto after = std::ranges::upper_bound(ranges, address, {}, &AddressRange::begin);
    return after != ranges.begin() && std::prev(after)->contains(address);
  }

 private:
  std::map<ClientId, std::vector<AddressRange>> ranges_;
};

}  // namespace

bool in_code_while_blocked(const AddressSpace& space, pid_t pid, pid_t tid) {
  BlockedPlace place = blocked_place(pid, tid);
  return !place.is_known || (place.pc && space.in_code(*place.pc));
}

bool step_out(Tracer& tracer, AddressSpace& space, Thread& thread) {
  constexpr int kMostSteps = 50'000;
  const Architecture& machine = native_architecture();
  ThreadRegisters registers;
  bool outside = false;
  for (int steps = 0; steps < kMostSteps && !thread.gone; steps++) {
    if (!machine.read_registers(thread.tid, registers).ok()) break;
    outside = !space.in_code(machine.pc(registers));
    if (outside) break;
    std::array<uint8_t, 2> instruction{};
    size_t size = space.memory.read_some(machine.pc(registers), instruction);
    auto flags = machine.pushed_flags(registers, std::span(instruction).first(size));
    if (!tracer.step(thread).ok()) break;
    Address before = machine.sp(registers);
    if (!machine.read_registers(thread.tid, registers).ok()) break;
    bool stepped = machine.sp(registers) != before;  // not where another stop came first
    if (flags && stepped) (void)space.memory.write_value(machine.sp(registers), *flags);
  }
  bool leaked =
      !thread.gone && !thread.running && machine.read_registers(thread.tid, registers).ok() && machine.clear_trap_flag(registers);
  if (leaked) (void)machine.write_registers(thread.tid, registers);
  // A thread that ended meanwhile needs nothing more.
  if (!thread.gone) (void)tracer.settle(thread);
  return outside || thread.gone;
}

void step_out_of_stop(Tracer& tracer, AddressSpace& space, pid_t sparing) {
  std::vector<Thread*> stopped;
  for (Process* process : space.users) {
    for (auto& [tid, thread] : process->threads) {
      if (tid != sparing && !thread->running && (thread->kind == StopKind::kGroupStop || thread->holds > 0))
        stopped.push_back(thread.get());
    }
  }
  for (Thread* thread : stopped) (void)step_out(tracer, space, *thread);
}

std::set<pid_t> leave_relays(AddressSpace& space, std::span<const PatchedSite> sites, const std::set<pid_t>* only) {
  std::set<pid_t> running;
  std::map<Address, Address> relays;
  for (const PatchedSite& site : sites) {
    if (site.relay != Address()) relays[site.relay] = site.trampoline;
  }
  if (relays.empty()) return running;
  for (Process* process : space.users) {
    for (auto& [tid, thread] : process->threads) {
      if (only && !only->contains(tid)) continue;
      if (thread->running) {
        running.insert(tid);
        continue;
      }
      move_program_counters(space, *thread, [&](Address pc, bool) -> std::optional<Address> {
        auto found = relays.find(pc);
        return found == relays.end() ? std::nullopt : std::optional(found->second);
      });
    }
  }
  return running;
}

namespace {

std::vector<abi::ThreadTableEntry> read_table(const AddressSpace& space, const ClientSpace& client) {
  std::vector<abi::ThreadTableEntry> entries(abi::kThreadTableEntries);
  std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(entries.data()), entries.size() * sizeof entries[0]);
  if (client.process_table.size() < bytes.size() || !space.memory.read(client.process_table.begin, bytes).ok()) return {};
  return entries;
}

PatchedSite site_of(const JournalEntry& entry, Address region) {
  PatchedSite site;
  site.begin = Address(entry.address);
  site.trampoline = region + entry.trampoline_offset;
  site.body = Address(entry.body);
  site.window = site.overwritten = static_cast<uint8_t>(std::min<uint32_t>(entry.length, kMaxPatch));
  site.semaphore = Address(entry.semaphore);
  site.relay = Address(entry.relay);
  if (entry.call != 0) {
    auto add = [&](int original, int relocated) {
      site.boundaries[site.boundary_count++] = {static_cast<uint8_t>(original), static_cast<uint16_t>(relocated)};
    };
    add(entry.call_original, entry.call);
    add(entry.call_original + 2, entry.call + 2);
    add(entry.call_original + 2, entry.behind_call);
  }
  memcpy(site.original, entry.original, kMaxPatch);
  memcpy(site.patched, entry.patched, kMaxPatch);
  return site;
}

// Numbers that the engine itself never exceeds. A process can map memory of this name itself: its contents can make us change
// only that process's memory, and read and keep no more than this.
constexpr uint64_t kMostSites = 1 << 20, kMostShadowFrames = 1 << 16, kMostPending = 1 << 22;
constexpr size_t kMostRegions = 1 << 10;
constexpr uint64_t kHighestAddress = uint64_t{1} << 47;

// sites: adds those of the region.
Result<void> adopt_region(AddressSpace& space, const Mapping& mapping, std::vector<PatchedSite>& sites) {
  TRY(RegionHeader header, space.memory.read_value<RegionHeader>(Address(mapping.begin)));
  if (header.magic != kRegionMagic || header.size > mapping.size()) return Error{"not a code region of this version", ""};
  bool sound = header.arena < kHighestAddress && header.arena_size < kHighestAddress && header.process_table < kHighestAddress &&
               header.slot_stride < kHighestAddress && header.shadow_capacity <= kMostShadowFrames &&
               header.shadow_offset <= header.slot_stride && header.shadow_stride <= header.slot_stride &&
               (header.shadow_capacity == 0 ||
                header.shadow_stride <= (header.slot_stride - header.shadow_offset) / header.shadow_capacity) &&
               header.journal_offset <= header.size &&
               header.journal_count <= (header.size - header.journal_offset) / sizeof(JournalEntry) &&
               header.journal_count + sites.size() <= kMostSites && space.clients.size() <= kMostRegions;
  if (!sound) return Error{"not a code region of ours", ""};
  // Regions with one arena are one client's. Its address is 0 where the controller was killed before it had written it.
  ClientId id = kOwnClient;
  while (space.clients.contains(id) && space.clients[id].arena.begin.value != header.arena) id++;
  ClientSpace& client = space.clients[id];
  client.code.push_back({Address(mapping.begin), Address(mapping.end)});
  if (header.arena != 0) client.arena = {Address(header.arena), Address(header.arena)};  // find_remains knows its end
  client.geometry = {.size = header.arena_size,
                     .slots_offset = header.slots_offset,
                     .slot_stride = header.slot_stride,
                     .slot_count = static_cast<uint32_t>(header.slot_count),
                     .shadow_offset = header.shadow_offset,
                     .shadow_stride = header.shadow_stride,
                     .shadow_capacity = static_cast<uint32_t>(header.shadow_capacity)};
  if (header.process_table != 0) {
    client.process_table = {Address(header.process_table), Address(header.process_table + table_size(client.geometry))};
  }
  std::vector<JournalEntry> journal(header.journal_count);
  TRY_DO(space.memory.read(Address(mapping.begin + header.journal_offset),
                           {reinterpret_cast<uint8_t*>(journal.data()), journal.size() * sizeof(JournalEntry)}));
  for (size_t i = 0; i < journal.size(); i++) {
    PatchedSite site = site_of(journal[i], Address(mapping.begin));
    // Where padding has been made a relay, its entry follows that of the site.
    site.is_relay = i > 0 && journal[i].trampoline_offset == journal[i - 1].trampoline_offset;
    sites.push_back(site);
  }
  return {};
}

}  // namespace

namespace {

// A pending return, and where its frame is kept.
struct PendingReturn {
  ClientId client;
  Address at;  // of the ShadowFrame
  abi::ShadowFrame frame;
  bool done = false;
};

// Calls `use` with the frames that are in use, the last first. begin: of the first frame.
template <typename Use>
void read_frames(const TargetMemory& memory, const ArenaGeometry& geometry, Address begin, uint32_t depth, Use use) {
  constexpr uint64_t kAtOnce = 1 << 20;  // bytes
  if (geometry.shadow_stride < sizeof(abi::ShadowFrame)) return;
  auto most = static_cast<uint32_t>(std::max<uint64_t>(1, kAtOnce / geometry.shadow_stride));
  std::vector<uint8_t> bytes;
  for (uint32_t left = depth; left > 0;) {
    uint32_t count = std::min(left, most);
    left -= count;
    // Of the last frame, only the frame itself is read: what it has saved may be all that is mapped behind it.
    bytes.assign((count - 1) * geometry.shadow_stride + sizeof(abi::ShadowFrame), 0);
    Address from = begin + static_cast<int64_t>(left * geometry.shadow_stride);
    if (!memory.read(from, bytes).ok()) return;
    for (uint32_t i = count; i-- > 0;) {
      abi::ShadowFrame frame;
      memcpy(&frame, bytes.data() + i * geometry.shadow_stride, sizeof frame);
      if (frame.stack_slot != 0) use(from + static_cast<int64_t>(i * geometry.shadow_stride), frame);
    }
  }
}

// Adds the frames of one thread, if they are no more than `left`, which it reduces.
void read_stack(const AddressSpace& space, ClientId id, const ClientSpace& client, Address slot_at, uint64_t& left,
                std::vector<PendingReturn>& pending) {
  const ArenaGeometry& geometry = client.geometry;
  auto slot = space.memory.read_value<abi::ThreadSlot>(slot_at);
  if (!slot.ok()) return;
  uint32_t depth = std::min(slot->shadow_depth, geometry.shadow_capacity);
  if (depth > left) return;
  left -= depth;
  read_frames(space.memory, geometry, slot_at + static_cast<int64_t>(geometry.shadow_offset), depth,
              [&](Address at, const abi::ShadowFrame& frame) { pending.push_back({id, at, frame}); });
}

// Adds the spilled frames of all threads of the process, the newest first, if they are no more than `left`, which it reduces.
void read_spilled(const AddressSpace& space, ClientId id, const ClientSpace& client, uint64_t& left,
                  std::vector<PendingReturn>& pending) {
  const ArenaGeometry& geometry = client.geometry;
  Address header_at = client.process_table.begin + abi::kInheritedOffset;
  Address begin = header_at + static_cast<int64_t>(sizeof(abi::InheritedState));
  auto header = space.memory.read_value<abi::InheritedState>(header_at);
  auto count = static_cast<uint32_t>(abi::spilled_frames(geometry.shadow_stride));
  if (!header.ok() || header->spills_returns == 0 || count > left) return;
  left -= count;
  std::vector<std::pair<uint64_t, PendingReturn>> found;
  read_frames(space.memory, geometry, begin, count, [&](Address at, const abi::ShadowFrame& frame) {
    uint64_t tag = frame.stack_slot;
    if (tag & abi::kSpilledBusy) return;
    PendingReturn each{id, at, frame};
    each.frame.stack_slot = tag & abi::kSpilledKeyMask;
    found.emplace_back(tag >> abi::kSpilledOrderShift, each);
  });
  std::stable_sort(found.begin(), found.end(), [](auto& a, auto& b) { return a.first > b.first; });
  for (auto& [order, frame] : found) pending.push_back(frame);
}

// Returns the parent's slots of a child whose pending returns were not resolved when the controller died. Empty for any other
// process. Slots of the thread that forked come first: the child has its thread pointer.
std::vector<Address> slots_of_parent(const AddressSpace& space, const ClientSpace& client) {
  const ArenaGeometry& geometry = client.geometry;
  auto pid = space.memory.read_value<uint64_t>(client.process_table.begin + offsetof(abi::ProcessTable, pid));
  auto inherited = space.memory.read_value<abi::InheritedState>(client.process_table.begin + abi::kInheritedOffset);
  if (!pid.ok() || !inherited.ok() || inherited->process == *pid || geometry.slot_stride == 0) return {};
  std::set<uint64_t> pointers;
  for (const Process* process : space.users) {
    for (auto& [tid, thread] : process->threads) {
      ThreadRegisters registers;
      if (!native_architecture().read_registers(tid, registers).ok()) continue;
      pointers.insert(abi::thread_table_key(native_architecture().thread_pointer(registers)));
    }
  }
  std::vector<Address> slots;
  size_t own = 0;
  for (uint64_t index = abi::kFirstSlot; index < abi::kMostSlots; index++) {
    uint64_t offset = geometry.slots_offset + index * geometry.slot_stride;
    if (offset >= client.arena.size() || client.arena.size() - offset < geometry.slot_stride) break;
    Address at = client.arena.begin + static_cast<int64_t>(offset);
    auto slot = space.memory.read_value<abi::ThreadSlot>(at);
    if (!slot.ok() || slot->owner >> 32 != inherited->process) continue;
    bool is_own = pointers.contains(slot->thread_pointer);
    slots.insert(is_own ? slots.begin() + static_cast<ptrdiff_t>(own) : slots.end(), at);
    own += is_own;
  }
  return slots;
}

// Reads all pending returns. Those of one stack slot and client come in the order of their age, the newest first.
std::vector<PendingReturn> read_pending(const AddressSpace& space, std::optional<uint64_t> only_thread) {
  std::vector<PendingReturn> pending;
  uint64_t left = kMostPending;
  for (auto& [id, client] : space.clients) {
    const ArenaGeometry& geometry = client.geometry;
    if (geometry.shadow_capacity == 0) continue;
    read_spilled(space, id, client, left, pending);
    for (Address slot : slots_of_parent(space, client)) read_stack(space, id, client, slot, left, pending);
    std::set<uint64_t> seen;  // a thread has a slot of its own
    for (const abi::ThreadTableEntry& entry : read_table(space, client)) {
      // Where a thread pointer came to be shared, calls are pending in the slot of the thread that had it alone.
      const uint64_t key = entry.thread_pointer & ~abi::kOverflowEntry;
      if (key <= 1) continue;
      if (only_thread && key != abi::thread_table_key(*only_thread)) continue;
      if (entry.slot_offset > client.arena.size() || client.arena.size() - entry.slot_offset < geometry.slot_stride) continue;
      if (!seen.insert(entry.slot_offset).second) continue;
      read_stack(space, id, client, client.arena.begin + static_cast<int64_t>(entry.slot_offset), left, pending);
    }
  }
  return pending;
}

}  // namespace

namespace {

// Limits on the work for a process, whose memory may be made to cost us as much as possible. True frames of one stack slot are
// those of tail calls, the newest first, and alternate between clients 16 times at most.
constexpr int kMostPasses = 64;
constexpr size_t kMostOfOneSlot = 1 << 15;
constexpr uint64_t kMostLooks = uint64_t{1} << 25;  // at frames, by one call beyond the first look at each

// Calls `use` with the frames of each stack slot in turn, in the order in which they were read. There may be millions.
template <typename Use>
void for_each_slot(std::vector<PendingReturn>& pending, Use use) {
  std::vector<PendingReturn*> sorted;
  sorted.reserve(pending.size());
  for (PendingReturn& each : pending) sorted.push_back(&each);
  std::ranges::sort(sorted, {}, [](const PendingReturn* each) { return std::pair(each->frame.stack_slot, each); });
  for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    uint64_t slot = sorted[begin]->frame.stack_slot;
    while (end < sorted.size() && sorted[end]->frame.stack_slot == slot) end++;
    use(slot, std::span(sorted).subspan(begin, end - begin));
  }
}

// Reads words in the order of their addresses, a page at a time.
class WordsInOrder {
 public:
  explicit WordsInOrder(const TargetMemory& memory) : memory_(memory) {}
  std::optional<uint64_t> read(uint64_t at) {
    uint64_t page = at / sizeof page_ * sizeof page_;
    if (page != begin_) {
      begin_ = page;
      readable_ = memory_.read(Address(page), {reinterpret_cast<uint8_t*>(page_), sizeof page_}).ok();
    }
    uint64_t offset = at - page, word = 0;
    if (!readable_ || offset > sizeof page_ - sizeof word) {
      auto alone = memory_.read_value<uint64_t>(Address(at));
      return alone.ok() ? std::optional(*alone) : std::nullopt;
    }
    memcpy(&word, page_ + offset, sizeof word);
    return word;
  }

 private:
  const TargetMemory& memory_;
  uint64_t begin_ = 1;
  bool readable_ = false;
  char page_[4096];
};

}  // namespace

// Frames may share a stack slot: the return address of each leads into the code of the client whose frame came before it.
void resolve_pending_returns(const AddressSpace& space, std::optional<uint64_t> only_thread, const TargetMemory& to) {
  std::vector<PendingReturn> pending = read_pending(space, only_thread);
  WordsInOrder words(to);
  CodeOfClients code(space);
  uint64_t looks = pending.size() + kMostLooks;
  for_each_slot(pending, [&](uint64_t slot, std::span<PendingReturn*> frames) {
    auto read = words.read(slot);
    if (!read) return;
    uint64_t present = *read;
    bool found = true;
    for (int pass = 0; found && pass < kMostPasses && frames.size() <= looks; pass++) {
      found = false;
      looks -= frames.size();
      for (PendingReturn* each : frames) {
        if (each->done || !code.contains(each->client, Address(present))) continue;
        present = each->frame.return_address;
        each->done = found = true;
      }
    }
    if (present != *read) (void)to.write_value(Address(slot), present);
  });
}

void resolve_pending_returns(const AddressSpace& space, ClientId client) {
  auto mine = space.clients.find(client);
  if (mine == space.clients.end() || mine->second.geometry.shadow_capacity == 0) return;
  std::vector<PendingReturn> pending = read_pending(space, {});
  CodeOfClients code(space);
  uint64_t looks = pending.size() + kMostLooks;
  for_each_slot(pending, [&](uint64_t slot, std::span<PendingReturn*> frames) {
    if (frames.size() > kMostOfOneSlot) return;
    for (PendingReturn* each : frames) {
      if (each->client != client || frames.size() > looks) continue;
      auto present = space.memory.read_value<uint64_t>(Address(slot));
      if (present.ok() && code.contains(client, Address(*present))) {
        (void)space.memory.write_value(Address(slot), each->frame.return_address);
        continue;
      }
      looks -= frames.size();
      auto other = std::find_if(frames.begin(), frames.end(), [&](const PendingReturn* frame) {
        return frame->client != client && code.contains(client, Address(frame->frame.return_address));
      });
      if (other == frames.end()) continue;
      (*other)->frame.return_address = each->frame.return_address;
      (void)space.memory.write_value((*other)->at + offsetof(abi::ShadowFrame, return_address), each->frame.return_address);
    }
  });
}

// Takes threads that are in handlers out of them. Returns whether there was one.
static bool leave_handlers(AddressSpace& space, const HandlerLeaver& leave) {
  bool any = false;
  for (Process* process : space.users) {
    for (auto& [tid, thread] : process->threads)
      if (!thread->running && leave(*thread)) any = true;
  }
  return any;
}

Result<void> remove_all(Tracer& tracer, AddressSpace& space, uint64_t patience_ms, AfterRemoval after,
                        const HandlerLeaver& leave) {
  if (space.empty()) return {};
  TRY_DO(tracer.keep_still(space.users, patience_ms));
  settle_breakpoints(tracer, space);
  std::set<pid_t> unseen = leave_relays(space, space.sites.in_text());
  // The traps on ptrace(2) stay to the end: while the process runs and is traced by us, such a call would fail.
  std::vector<PatchedSite> sites, traps;
  for (const PatchedSite& site : space.sites.in_text()) {
    (space.traps.is_tracing_site(site.begin) ? traps : sites).push_back(site);
  }
  std::set<Address> untouched;  // of which nothing was to be taken out
  std::set<Address> foreign;    // of those, where somebody else has written
  auto restore = [&](std::span<const PatchedSite> from) {
    std::vector<const PatchedSite*> others;
    write_patches(space.memory, from, PatchDirection::kRestore, [&](size_t index, TextState found) {
      const PatchedSite& site = from[index];
      if (found != TextState::kGone && !site.is_relay && !untouched.contains(site.begin)) space.note_overwritten(site.begin);
      if (found != TextState::kMixed) untouched.insert(site.begin);
      others.push_back(&site);
    });
    for (const PatchedSite* site : others) {
      if (text_at(space.memory, *site) == TextState::kForeign) foreign.insert(site->begin);
    }
  };
  restore(sites);
  for (const PatchedSite& site : space.sites.retired()) {  // what has overwritten it may have put our jump back, or may do so
    const TextState state = text_at(space.memory, site);
    if (state == TextState::kPatched || state == TextState::kMixed)
      write_patches(space.memory, {&site, 1}, PatchDirection::kRestore, [](size_t, TextState) {});
    if (state == TextState::kForeign) foreign.insert(site.begin);
  }
  space.sites.mark_restored();
  count_semaphores(space.memory, space.sites.in_text(), untouched, PatchDirection::kRestore);
  auto deadline = Tracer::Clock::now() + std::chrono::milliseconds(patience_ms);
  std::chrono::milliseconds run(1);
  int leaving = 8;  // how often threads are taken out of handlers, at most
  for (;;) {
    resolve_pending_returns(space, {}, space.memory);
    bool outside = evacuate(space, foreign);
    if (outside && !traps.empty()) {
      restore(std::exchange(traps, {}));
      outside = evacuate(space, foreign);
    }
    if (outside) break;
    step_out_of_stop(tracer, space);
    bool late = Tracer::Clock::now() > deadline;
    if (late && leave && leaving-- > 0 && leave_handlers(space, leave)) late = false;
    if (late) restore(traps);
    tracer.let_go(space.users);
    if (late)
      return Error{"a thread does not leave our code: handlers stay mapped, all functions are restored",
                   "is the process stopped (SIGSTOP)?"};
    // Each wait is longer than the one before: on a busy machine a thread gets no processor at all within a millisecond.
    let_run(tracer, space, run);
    run = std::min(2 * run, std::chrono::milliseconds(64));
    if (space.users.empty()) return {};
    if (auto still = tracer.keep_still(space.users, patience_ms); !still.ok()) return restore(traps), still;
    settle_breakpoints(tracer, space);
    if (!unseen.empty()) unseen = leave_relays(space, space.sites.in_text(), &unseen);
  }
  if (space.sites.may_lack_patches()) space.overwritten.clear();
  space.keeps_code = !foreign.empty();
  auto unmapped = foreign.empty() ? unmap_all(tracer, space) : leave_all(tracer, space);
  space.forget_sites();
  for (Process* process : space.users) {
    for (auto& [tid, thread] : process->threads) thread->calls.moved_to = Address();
  }
  if (after == AfterRemoval::kRelease && unmapped.ok()) {
    for (Process* process : std::vector(space.users)) tracer.release(*process);
  } else {
    tracer.let_go(space.users);
  }
  return unmapped;
}

Result<AddressSpace> find_remains(pid_t pid) {
  AddressSpace space;
  TRY(MemoryMap map, MemoryMap::read(pid));
  std::vector<AddressRange> arenas, stubs;
  std::vector<PatchedSite> sites;
  // the last mapping, if it may be the shared pages of the last arena: more of the arena follows then
  const Mapping* within = nullptr;
  for (const Mapping& mapping : map.all()) {
    bool arena = mapping.path.starts_with("/memfd:spile-arena");
    const Mapping* before = std::exchange(within, nullptr);
    if (mapping.path == "anon_inode:bpf-map" && !arenas.empty() && arenas.back().end.value == mapping.begin) within = &mapping;
    if (!arena && !mapping.path.starts_with("/memfd:spile-code")) continue;
    if (arena && mapping.offset != 0) {  // slots that came later, or what lies behind shared pages
      uint64_t end = arenas.empty() ? 0 : before ? before->end : arenas.back().end.value;
      if (end == mapping.begin) arenas.back().end = Address(mapping.end);
      else if (mapping.offset == abi::kPageSize)  // behind the header of what a controller has left there on purpose
        arenas.push_back({Address(mapping.begin - abi::kPageSize), Address(mapping.end)});
      continue;
    }
    if (mapping.offset != 0) {  // stubs of punned jumps
      stubs.push_back({Address(mapping.begin), Address(mapping.end)});
      continue;
    }
    if (!space.memory.is_open()) {
      TRY(space.memory, TargetMemory::open(pid));
    }
    if (arena) {
      arenas.push_back({Address(mapping.begin), Address(mapping.end)});
      continue;
    }
    // A region that can't be read is left where it is.
    (void)adopt_region(space, mapping, sites);
  }
  // A controller that was killed early has got no further than its arena.
  for (const AddressRange& arena : arenas) {
    auto known = std::find_if(space.clients.begin(), space.clients.end(),
                              [&](auto& client) { return client.second.arena.begin == arena.begin; });
    if (known != space.clients.end()) known->second.arena = arena;
    if (known != space.clients.end() || space.clients.size() >= kMostRegions) continue;
    ClientId id = kOwnClient;
    while (space.clients.contains(id)) id++;
    space.clients[id].arena = arena;
  }
  if (!stubs.empty()) {
    auto& code = space.clients[kOwnClient].code;
    code.insert(code.end(), stubs.begin(), stubs.end());
  }
  std::ranges::sort(sites, {}, &PatchedSite::begin);
  space.sites.replace(sites, {});
  return space;
}

}  // namespace spile::engine
