#pragma once
// The places in traced processes that a script arms, and their ids.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/address.h"
#include "sema/terms/target_info.h"

namespace spile::sema {

// A place of the script's probes.
struct ArmedSite {
  Site site;
  int group;  // index into Program::site_groups
  // For each of the group's entry_probes, then each of its return_probes: the index into Probe::points of the point that is here.
  std::vector<int> points;
};

// A function at whose entry spile saves the values of some registers, for location::EntryValue.
struct KeptFunction {
  std::string module;  // as Site::module
  FileAddress address;
};

// Numbers everything that is armed for a script. Compiled handlers contain these ids, the engine passes them to handlers, and its
// reports name sites by them. The ids are
//
//   0 .. size() - 1       the sites of the script's probes, in the order in which group-sites adds them
//   unwind_id()           the entries of all unwinders together
//   system_call_id()      all system call instructions together
//   kept_id(0) ..         the entries of kept functions, in the order in which note-entry-values adds them
//
// Since each range begins where the one before it ends, ids have a meaning only when pass 2 has ended: nothing is added after
// that. Ids that come from elsewhere (reports of the engine, records) are looked up by script_site() and kept_function(), which
// check them.
class SiteTable {
 public:
  // The sites of the script's probes: a sequence whose indexes are ids.
  size_t size() const { return sites_.size(); }
  bool empty() const { return sites_.empty(); }
  auto begin() const { return sites_.begin(); }
  auto end() const { return sites_.end(); }
  // REQUIRES: id < size().
  const ArmedSite& operator[](size_t id) const { return sites_[id]; }
  void reserve(size_t count) { sites_.reserve(count); }
  void add(ArmedSite site) { sites_.push_back(std::move(site)); }

  const std::vector<KeptFunction>& kept_functions() const { return kept_functions_; }
  // The registers whose values are saved at the entries of all kept functions, in DWARF's numbering, ascending.
  const std::vector<uint8_t>& kept_registers() const { return kept_registers_; }
  // Replaces the kept functions and the registers. REQUIRES: registers ascending.
  void keep(std::vector<KeptFunction> functions, std::vector<uint8_t> registers) {
    kept_functions_ = std::move(functions);
    kept_registers_ = std::move(registers);
  }

  uint32_t unwind_id() const { return static_cast<uint32_t>(sites_.size()); }
  uint32_t system_call_id() const { return unwind_id() + 1; }
  // function: index into kept_functions().
  uint32_t kept_id(size_t function) const { return system_call_id() + 1 + static_cast<uint32_t>(function); }

  // Returns the script's site of this id, or null: the id is another's.
  const ArmedSite* script_site(uint32_t id) const { return id < sites_.size() ? &sites_[id] : nullptr; }
  // Returns the kept function at whose entry this id is armed, or null: the id is another's.
  const KeptFunction* kept_function(uint32_t id) const {
    return id >= kept_id(0) && id - kept_id(0) < kept_functions_.size() ? &kept_functions_[id - kept_id(0)] : nullptr;
  }

 private:
  std::vector<ArmedSite> sites_;
  std::vector<KeptFunction> kept_functions_;
  std::vector<uint8_t> kept_registers_;
};

}  // namespace spile::sema
