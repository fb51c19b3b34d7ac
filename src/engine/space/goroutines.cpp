#include "engine/space/goroutines.h"

#include <algorithm>

#include "engine/arch/architecture.h"

namespace spile::engine {
namespace {

constexpr uint64_t kMostGoroutines = uint64_t{1} << 20;
constexpr uint64_t kPreemptionFrames = 1024;  // runtime.asyncPreempt keeps all registers: 400 bytes; what it calls takes 100

constexpr uint64_t kSearched = uint64_t{1} << 20;  // bytes of text, at a time

struct Slice {
  uint64_t array, length;
};
// The beginning of runtime.g, as in arch/x86_64/goroutine_stack.h.
struct Goroutine {
  uint64_t stack_low, stack_high;
  uint64_t others[5];
  uint64_t stack_pointer;
};

void look_through(const AddressSpace& space, const Goroutine& goroutine, std::span<const PatchedSite> sites,
                  std::set<Address>& found) {
  if (goroutine.stack_pointer < goroutine.stack_low || goroutine.stack_pointer >= goroutine.stack_high) return;
  std::vector<uint64_t> words(std::min(goroutine.stack_high - goroutine.stack_pointer, kPreemptionFrames) / sizeof(uint64_t));
  std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(words.data()), words.size() * sizeof(uint64_t));
  words.resize(space.memory.read_some(Address(goroutine.stack_pointer), bytes) / sizeof(uint64_t));
  for (uint64_t word : words) {
    auto behind = std::upper_bound(sites.begin(), sites.end(), Address(word),
                                   [](Address value, const PatchedSite& site) { return value < site.begin; });
    if (behind == sites.begin()) continue;
    const PatchedSite& site = *std::prev(behind);
    if (Address(word) > site.begin && Address(word) < site.begin + site.overwritten) found.insert(site.begin);
  }
}

}  // namespace

std::set<Address> find_interrupted(const AddressSpace& space, std::span<const PatchedSite> sites) {
  std::set<Address> found;
  for (const auto& [path, loaded] : space.modules) {
    if (loaded.module.goroutines == Address()) continue;
    auto list = space.memory.read_value<Slice>(loaded.module.goroutines);
    if (!list.ok()) continue;
    std::vector<uint64_t> all(std::min(list->length, kMostGoroutines));
    std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(all.data()), all.size() * sizeof(uint64_t));
    all.resize(space.memory.read_some(Address(list->array), bytes) / sizeof(uint64_t));
    for (uint64_t at : all) {
      auto goroutine = space.memory.read_value<Goroutine>(Address(at));
      if (goroutine.ok()) look_through(space, *goroutine, sites, found);
    }
  }
  return found;
}

int32_t find_goroutine_offset(const AddressSpace& space, const Module& module) {
  if (!module.go) return 0;
  std::vector<uint8_t> text(kSearched);
  constexpr int64_t kOverlap = 16;
  for (const Module::Range& range : module.text) {
    for (Address at = range.begin; at < range.end; at = at + static_cast<int64_t>(kSearched - kOverlap)) {
      size_t have =
          space.memory.read_some(at, {text.data(), std::min<uint64_t>(kSearched, static_cast<uint64_t>(range.end - at))});
      if (int32_t offset = native_architecture().find_goroutine_offset({text.data(), have})) return offset;
    }
  }
  return 0;
}

}  // namespace spile::engine
