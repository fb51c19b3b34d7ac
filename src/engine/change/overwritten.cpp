#include "engine/change/overwritten.h"

#include <string.h>

#include <algorithm>
#include <array>

#include "engine/change/text_patcher.h"

namespace spile::engine {
namespace {

bool is_changed(TextState state) { return state == TextState::kMixed || state == TextState::kOriginal; }

// Whether the sites that are listed stand in the text, as far as nobody else has changed it.
bool stand_in_text(const AddressSpace& space) {
  return space.memory.is_open() && !space.sites.is_restored() && !space.sites.may_lack_patches();
}

// Where the jump leads that stands at the site now; 0: none stands there.
Address jump_target(const AddressSpace& space, const PatchedSite& site) {
  std::array<uint8_t, kMaxPatch> text;
  if (!space.memory.read(site.begin, std::span(text).first(site.overwritten)).ok()) return Address();
  return native_architecture().first_branch_out(std::span(text).first(site.overwritten), site.begin).value_or(Address());
}

}  // namespace

std::vector<PatchedSite> find_overwritten(const AddressSpace& space) {
  std::vector<PatchedSite> found;
  if (!stand_in_text(space)) return found;
  constexpr uint64_t kAtOnce = 64 << 10;
  std::vector<uint8_t> bytes;
  const std::span<const PatchedSite> sites = space.sites.in_text();
  for (size_t first = 0; first < sites.size();) {
    // Sites that lie close together are read at once.
    const Address from = sites[first].begin;
    size_t end = first;
    while (end < sites.size() && static_cast<uint64_t>(sites[end].begin - from) < kAtOnce) end++;
    bytes.resize(static_cast<size_t>(sites[end - 1].begin - from) + kMaxPatch);
    const size_t size = space.memory.read_some(from, bytes);
    for (size_t i = first; i < end; i++) {
      const PatchedSite& site = sites[i];
      const auto at = static_cast<size_t>(site.begin - from);
      const bool is_whole = at + site.overwritten <= size && memcmp(&bytes[at], site.patched, site.overwritten) == 0;
      if (is_whole || site.is_relay || space.traps.is_trap_site(site.begin)) continue;
      if (is_changed(text_at(space.memory, site))) found.push_back(site);
    }
    first = end;
  }
  return found;
}

std::optional<Address> caught_at(const AddressSpace& space, Address pc, bool is_elsewhere) {
  if (!stand_in_text(space)) return {};
  const PatchedSite* site = site_at(space.sites.in_text(), pc);
  if (site && pc < site->begin + site->overwritten && !site->is_relay && !site->is_breakpoint()) {
    if (is_changed(text_at(space.memory, *site))) return pc;
  }
  if (!is_elsewhere && !space.in_code(pc)) return {};
  for (const PatchedSite& each : space.sites.in_text()) {
    if (text_at(space.memory, each) == TextState::kMixed && jump_target(space, each) == pc) return each.trampoline;
  }
  return {};
}

}  // namespace spile::engine
