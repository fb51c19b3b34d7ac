#include "engine/space/site_table.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace spile::engine {
namespace {

bool begins_before(const PatchedSite& site, Address address) { return site.begin < address; }
bool in_order(const PatchedSite& a, const PatchedSite& b) { return a.begin < b.begin; }

}  // namespace

bool PatchedSite::is_breakpoint() const { return overwritten != 0 && native_architecture().is_breakpoint(patched); }

std::optional<Address> PatchedSite::relocated(Address pc) const {
  for (size_t i = 0; i < boundary_count; i++) {
    if (begin + boundaries[i].original == pc) return body + boundaries[i].relocated;
  }
  return {};
}

std::optional<Address> PatchedSite::restored(Address pc) const {
  if (pc == trampoline) return begin;
  for (size_t i = 0; i < boundary_count; i++) {
    if (body + boundaries[i].relocated == pc) return begin + boundaries[i].original;
  }
  return {};
}

const PatchedSite* site_at(std::span<const PatchedSite> sites, Address address) {
  auto after = std::upper_bound(sites.begin(), sites.end(), address,
                                [](Address value, const PatchedSite& site) { return value < site.begin; });
  if (after == sites.begin()) return nullptr;
  const PatchedSite& site = *std::prev(after);
  return address <= site.begin + site.window ? &site : nullptr;
}

std::vector<SiteUse> SiteTable::add_list(ClientId client, RequestList list) {
  auto number = static_cast<uint32_t>(lists_.size());
  std::vector<SiteUse> uses;
  for (uint32_t i = 0; i < list->size(); i++) uses.push_back({number, i});
  lists_.push_back({client, std::move(list)});
  return uses;
}

uint32_t SiteTable::add_uses(std::span<const SiteUse> uses) {
  auto first = static_cast<uint32_t>(uses_.size());
  uses_.insert(uses_.end(), uses.begin(), uses.end());
  return first;
}

std::span<const PatchedSite> SiteTable::beginning_in(Address from, Address to) const {
  auto first = std::lower_bound(in_text_.begin(), in_text_.end(), from, begins_before);
  auto last = std::lower_bound(first, in_text_.end(), to, begins_before);
  return {first, last};
}

void SiteTable::overlay_originals(Address at, std::span<uint8_t> bytes) const {
  Address end = at + static_cast<int64_t>(bytes.size());
  for (const PatchedSite& site : beginning_in(at - kMaxPatch, end)) {
    for (int64_t i = 0; i < site.overwritten; i++) {
      Address place = site.begin + i;
      if (place >= at && place < end) bytes[static_cast<size_t>(place - at)] = site.original[i];
    }
  }
}

const PatchedSite* SiteTable::breakpoint_at(Address address) const {
  auto found = std::lower_bound(in_text_.begin(), in_text_.end(), address, begins_before);
  if (found == in_text_.end() || found->begin != address || !found->is_breakpoint()) return nullptr;
  return &*found;
}

std::vector<PatchedSite> SiteTable::without(std::span<const PatchedSite> leaving) const {
  std::vector<PatchedSite> rest = in_text_;
  if (leaving.empty()) return rest;
  std::set<Address> gone;
  for (const PatchedSite& site : leaving) gone.insert(site.begin);
  std::erase_if(rest, [&](const PatchedSite& site) { return gone.contains(site.begin); });
  return rest;
}

void SiteTable::replace(std::span<const PatchedSite> staying, std::span<const PatchedSite> coming) {
  std::vector<PatchedSite> merged;
  merged.reserve(staying.size() + coming.size());
  std::merge(staying.begin(), staying.end(), coming.begin(), coming.end(), std::back_inserter(merged), in_order);
  in_text_ = std::move(merged);
}

void SiteTable::remove(const std::set<Address>& begins) {
  if (!begins.empty()) std::erase_if(in_text_, [&](const PatchedSite& site) { return begins.contains(site.begin); });
}

std::vector<PatchedSite> SiteTable::with_foundations(std::set<Address> begins) const {
  // What rests on them, and what they rest on, was built together.
  for (size_t before = 0; before != begins.size();) {
    before = begins.size();
    for (auto& [site, foundation] : foundations_) {
      if (begins.contains(site)) begins.insert(foundation);
      if (begins.contains(foundation)) begins.insert(site);
    }
  }
  std::vector<PatchedSite> found;
  for (const PatchedSite& site : in_text_) {
    if (begins.contains(site.begin)) found.push_back(site);
  }
  return found;
}

void SiteTable::retire(const PatchedSite& site) {
  foundations_.erase(site.begin);
  if (site.is_relay) return;
  retired_.push_back(site);
  if (site.falls_through) reentries_.insert(site.begin + site.window);
}

void SiteTable::forget_retired_in(std::span<const AddressRange> code) {
  std::erase_if(retired_, [&](const PatchedSite& site) {
    return std::ranges::any_of(
        code, [&](const AddressRange& range) { return range.contains(site.trampoline) || range.contains(site.body); });
  });
}

void SiteTable::forget_text(Address low, Address high) {
  auto was_there = [&](Address at) { return at >= low && at < high; };
  std::erase_if(in_text_, [&](const PatchedSite& site) { return was_there(site.begin); });
  std::erase_if(retired_, [&](const PatchedSite& site) { return was_there(site.begin); });
  std::erase_if(reentries_, was_there);
}

void SiteTable::inherit(const SiteTable& parent) {
  *this = parent;
  may_lack_patches_ = parent.is_restored_;
  is_restored_ = false;
}

}  // namespace spile::engine
