#pragma once
// The sites of one address space: what is patched in its text now, what was patched before, and which requests of which clients
// each site serves.
//
//   lists      requests of one client for places in one module, as they were placed; they never change
//   uses       one request that a site serves, by list and index; the uses of a site are consecutive
//   in_text    sites whose patches are in the text, by begin
//   retired    former sites, whose trampolines the text no longer leads to; threads may still be in them
//
// Addresses are run-time addresses. Spans, references and pointers that functions return are valid until the table changes.
// Belongs to the engine's thread.

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "engine/arch/architecture.h"
#include "engine/space/client_space.h"
#include "engine/terms/site_request.h"

namespace spile::engine {

inline constexpr size_t kMaxBoundaries = 10;  // PatchedSite::boundaries, at most

// A site whose text has been changed.
struct PatchedSite {
  Address begin;
  Address trampoline;
  uint32_t trampoline_size = 0;  // bytes
  uint8_t window = 0;            // bytes of the whole instructions that the patch displaces
  uint8_t overwritten = 0;       // bytes of the patch: as many of original and patched count
  uint8_t boundary_count = 0;
  bool falls_through = true;              // threads come from the trampoline back to the window's end
  bool returns = false;                   // has return probes: must not be in the text before the sites of unwinders are
  uint32_t first_use = 0, use_count = 0;  // SiteTable::uses_of
  bool is_relay = false;                  // not a place that is probed, but the relay of another site, in padding
  Address stub;                           // where a punned jump leads: a stub that jumps to the trampoline; 0: none
  uint8_t stub_size = 0;                  // bytes
  bool keeps_stub = true;   // a site that replaces this one may use the stub: its memory stays, and no other process has it
  bool takes_stub = false;  // uses the stub of the site that it replaces, and makes it lead to its own trampoline
  // The trampoline that has the displaced instructions: where several clients have one each, the last client's.
  Address body;
  uint16_t call_original = 0, call = 0, behind_call = 0;  // as Trampoline has them
  Address semaphore;                                      // of an SDT mark; 0: none
  Address relay;  // where its short jump leads: a thread there has not come to the trampoline yet; 0: none
  uint8_t original[kMaxPatch] = {};
  uint8_t patched[kMaxPatch] = {};
  Boundary boundaries[kMaxBoundaries] = {};

  bool is_breakpoint() const;
  // The place in the trampoline that continues what `pc`, within the window, has begun; empty if pc is not a boundary.
  std::optional<Address> relocated(Address pc) const;
  // The place in the restored text for a pc in the trampoline, where displaced code stands; empty elsewhere.
  std::optional<Address> restored(Address pc) const;
  // Behind its system call, where a thread that waits in it goes on; 0: it has none.
  Address waiting_place() const { return call != 0 ? body + call + 2 : Address(); }
};

// Finds the site whose window contains `address` or ends there, or returns nullptr. sites: by begin.
const PatchedSite* site_at(std::span<const PatchedSite> sites, Address address);

// Never changed after it was made; shared by the client and the spaces in which it is placed.
using RequestList = std::shared_ptr<const std::vector<SiteRequest>>;

// One request that a site serves.
struct SiteUse {
  uint32_t list;   // as add_list() has counted
  uint32_t index;  // in the list
  auto operator<=>(const SiteUse&) const = default;
};

class SiteTable {
 public:
  // --- Requests and uses ---

  // Keeps the list. Returns the uses of all its requests, in order.
  std::vector<SiteUse> add_list(ClientId client, RequestList list);
  const std::vector<SiteRequest>& list_of(SiteUse use) const { return *lists_[use.list].requests; }
  const SiteRequest& request(SiteUse use) const { return list_of(use)[use.index]; }
  ClientId client_of(SiteUse use) const { return lists_[use.list].client; }
  // Keeps the uses of sites that are going to be put into the text. Returns where they begin, for PatchedSite::first_use.
  uint32_t add_uses(std::span<const SiteUse> uses);
  std::span<const SiteUse> uses_of(const PatchedSite& site) const {
    return std::span(uses_).subspan(site.first_use, site.use_count);
  }

  // --- The text ---

  std::span<const PatchedSite> in_text() const { return in_text_; }
  // Sites in the text that begin in [from, to).
  std::span<const PatchedSite> beginning_in(Address from, Address to) const;
  // Writes the original bytes of all sites over `bytes`, which were read at `at`.
  void overlay_originals(Address at, std::span<uint8_t> bytes) const;
  // The site whose breakpoint (Mechanism::kInt3) begins at `address`, or nullptr.
  const PatchedSite* breakpoint_at(Address address) const;
  // The sites in the text without those that begin where one of `leaving` does.
  std::vector<PatchedSite> without(std::span<const PatchedSite> leaving) const;
  // Records that these sites are in the text from now on, and no others. Both by begin. Does not retire the sites that left.
  void replace(std::span<const PatchedSite> staying, std::span<const PatchedSite> coming);
  // Forgets the sites that begin there, whose patches could not be written.
  void remove(const std::set<Address>& begins);
  // Notes pairs of begins: the first site of a pair must not be in the text without the second, because its patch leads into the
  // second's or has bytes in common with it. Takes the elements out of `foundations`.
  void add_foundations(std::multimap<Address, Address>& foundations) { foundations_.merge(foundations); }
  // Returns the sites in the text that begin at one of these, all sites that need one of them (add_foundations), and all that
  // these need.
  std::vector<PatchedSite> with_foundations(std::set<Address> begins) const;
  // Records that the patches of all sites have been taken out of the text; the sites are still listed. Not inherited by forked
  // children.
  void mark_restored() { is_restored_ = true; }
  bool is_restored() const { return is_restored_; }
  // Returns whether the process was forked after its parent's patches had been taken out, while sites were still listed.
  bool may_lack_patches() const { return may_lack_patches_; }

  // --- Former sites ---

  std::span<const PatchedSite> retired() const { return retired_; }
  // Returns where threads in retired trampolines come back into the text: none of these places may lie in the middle of a patch.
  const std::set<Address>& reentries() const { return reentries_; }
  // Records that the text does not lead to the site any more. The caller takes it out of in_text() by replace().
  void retire(const PatchedSite& site);
  // Forgets retired sites with a trampoline in one of these ranges, which are about to be unmapped.
  void forget_retired_in(std::span<const AddressRange> code);

  // Forgets all sites in [low, high), where a module is not mapped any more.
  void forget_text(Address low, Address high);
  // Takes over what a forked child has of its parent's.
  void inherit(const SiteTable& parent);

 private:
  struct PlacedList {
    ClientId client;
    RequestList requests;
  };
  std::vector<PlacedList> lists_;
  std::vector<SiteUse> uses_;  // also of former sites
  std::vector<PatchedSite> in_text_;
  std::vector<PatchedSite> retired_;
  std::set<Address> reentries_;
  std::multimap<Address, Address> foundations_;
  bool is_restored_ = false;
  bool may_lack_patches_ = false;
};

}  // namespace spile::engine
