#include "engine/change/text_patcher.h"

#include <string.h>

#include <algorithm>
#include <array>

namespace spile::engine {
namespace {

constexpr uint64_t kPage = 4096;
constexpr size_t kStackScan = 32 * 1024;  // a signal frame lies that near to the stack pointer, or is not looked for

bool is_breakpoint(uint8_t byte) { return native_architecture().is_breakpoint({&byte, 1}); }

TextState state_of(const PatchedSite& site, const uint8_t* text) {
  bool is_patched = true, is_original = true, is_known = true;
  for (size_t i = 0; i < site.overwritten; i++) {
    const bool ours = text[i] == site.patched[i], before = text[i] == site.original[i], breakpoint = is_breakpoint(text[i]);
    is_patched = is_patched && ours;
    is_original = is_original && (before || (breakpoint && !ours));
    is_known = is_known && (ours || before || breakpoint);
  }
  if (is_patched) return TextState::kPatched;
  if (is_original) return TextState::kOriginal;
  return is_known ? TextState::kMixed : TextState::kForeign;
}

// Writes what stood at the site before, but for bytes that are not ours. text: what stands there; becomes what is written.
void take_out_own(const TargetMemory& memory, const PatchedSite& site, uint8_t* text) {
  for (size_t at = 0; at < site.overwritten; at++) {
    if (is_breakpoint(text[at]) && !is_breakpoint(site.patched[at])) continue;
    if (text[at] != site.original[at]) (void)memory.write_value(site.begin + static_cast<int64_t>(at), site.original[at]);
    text[at] = site.original[at];
  }
}

}  // namespace

TextState text_at(const TargetMemory& memory, const PatchedSite& site) {
  std::array<uint8_t, kMaxPatch> bytes;
  if (!memory.read(site.begin, std::span(bytes).first(site.overwritten)).ok()) return TextState::kGone;
  return state_of(site, bytes.data());
}

void write_patches(const TargetMemory& memory, std::span<const PatchedSite> sites, PatchDirection direction,
                   const FoundText& untouched) {
  // The kernel may be writing breakpoints of uprobes beside a site. Of more sites, those of a page are written at once.
  constexpr size_t kMostApart = 1024;
  const bool apply = direction == PatchDirection::kApply, is_apart = sites.size() <= kMostApart;
  std::vector<uint8_t> bytes;
  for (size_t first = 0; first < sites.size();) {
    // Sites that begin in one page are read together.
    size_t end = first + 1;
    uint64_t page = sites[first].begin.value / kPage;
    while (end < sites.size() && sites[end].begin.value / kPage == page) end++;
    Address from = sites[first].begin;
    size_t length = 0;
    for (size_t i = first; i < end; i++) {
      length = std::max(length, static_cast<size_t>(sites[i].begin - from) + sites[i].overwritten);
    }
    bytes.resize(length);
    bool readable = memory.read(from, bytes).ok();
    bool changed = false;
    std::vector<size_t> done;
    for (size_t i = first; i < end; i++) {
      const PatchedSite& site = sites[i];
      uint8_t* place = bytes.data() + (site.begin - from);
      const TextState state = readable ? state_of(site, place) : TextState::kGone;
      const bool is_whole = readable && memcmp(place, apply ? site.original : site.patched, site.overwritten) == 0;
      if (!is_whole) untouched(i, state);
      if (!is_whole && !apply && state == TextState::kMixed) take_out_own(memory, site, place);
      if (!is_whole) continue;
      memcpy(place, apply ? site.patched : site.original, site.overwritten);
      changed = true;
      done.push_back(i);
      if (is_apart && !memory.write(site.begin, {place, site.overwritten}).ok()) untouched(i, TextState::kGone);
    }
    if (changed && !is_apart && !memory.write(from, bytes).ok()) {
      for (size_t i : done) untouched(i, TextState::kGone);
    }
    first = end;
  }
}

void count_semaphores(const TargetMemory& memory, std::span<const PatchedSite> sites, const std::set<Address>& except,
                      PatchDirection direction) {
  for (const PatchedSite& site : sites) {
    if (site.semaphore == Address() || except.contains(site.begin)) continue;
    auto value = memory.read_value<uint16_t>(site.semaphore);
    if (!value.ok() || (direction == PatchDirection::kRestore && *value == 0)) continue;
    uint16_t changed = static_cast<uint16_t>(direction == PatchDirection::kApply ? *value + 1 : *value - 1);
    (void)memory.write_value(site.semaphore, changed);
  }
}

void move_program_counters(AddressSpace& space, Thread& thread, const PcMove& move) {
  const Architecture& machine = native_architecture();
  ThreadRegisters registers;
  if (!machine.read_registers(thread.tid, registers).ok()) return;
  if (auto pc = move(machine.pc(registers), machine.restarts_system_call(registers))) {
    machine.set_pc(registers, *pc);
    (void)machine.write_registers(thread.tid, registers);
  }
  std::vector<uint8_t> stack(kStackScan);
  Address sp = machine.sp(registers);
  sp.value &= ~uint64_t{7};
  stack.resize(space.memory.read_some(sp, stack));
  for (uint64_t offset : machine.find_signal_frames(stack)) {
    uint64_t interrupted;
    memcpy(&interrupted, &stack[offset], 8);
    // A write fails only if the thread is being killed.
    if (auto pc = move(Address(interrupted), false)) (void)space.memory.write_value(sp + offset, pc->value);
  }
}

std::optional<Address> pc_out_of_window(std::span<const PatchedSite> sites, Address pc, bool restarting) {
  const PatchedSite* site = site_at(sites, pc);
  if (!site || pc == site->begin) return {};
  // At the window's end the text is as it always was, unless the kernel is going to step back into the window.
  if (pc == site->begin + site->window && !restarting) return {};
  return site->relocated(pc);
}

}  // namespace spile::engine
