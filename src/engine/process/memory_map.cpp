#include "engine/process/memory_map.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

#include "base/files/elf_header.h"
#include "base/files/elf_identity.h"
#include "base/processes/proc.h"
#include "engine/process/target_memory.h"

namespace spile::engine {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kLowest = 1 << 20;
constexpr uint64_t kHighest = uint64_t{1} << 47;
constexpr uint64_t kHeapRoom = uint64_t{512} << 20;   // left free above a program's data, where brk grows
// Likewise below a stack: as far as the process's limit lets it grow, between these two.
constexpr uint64_t kStackRoom = uint64_t{256} << 20, kMostStackRoom = uint64_t{16} << 30;
constexpr uint64_t kGap = 16 * kPage;                 // between us and any neighbor, which may grow
// What a program says about itself in its memory; beyond, it is not looked at.
constexpr int kMostHeaders = 4096;
constexpr uint64_t kMostNotes = 64 << 10;

// Nothing can be mapped below vm.mmap_min_addr.
uint64_t lowest_address() {
  static const uint64_t lowest = [] {
    uint64_t least = 0;
    std::ifstream("/proc/sys/vm/mmap_min_addr") >> least;
    return std::max((least + kPage - 1) / kPage * kPage, kLowest);
  }();
  return lowest;
}

// Where the heap of a process begins, or is going to begin (proc(5): the number 47 of /proc/PID/stat). 0: unknown.
uint64_t heap_start(pid_t pid) {
  constexpr int kStartOfHeap = 47;
  return strtoull(stat_field(pid, kStartOfHeap).c_str(), nullptr, 10);
}

// How far the stack of the process may grow (RLIMIT_STACK).
uint64_t stack_limit(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/limits", pid));
  const std::string label = "Max stack size";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(label)) continue;
    const std::string soft = line.substr(label.size());
    return soft.find_first_not_of(' ') == soft.find("unlimited") ? kMostStackRoom : strtoull(soft.c_str(), nullptr, 10);
  }
  return 0;
}

// The addresses at which a file is loaded whose start is mapped at `begin`, by its PT_LOADs.
struct LoadPlace {
  uint64_t bias = 0;
  uint64_t end = 0;
};
std::optional<LoadPlace> load_place(const TargetMemory& memory, uint64_t begin) {
  auto header = memory.read_value<Elf64_Ehdr>(Address(begin));
  if (!header.ok() || !is_elf64(*header) || header->e_phentsize != sizeof(Elf64_Phdr)) {
    return {};
  }
  std::optional<LoadPlace> place;
  for (int i = 0; i < std::min<int>(header->e_phnum, kMostHeaders); i++) {
    auto program = memory.read_value<Elf64_Phdr>(Address(begin + header->e_phoff + i * sizeof(Elf64_Phdr)));
    if (!program.ok()) return {};
    if (program->p_type != PT_LOAD) continue;
    if (!place) place = {begin - (program->p_vaddr - program->p_offset), 0};
    place->end = std::max(place->end, program->p_vaddr + place->bias + program->p_memsz);
  }
  return place;
}

// Whether the program headers of a file that is mapped at `begin` have a note of Go's linker (.note.go.buildid).
bool is_go(const TargetMemory& memory, uint64_t begin, uint64_t bias) {
  auto header = memory.read_value<Elf64_Ehdr>(Address(begin));
  if (!header.ok()) return false;
  for (int i = 0; i < std::min<int>(header->e_phnum, kMostHeaders); i++) {
    auto program = memory.read_value<Elf64_Phdr>(Address(begin + header->e_phoff + i * sizeof(Elf64_Phdr)));
    if (!program.ok() || program->p_type != PT_NOTE) continue;
    struct {
      Elf64_Nhdr header;
      char name[4];
    } note;
    for (uint64_t at = 0; at + sizeof note <= std::min(program->p_memsz, kMostNotes);) {
      if (!memory.read(Address(program->p_vaddr + bias + at), {reinterpret_cast<uint8_t*>(&note), sizeof note}).ok()) break;
      if (note.header.n_namesz == 4 && std::memcmp(note.name, "Go\0\0", 4) == 0) return true;
      at += sizeof note.header + (uint64_t{note.header.n_namesz} + 3) / 4 * 4 + (uint64_t{note.header.n_descsz} + 3) / 4 * 4;
    }
  }
  return false;
}

}  // namespace

Result<MemoryMap> MemoryMap::read(pid_t pid) {
  TRY(std::vector<Mapping> mappings, read_mappings(pid));
  return MemoryMap(std::move(mappings), heap_start(pid), stack_limit(pid));
}

MemoryMap::MemoryMap(std::vector<Mapping> mappings, uint64_t heap, uint64_t stack)
    : all_(std::move(mappings)), heap_(heap), stack_room_(std::clamp(stack + kGap, kStackRoom, kMostStackRoom)) {
  std::sort(all_.begin(), all_.end(), [](const Mapping& a, const Mapping& b) { return a.begin < b.begin; });
}

const Mapping* MemoryMap::find(uint64_t address) const {
  auto after = std::upper_bound(all_.begin(), all_.end(), address,
                                [](uint64_t value, const Mapping& mapping) { return value < mapping.begin; });
  if (after == all_.begin()) return nullptr;
  const Mapping& candidate = *std::prev(after);
  return address < candidate.end ? &candidate : nullptr;
}

const Mapping* MemoryMap::find_named(std::string_view path) const {
  for (const Mapping& mapping : all_) {
    if (mapping.path == path) return &mapping;
  }
  return nullptr;
}

// data_end: where the program's data ends: a heap of unknown place may begin there; 0: unknown.
std::vector<MemoryMap::OccupiedRange> MemoryMap::occupied_ranges(uint64_t data_end) const {
  std::vector<OccupiedRange> found;
  bool has_heap = find_named("[heap]") || heap_ != 0;
  if (heap_ != 0) found.push_back({heap_ - std::min(heap_, kGap), heap_ + kHeapRoom, true});
  for (const Mapping& mapping : all_) {
    // The stack grows downwards, the vdso and others are packed against it.
    uint64_t below = mapping.path == "[stack]" ? stack_room_ : kGap;
    bool grows = mapping.path == "[heap]" || (!has_heap && mapping.end == data_end);
    found.push_back({mapping.begin - std::min(mapping.begin, below), mapping.end + (grows ? kHeapRoom : kGap), grows});
  }
  std::sort(found.begin(), found.end(), [](const OccupiedRange& a, const OccupiedRange& b) { return a.begin < b.begin; });
  return found;
}

std::optional<uint64_t> MemoryMap::find_room(uint64_t low, uint64_t high, uint64_t size, uint64_t reach) const {
  if (high - low >= reach) return {};
  // A region at [at, at + size) reaches everything if at >= high - reach and at + size <= low + reach.
  uint64_t lowest = std::max(high > reach ? high - reach : 0, lowest_address());
  uint64_t highest = std::min(low + reach, kHighest - kGap);
  std::optional<uint64_t> best;
  uint64_t best_distance = ~uint64_t{0};
  auto consider = [&](uint64_t gap_begin, uint64_t gap_end, bool above_heap) {
    uint64_t from = std::max(gap_begin, lowest), to = std::min(gap_end, highest);
    if (from >= to || to - from < size) return;
    // The end of the gap that is nearer to the module; but what is mapped above a heap is where it ends one day.
    uint64_t at = gap_begin >= high && !above_heap ? from : to - size;
    at = at / kPage * kPage;
    if (at < from) return;
    uint64_t distance = at >= high ? at - high : low - std::min(low, at + size);
    // Below is preferred to above.
    if (at >= high) distance += reach;
    if (distance < best_distance) {
      best_distance = distance;
      best = at;
    }
  };
  uint64_t previous = 0;
  bool above_heap = false;
  for (const OccupiedRange& each : occupied_ranges(high)) {
    if (each.begin > previous) consider(previous, each.begin, above_heap);
    if (each.end <= previous) continue;
    previous = each.end;
    above_heap = each.grows;
  }
  consider(previous, kHighest - kGap, above_heap);
  return best;
}

std::optional<uint64_t> MemoryMap::find_hole(uint64_t size, uint64_t apart) const {
  uint64_t end = kHighest;
  for (auto mapping = all_.rbegin();; ++mapping) {
    bool last = mapping == all_.rend();
    uint64_t begin = last ? kLowest : mapping->end + (mapping->path == "[heap]" ? kHeapRoom : kGap);
    uint64_t room = end > begin + kGap ? end - begin - kGap : 0;
    bool above_stack = !last && mapping->path == "[stack]";
    if (room >= size + apart && !above_stack) return (end - kGap - apart - size) / kPage * kPage;
    if (last) return {};
    end = std::min(end,
                   mapping->path == "[stack]" ? mapping->begin - std::min(mapping->begin, stack_room_) : mapping->begin);
  }
}

bool MemoryMap::is_free_page(uint64_t page, uint64_t heap_room) const {
  if (page < lowest_address() || page + kPage > kHighest - kGap) return false;
  if (heap_ != 0 && page + kPage + kGap > heap_ && page < heap_ + heap_room) return false;
  auto after = std::upper_bound(all_.begin(), all_.end(), page,
                                [](uint64_t value, const Mapping& mapping) { return value < mapping.begin; });
  if (after != all_.end()) {
    uint64_t gap = after->path == "[stack]" ? stack_room_ : kGap;
    if (page + kPage + gap > after->begin) return false;
  }
  if (after == all_.begin()) return true;
  const Mapping& below = *std::prev(after);
  bool may_grow = below.path == "[heap]" || (below.writable && heap_ == 0 && !find_named("[heap]"));
  return page >= below.end + (may_grow ? heap_room : kGap);
}

std::vector<Module> find_modules(pid_t pid, const MemoryMap& map, const TargetMemory& memory) {
  std::vector<Module> modules;
  struct Loaded {
    size_t module;
    uint64_t end;  // beyond it, mappings of the file are none of the dynamic linker's
  };
  std::map<std::pair<uint64_t, uint64_t>, Loaded> by_file;  // device and inode: that met last
  const std::string main_path = program_of(pid);

  Module* last = nullptr;
  uint64_t last_end = 0;
  for (const Mapping& mapping : map.all()) {
    // A module's zeroed data is anonymous memory right behind its file's. What is huge no trampoline can reach anyway.
    if (mapping.inode == 0 && mapping.path.empty() && last && last->highest.value == mapping.begin &&
        mapping.end - last->lowest.value < kHeapRoom) {
      last->highest = Address(mapping.end);
    }
    // Some programs move their code to large pages, which have no file, at the same addresses.
    if (mapping.inode == 0 && mapping.path.empty() && mapping.executable && last && mapping.begin < last_end) {
      last->highest = std::max(last->highest, Address(mapping.end));
      last->text.push_back({Address(mapping.begin), Address(mapping.end), mapping.begin - last->lowest.value});
    }
    if (mapping.inode == 0 || mapping.path.empty() || mapping.path[0] != '/') continue;
    if (mapping.path.starts_with("/memfd:spile-")) continue;
    auto known = by_file.find({mapping.device, mapping.inode});
    bool belongs = known != by_file.end() && mapping.begin < known->second.end;
    if (mapping.offset == 0 && !belongs) {
      auto place = load_place(memory, mapping.begin);
      if (!place) continue;
      Module module;
      module.path = without_deleted(mapping.path, mapping.inode);
      module.bias = place->bias;
      module.inode = mapping.inode;
      module.device = mapping.device;
      module.lowest = Address(mapping.begin);
      module.main_executable = mapping.path == main_path;
      module.go = is_go(memory, mapping.begin, place->bias);
      known = by_file.insert_or_assign({mapping.device, mapping.inode}, Loaded{modules.size(), place->end}).first;
      modules.push_back(std::move(module));
      belongs = true;
      last = nullptr;
    }
    if (!belongs) continue;
    Module& module = modules[known->second.module];
    module.highest = std::max(module.highest, Address(mapping.end));
    last = &module;
    last_end = known->second.end;
    if (mapping.executable) {
      module.text.push_back({Address(mapping.begin), Address(mapping.end), mapping.offset});
    }
  }
  std::erase_if(modules, [](const Module& module) { return module.text.empty(); });
  return modules;
}

Result<std::vector<Module>> find_modules(pid_t pid, const TargetMemory& memory) {
  TRY(MemoryMap map, MemoryMap::read(pid));
  std::vector<Module> modules = find_modules(pid, map, memory);
  std::ifstream still_there(fmt::format("/proc/{}/maps", pid));
  if (still_there.peek() == std::ifstream::traits_type::eof()) return Error{fmt::format("process {} has ended", pid), ""};
  return modules;
}

std::string identity_of(const Module& module, const TargetMemory& memory) {
  auto read = [&](uint64_t at, void* into, uint64_t size) {
    return memory.read(Address(at), {static_cast<uint8_t*>(into), size}).ok();
  };
  return elf_identity_in_memory(read, module.lowest.value);
}

}  // namespace spile::engine
