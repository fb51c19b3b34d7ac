#include "engine/space/space_setup.h"

#include <errno.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "abi/arena.h"
#include "abi/spilled_returns.h"
#include "base/processes/proc.h"
#include "engine/process/memory_map.h"
#include "engine/space/remote_mapping.h"
#include "engine/space/signal_actions.h"
#include "engine/space/space_calls.h"
#include "engine/space/thread_identities.h"
#include "engine/trace/descriptor_channel.h"
#include "engine/trace/remote_call.h"

namespace spile::engine {
namespace {

constexpr uint64_t kPage = 4096;
static_assert(abi::kInheritedOffset - sizeof(abi::ProcessTable) >= 256);  // AddressSpace::scratch
constexpr uint64_t kLeastSites = 4096;  // memory that is not touched costs nothing, but where a program locks all it has
constexpr uint64_t kLeastCodeRoom = uint64_t{1} << 20;
constexpr int kPlacementTries = 64;  // a program that starts threads all the time maps their stacks where there is room

// A forked child has a copy of the spilled returns, since its stacks are copies.
Result<void> map_table(RemoteCalls& calls, ClientSpace& client, pid_t pid, const ArenaGeometry& geometry) {
  if (client.process_table.size() == 0) {
    uint64_t size = table_size(geometry);
    TRY(Address at,
        map_memory(calls, pid, {.what = "map the process table", .size = size, .protection = PROT_READ | PROT_WRITE}));
    client.process_table = {at, at + static_cast<int64_t>(size)};
  }
  TRY_DO(calls.call("madvise", SYS_madvise, {client.process_table.begin.value, abi::kInheritedOffset, MADV_WIPEONFORK}));
  // Lets the controller order its stores with handlers in all processes by one call (MEMBARRIER_CMD_GLOBAL_EXPEDITED).
  // A kernel without it has slower ways.
  (void)calls.call("membarrier", SYS_membarrier, {MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0});
  return {};
}

// Maps the memory behind our descriptor `fd` into the target. where: 0: any place.
Result<Address> map_descriptor(RemoteCalls& calls, AddressSpace& space, pid_t pid, const char* what, int fd, uint64_t size,
                               uint64_t protection, Address where, uint64_t offset = 0, bool replaces = false) {
  TRY(DescriptorChannel channel, DescriptorChannel::open(calls, space.memory, pid, space.scratch()));
  auto remote = channel.send(calls, fd);
  Result<Address> mapped = Error{};
  if (remote.ok()) {
    mapped = map_memory(calls, pid, {what, size, protection, *remote, offset, where, replaces});
    (void)calls.call("close", SYS_close, {static_cast<uint64_t>(*remote)});
  }
  (void)channel.close(calls);  // a failure means that the thread has ended, which closes its descriptors
  if (!remote.ok()) return std::move(remote).error();
  return mapped;
}

// Adds a region to the client's, and lists it in all other regions, and those in it.
void add_region(AddressSpace& space, ClientSpace& client, const std::shared_ptr<Region>& region, const Module& module) {
  region->fill_cells(client.arena.begin, client.process_table.begin, module.bias, module.goroutine);
  for (auto& [id, each] : space.clients) {
    for (const AddressRange& range : each.code) region->list_region(range.begin, range.end, &each != &client);
  }
  client.regions.push_back(region);
  client.code.push_back({region->address(), region->end()});
  for (auto& [id, each] : space.clients) {
    for (auto& other : each.regions) other->list_region(region->address(), region->end(), &each != &client);
  }
}

}  // namespace

uint64_t table_size(const ArenaGeometry& geometry) {
  return abi::kInheritedOffset + abi::inherited_size(geometry.shadow_stride, geometry.shadow_capacity);
}

namespace {

constexpr uint64_t kLargestReserve = uint64_t{64} << 30;  // of addresses behind the arena, for slots to come
constexpr uint64_t kApart = uint64_t{64} << 30;           // from what the program maps

// The arena may lie anywhere, so it leaves the addresses to code that reaches only so far. Where addresses aren't
// randomized, those right below the dynamic linker, which the kernel gives first, are all that is near it.
Address out_of_the_way(pid_t pid, uint64_t size) {
  auto map = MemoryMap::read(pid);
  if (!map.ok()) return Address();
  uint64_t reserve = std::min(size, kLargestReserve);
  auto hole = map->find_hole(std::max(size, reserve), 2 * native_architecture().reach() + kApart);
  if (!hole) hole = map->find_hole(reserve, 0);
  return hole ? Address(*hole) : Address();
}

uint64_t size_with(const ArenaGeometry& geometry, uint64_t slots) {
  return slots >= geometry.slot_count ? geometry.size : geometry.slots_offset + slots * geometry.slot_stride;
}

Result<void> write_inherited(const AddressSpace& space, const ClientSpace& client, size_t offset, uint64_t value) {
  return space.memory.write_value(client.process_table.begin + static_cast<int64_t>(abi::kInheritedOffset + offset), value);
}

Result<void> write_slots(const AddressSpace& space, const ClientSpace& client, uint64_t slots) {
  TRY_DO(write_inherited(space, client, offsetof(abi::InheritedState, slots), slots));
  return write_inherited(space, client, offsetof(abi::InheritedState, slots_change), 0);
}

uint64_t count_threads(const AddressSpace& space) {
  uint64_t count = 0;
  for (const Process* process : space.users) count += process->threads.size();
  return count;
}

// Keeps the arena out of core files: it is mostly untouched gigabytes.
void leave_out_of_cores(RemoteCalls& calls, const AddressRange& range) {
  (void)calls.call("madvise", SYS_madvise, {range.begin.value, range.size(), MADV_DONTDUMP});
}

Result<void> set_up_table(SetupContext& context, RemoteCalls& calls, AddressSpace& space, pid_t pid) {
  constexpr int kStartOfStack = 28;  // of the first thread: proc(5)
  ClientSpace& client = space.clients[context.client];
  TRY_DO(map_table(calls, client, pid, context.geometry));
  const uint64_t stack_end = strtoull(stat_field(pid, kStartOfStack).c_str(), nullptr, 10);
  TRY_DO(write_inherited(space, client, offsetof(abi::InheritedState, first_stack_end), stack_end));
  TRY_DO(introduce_process(space, client, pid_of(space)));
  own_returns(space, pid_of(space));
  return {};
}

}  // namespace

namespace {

// Over the arena's file, where handlers of this process and of the kernel have the globals that both change.
Result<void> map_shared_pages(SetupContext& context, RemoteCalls& calls, AddressSpace& space, pid_t pid) {
  const ArenaGeometry& geometry = context.geometry;
  if (geometry.shared_size == 0) return {};
  Address where = space.clients[context.client].arena.begin + static_cast<int64_t>(geometry.shared_offset);
  auto mapped = map_descriptor(calls, space, pid, "map what is shared with the kernel", context.shared_fd, geometry.shared_size,
                               PROT_READ | PROT_WRITE, where, 0, true);
  if (!mapped.ok()) return std::move(mapped).error();
  return {};
}

}  // namespace

Result<void> map_arena(SetupContext& context, AddressSpace& space) {
  ClientSpace& client = space.clients[context.client];
  if (client.arena.size() != 0) return {};
  const ArenaGeometry& geometry = context.geometry;
  TRY(client.header, ArenaHeaderView::open(context.arena_fd));
  bool has_table = client.process_table.size() != 0;
  uint64_t slots = 0;
  return make_calls(context.tracer, space, [&](RemoteCalls& calls, Thread& thread) -> Result<void> {
    pid_t pid = thread.process->pid;
    if (!has_table) TRY_DO(set_up_table(context, calls, space, pid));
    has_table = true;
    // Other processes may have taken the lowest slots.
    uint64_t least = geometry.first_slots == 0 ? geometry.slot_count : geometry.first_slots + client.header->taken_slots();
    uint64_t size = 0;
    auto map_at = [&](Address where) {
      size = size_with(geometry, slots);
      return map_descriptor(calls, space, pid, "map the arena", context.arena_fd, size, PROT_READ | PROT_WRITE, where);
    };
    if (client.arena.size() == 0) {
      slots = std::min<uint64_t>(least + count_threads(space), geometry.slot_count);
      auto mapped = map_at(out_of_the_way(pid, geometry.size));
      if (!mapped.ok()) mapped = map_at(Address());
      if (!mapped.ok() && least < slots) {
        slots = least;
        mapped = map_at(Address());
      }
      if (!mapped.ok()) return std::move(mapped).error();
      client.arena = {*mapped, *mapped + static_cast<int64_t>(size)};
      client.geometry = geometry;
      if (auto shared = map_shared_pages(context, calls, space, pid); !shared.ok()) {
        (void)calls.call("munmap", SYS_munmap, {client.arena.begin.value, client.arena.size()});
        client.arena = {};
        return shared;
      }
    }
    leave_out_of_cores(calls, client.arena);
    return write_slots(space, client, slots);
  });
}

// A child may have been forked before more was mapped in its parent, after it, or between that and the note of it.
Result<uint64_t> measure_arena(AddressSpace& space, ClientSpace& client) {
  const ArenaGeometry& geometry = client.geometry;
  if (client.arena.size() == 0 || geometry.slot_stride == 0 || space.users.empty()) return uint64_t{0};
  TRY(auto inherited, space.memory.read_value<abi::InheritedState>(client.process_table.begin + abi::kInheritedOffset));
  uint64_t present = (client.arena.size() - geometry.slots_offset) / geometry.slot_stride;
  if (inherited.slots == present && inherited.slots_change == 0) return present;
  TRY(MemoryMap map, MemoryMap::read(pid_of(space)));
  // shared pages are not of the arena's file
  uint64_t end = client.arena.begin.value + geometry.shared_offset + geometry.shared_size;
  for (const Mapping* mapping; (mapping = map.find(end)) && mapping->path.starts_with("/memfd:spile-arena");) end = mapping->end;
  end = std::min(end, client.arena.begin.value + geometry.size);
  if (end < client.arena.begin.value + geometry.slots_offset) return Error{"the arena is not mapped any more", ""};
  client.arena.end = Address(end);
  present = (client.arena.size() - geometry.slots_offset) / geometry.slot_stride;
  TRY_DO(write_slots(space, client, present));
  return present;
}

Result<void> grow_arena(SetupContext& context, AddressSpace& space) {
  ClientSpace& client = space.clients[context.client];
  const ArenaGeometry& geometry = client.geometry;
  TRY(uint64_t present, measure_arena(space, client));
  TRY(auto inherited, space.memory.read_value<abi::InheritedState>(client.process_table.begin + abi::kInheritedOffset));
  if (present == 0 || present >= geometry.slot_count || inherited.slots_are_all != 0) return {};
  uint64_t taken = client.header ? client.header->taken_slots() : 0;
  if (taken + abi::kFirstSlot + 1 < present) return {};  // since another thread has rung
  TRY_DO(write_inherited(space, client, offsetof(abi::InheritedState, slots_change), 1));
  auto grow_to = [&](uint64_t slots) {
    return make_calls(context.tracer, space, [&](RemoteCalls& calls, Thread& thread) -> Result<void> {
      AddressRange more{client.arena.end, client.arena.begin + static_cast<int64_t>(size_with(geometry, slots))};
      if (more.size() != 0) {
        auto mapped = map_descriptor(calls, space, thread.process->pid, "map more of the arena", context.arena_fd, more.size(),
                                     PROT_READ | PROT_WRITE, more.begin, client.arena.size());
        if (!mapped.ok()) return std::move(mapped).error();
        client.arena.end = more.end;
        leave_out_of_cores(calls, more);
      }
      return write_slots(space, client, slots);
    });
  };
  // Each thread of the process may be about to need a slot.
  uint64_t wanted = std::max(2 * present, taken + abi::kFirstSlot + count_threads(space));
  auto grown = grow_to(std::min<uint64_t>(wanted, geometry.slot_count));
  if (!grown.ok() && wanted > present + 1) grown = grow_to(present + 1);
  if (grown.ok()) return {};
  // The thread that mapped it may have ended before it said so.
  if (auto now = measure_arena(space, client); now.ok() && *now > present) return {};
  (void)write_inherited(space, client, offsetof(abi::InheritedState, slots_are_all), 1);
  (void)write_slots(space, client, present);
  return std::move(grown).error();
}

Result<std::shared_ptr<Region>> region_for(SetupContext& context, AddressSpace& space, const Module& module, uint64_t sites,
                                           uint64_t code_room) {
  Address low = module.lowest, high = module.highest;
  uint64_t reach = native_architecture().reach();
  auto reaches = [&](Address begin, Address end) { return begin.value + reach >= high.value && low.value + reach >= end.value; };
  ClientSpace& client = space.clients[context.client];
  for (auto& region : client.regions) {
    bool serves = region->bias() == module.bias && reaches(region->address(), region->end());
    if (serves && region->has_room(sites, code_room)) return region;
  }
  uint64_t most_sites = std::max(sites + sites / 2, kLeastSites);
  uint64_t most_room = std::max(code_room + code_room / 2, kLeastCodeRoom);
  TRY(MemoryMap now, MemoryMap::read(pid_of(space)));
  if (!now.find_room(low.value, high.value, Region::size_for(most_sites, most_room, context.image), reach)) {
    // For example below 4 MiB, if the program's data takes all that can be reached above it.
    most_sites = sites;
    most_room = code_room;
  }
  TRY(auto region, Region::create(most_sites, most_room, context.image));
  bool is_there = false;
  auto map_region = [&](RemoteCalls& calls, Thread& thread) -> Result<void> {
    pid_t pid = thread.process->pid;
    Error last{fmt::format("no free addresses near {:#x} in process {}", low.value, pid), ""};
    for (int tries = 0; !is_there && tries < kPlacementTries; tries++) {
      TRY(MemoryMap map, MemoryMap::read(pid));
      auto room = map.find_room(low.value, high.value, region->size(), reach);
      if (!room) return last;
      region->place(Address(*room));
      auto mapped =
          map_descriptor(calls, space, pid, "map code", region->fd(), region->size(), PROT_READ | PROT_EXEC, region->address());
      is_there = mapped.ok() && *mapped == region->address();
      // Another thread was given the place in between.
      if (!mapped.ok()) last = std::move(mapped).error();
    }
    return is_there ? Result<void>() : last;
  };
  TRY_DO(make_calls(context.tracer, space, map_region));
  region->record_geometry(context.geometry);
  add_region(space, client, region, module);
  return region;
}

namespace {

constexpr uint64_t kMostStubPages = 512;  // mappings are a limited resource of the target (vm.max_map_count)
constexpr uint64_t kMostTries = 64;
// Left free above a heap, where brk grows: all that a jump reaches; where a jump that takes its target from the program's bytes
// has no other place, the second.
constexpr uint64_t kAllOfHeap = uint64_t{2} << 30, kLeastOfHeap = uint64_t{1} << 30;

Result<void> map_stub_page(SetupContext& context, AddressSpace& space, Region& region, const Region::StubPage& page,
                           Address where) {
  Address mapped;
  auto map_page = [&](RemoteCalls& calls, Thread& thread) -> Result<void> {
    if (mapped != Address()) return {};
    TRY(mapped, map_descriptor(calls, space, thread.process->pid, "map a page for punned jumps", region.fd(), kPage,
                               PROT_READ | PROT_EXEC, where, page.offset));
    return {};
  };
  TRY_DO(make_calls(context.tracer, space, map_page));
  if (mapped != where) return Error{"a page for punned jumps lies elsewhere", ""};
  return {};
}

// Whether a jump of the range may lead to `at`: the bytes of its displacement that are guarded are no instructions.
bool keeps_guard(const PunRange& range, Address at) {
  const VariableLengthPatching* patching = native_architecture().variable_length();
  if (range.guarded == 0 || !patching) return true;
  const std::span<const uint8_t> invalid = patching->invalid_bytes();
  const auto distance = static_cast<uint64_t>(at - range.behind);
  for (int n = 0; n < 4; n++) {
    if ((range.guarded >> n & 1) && std::ranges::find(invalid, static_cast<uint8_t>(distance >> 8 * n)) == invalid.end())
      return false;
  }
  return true;
}

// Places to which a jump of the range may lead whose displacement has no byte that is an instruction, so that they also do for
// others nearby.
std::vector<Address> guarded_places(const PunRange& range) {
  std::vector<Address> places;
  const VariableLengthPatching* patching = native_architecture().variable_length();
  if (!patching) return places;
  const std::span<const uint8_t> invalid = patching->invalid_bytes();
  for (size_t low = 0; low < 4; low++) {
    for (uint8_t highest : invalid) {
      const auto distance = static_cast<int32_t>(uint32_t{highest} << 24 | uint32_t{invalid[low]} << 16 |
                                                 uint32_t{invalid[low]} << 8 | invalid[low]);
      const Address at = range.behind + distance;
      if (at >= range.low && at < range.low + static_cast<int64_t>(range.count)) places.push_back(at);
    }
  }
  return places;
}

// Writes a stub into a page that is mapped already. Empty: none has room in the ranges.
std::optional<PlacedStub> use_mapped_page(Region& region, std::span<const PunRange> ranges, Address target) {
  for (Region::StubPage& page : region.stub_pages()) {
    for (Address base : page.mapped) {
      for (const PunRange& range : ranges) {
        Address from = std::max(base, range.low), to = std::min(base + kPage, range.low + static_cast<int64_t>(range.count));
        for (Address at = from; at < to; at = at + 1) {
          if (!keeps_guard(range, at)) continue;
          std::vector<uint8_t> code = native_architecture().emit_stub(at, target);
          uint64_t offset = static_cast<uint64_t>(at - base);
          if (!page.is_free(offset, code.size())) continue;
          region.put_stub(page, offset, code);
          return PlacedStub{range, at};
        }
      }
    }
  }
  return {};
}

// Finds or adds a page that has free bytes for a stub at this offset, or nullptr.
Region::StubPage* page_for(Region& region, uint64_t offset, uint64_t length) {
  for (Region::StubPage& page : region.stub_pages()) {
    if (page.is_free(offset, length)) return &page;
  }
  Region::StubPage* page = region.add_stub_page();
  return page && page->is_free(offset, length) ? page : nullptr;
}

}  // namespace

std::optional<PlacedStub> place_stub(SetupContext& context, AddressSpace& space, Region& region, std::span<const PunRange> ranges,
                                     Address target) {
  if (space.users.empty()) return {};
  if (auto placed = use_mapped_page(region, ranges, target)) return placed;
  uint64_t mapped = 0;
  for (const Region::StubPage& page : region.stub_pages()) mapped += page.mapped.size();
  if (mapped >= kMostStubPages) return {};
  auto map = MemoryMap::read(pid_of(space));
  if (!map.ok()) return {};
  auto place_at = [&](const PunRange& range, Address at, uint64_t heap_room) -> std::optional<PlacedStub> {
    uint64_t base = at.value / kPage * kPage;
    std::vector<uint8_t> code = native_architecture().emit_stub(at, target);
    if (at.value - base + code.size() > kPage || !map->is_free_page(base, heap_room)) return {};
    Region::StubPage* page = page_for(region, at.value - base, code.size());
    if (!page || !map_stub_page(context, space, region, *page, Address(base)).ok()) return {};
    region.put_stub(*page, at.value - base, code);
    page->mapped.push_back(Address(base));
    space.clients[context.client].code.push_back({Address(base), Address(base + kPage)});
    return PlacedStub{range, at};
  };
  auto place = [&](const PunRange& range, uint64_t heap_room) -> std::optional<PlacedStub> {
    if (range.guarded != 0) {
      for (Address at : guarded_places(range)) {
        if (auto placed = place_at(range, at, heap_room)) return placed;
      }
      return {};
    }
    uint64_t step = std::max<uint64_t>(range.count / kMostTries / kPage * kPage, std::min(range.count, kPage));
    const uint64_t last = (range.count - 1) / step * step;
    for (uint64_t tried = 0; tried < range.count; tried += step) {
      // What is above a heap lies as far from it as possible.
      const uint64_t skip = heap_room == kAllOfHeap ? tried : last - tried;
      if (auto placed = place_at(range, range.low + static_cast<int64_t>(skip), heap_room)) return placed;
    }
    return {};
  };
  for (uint64_t heap_room : {kAllOfHeap, kLeastOfHeap}) {
    for (const PunRange& range : ranges) {
      if (range.count == 0) continue;
      if (auto placed = place(range, heap_room)) return placed;
    }
  }
  return {};
}

namespace {

// Removes each range from the lists as soon as it is unmapped, so that a second try does not unmap what another thread has mapped
// there.
Result<void> unmap(RemoteCalls& calls, ClientSpace& client) {
  while (!client.code.empty()) {
    AddressRange range = client.code.back();
    TRY_DO(calls.call("unmap code", SYS_munmap, {range.begin.value, range.size()}));
    client.code.pop_back();
  }
  for (AddressRange* range : {&client.arena, &client.process_table}) {
    if (range->size() != 0) TRY_DO(calls.call("munmap", SYS_munmap, {range->begin.value, range->size()}));
    *range = {};
  }
  return {};
}

using LeaveMapping = Result<void> (*)(RemoteCalls&, Thread&, AddressSpace&, ClientSpace&);

Result<void> drop_client(Tracer& tracer, AddressSpace& space, ClientId id, LeaveMapping leave) {
  auto found = space.clients.find(id);
  if (found == space.clients.end()) return {};
  const std::vector<AddressRange> code = found->second.code;
  TRY_DO(
      make_calls(tracer, space, [&](RemoteCalls& calls, Thread& thread) { return leave(calls, thread, space, found->second); }));
  space.clients.erase(found);
  for (auto& [other, client] : space.clients) {
    for (auto& region : client.regions) {
      for (const AddressRange& range : code) region->unlist_region(range.begin);
    }
  }
  return {};
}

Result<void> drop_all(Tracer& tracer, AddressSpace& space, LeaveMapping leave) {
  if (space.empty()) return {};
  bool has_our_actions = true;  // signal actions that we have set
  TRY_DO(make_calls(tracer, space, [&](RemoteCalls& calls, Thread& thread) -> Result<void> {
    if (has_our_actions) TRY_DO(take_back_actions(calls, *thread.process));
    has_our_actions = false;
    for (auto& [id, client] : space.clients) TRY_DO(leave(calls, thread, space, client));
    return {};
  }));
  space.clients.clear();
  space.signal_code = {};
  return {};
}

Result<void> unmap_client_of(RemoteCalls& calls, Thread&, AddressSpace&, ClientSpace& client) { return unmap(calls, client); }

// Gives the process an arena's header of its own, which says that the controller is gone. The controller may live on, and the
// arena is shared with all processes that it traces.
Result<void> orphan(RemoteCalls& calls, Thread& thread, AddressSpace& space, ClientSpace& client) {
  if (client.arena.size() == 0) return {};
  std::array<uint8_t, abi::kPageSize> page;
  TRY_DO(space.memory.read(client.arena.begin, page));
  const uint32_t owner_died = FUTEX_OWNER_DIED, disabled = 0;
  memcpy(&page[offsetof(abi::ArenaHeader, controller_futex)], &owner_died, sizeof owner_died);
  memcpy(&page[offsetof(abi::ArenaHeader, enabled)], &disabled, sizeof disabled);
  auto mapped = map_memory(calls, thread.process->pid,
                           {.what = "map the header of what stays",
                            .size = abi::kPageSize,
                            .protection = PROT_READ | PROT_WRITE,
                            .where = client.arena.begin,
                            .replaces = true});
  if (!mapped.ok()) return std::move(mapped).error();
  return space.memory.write(client.arena.begin, page);
}

}  // namespace

Result<void> unmap_client(Tracer& tracer, AddressSpace& space, ClientId id) {
  return drop_client(tracer, space, id, unmap_client_of);
}

Result<void> unmap_all(Tracer& tracer, AddressSpace& space) { return drop_all(tracer, space, unmap_client_of); }

Result<void> leave_client(Tracer& tracer, AddressSpace& space, ClientId id) { return drop_client(tracer, space, id, orphan); }

Result<void> leave_all(Tracer& tracer, AddressSpace& space) { return drop_all(tracer, space, orphan); }

}  // namespace spile::engine
