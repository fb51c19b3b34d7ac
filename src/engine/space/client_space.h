#pragma once
// What the handlers of one client use in an address space: its arena, process table and code regions, as they are mapped there
// (run-time addresses of the target).
// Belongs to the engine's thread. space_setup.h maps and unmaps it.

#include <memory>
#include <vector>

#include "abi/arena.h"
#include "base/address.h"
#include "base/result.h"
#include "engine/terms/options.h"

namespace spile::engine {

class Region;

// Whose handlers: this controller's own, or those of another one that it arms for (share/client.h).
using ClientId = uint32_t;
inline constexpr ClientId kOwnClient = 0;

struct AddressRange {
  Address begin, end;  // end: behind the last byte
  bool contains(Address address) const { return address >= begin && address < end; }
  uint64_t size() const { return end.value - begin.value; }
};

// The first page of an arena, mapped into this process. Other processes write it at the same time: nothing in it is believed.
class ArenaHeaderView {
 public:
  // Maps the page. arena_fd is not needed afterwards.
  static Result<std::shared_ptr<ArenaHeaderView>> open(int arena_fd);
  // header: a mapped page, which the destructor unmaps.
  explicit ArenaHeaderView(abi::ArenaHeader* header) : header_(header) {}
  ~ArenaHeaderView();
  ArenaHeaderView(const ArenaHeaderView&) = delete;
  ArenaHeaderView& operator=(const ArenaHeaderView&) = delete;

  // Counts the slots that are marked as taken, by all processes.
  uint64_t taken_slots() const;
  // Marks a slot as free. slot: its index in the arena. Does nothing for a number that no slot has.
  void give_back(uint64_t slot);

 private:
  abi::ArenaHeader* header_;
};

struct ClientSpace {
  AddressRange arena;                       // as much of it as is mapped; empty until then
  std::shared_ptr<ArenaHeaderView> header;  // the arena's; null: of a killed controller
  AddressRange process_table;
  std::vector<std::shared_ptr<Region>> regions;
  std::vector<AddressRange> code;  // the regions, and their pages of stubs elsewhere; also those of a killed controller
  ArenaGeometry geometry;          // of the arena; all 0 until it is mapped
  uint64_t module_map = 0;         // abi::ProcessTable::module_map; 0: none
};

}  // namespace spile::engine
