#pragma once
// A code region (belongs to the engine's thread): one memfd "spile-code", mapped readable and executable in a target within reach
// of the module it serves, and writable only in the controller. Forked children share it, at the same address.
//
//   0                 RegionHeader, then a CodeRegionList (abi/arena.h) at kRegionListOffset
//   journal_offset    JournalEntry[journal_capacity]   what is patched, and what stood there before
//   image_offset      the CodeImage: ImageCells, handlers, constants     (image_size 0: none)
//   fixups_offset     FaultFixup[fixup_count]          of the image
//   code_offset       trampolines, growing upwards
//   ...               pages of stubs for punned jumps, growing downwards; these are mapped once more wherever in the
//                     target such jumps lead to
//
// The journal is written before the text is, so that the next spile that attaches after a controller was killed can restore every
// byte and finish every pending return by reading this region from the target.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "abi/arena.h"
#include "abi/code_image.h"
#include "base/address.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/arch/architecture.h"
#include "engine/terms/options.h"

namespace spile::engine {

inline constexpr const char* kCodeName = "spile-code";
inline constexpr const char* kArenaName = "spile-arena";
inline constexpr uint64_t kRegionListOffset = 1024;

// One patch. It is read by later spiles, out of memory that the target may have changed.
struct JournalEntry {
  uint64_t address;  // run-time address of the patch's first byte
  uint8_t original[kMaxPatch];
  uint8_t patched[kMaxPatch];
  uint32_t length;             // of the patch, in bytes; 0: the entry was struck
  uint32_t trampoline_offset;  // from the region's start
  uint64_t semaphore;          // run-time address of a counter that the site has raised; 0: none
  uint64_t relay;              // run-time address where its short jump leads; 0: none
  uint64_t body;               // run-time address of its displaced instructions
  // Where threads wait in a system call: Trampoline::call_original, call, behind_call. call 0: nowhere.
  uint16_t call_original, call, behind_call, pad;
};
static_assert(sizeof(JournalEntry) == 80);

using abi::kRegionMagic;
using abi::RegionHeader;
static_assert(sizeof(RegionHeader) <= kRegionListOffset);

// Where a stub was put in the target, and for which of the ranges.
struct PlacedStub {
  PunRange range;
  Address at;
};

class Region {
 public:
  // Creates memory for `sites` trampolines of `code_room` bytes in all, with a copy of the image, whose cells fill_cells() sets.
  // The caller chooses the address by place(), and maps fd() into the target, where it stays mapped after this object is
  // destroyed.
  static Result<std::shared_ptr<Region>> create(uint64_t sites, uint64_t code_room, const abi::CodeImage& image);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  // Returns the size that such a region has, in bytes.
  static uint64_t size_for(uint64_t sites, uint64_t code_room, const abi::CodeImage& image);

  // Sets where the region will be mapped in the target. REQUIRES: nothing has been emitted into it yet.
  void place(Address address) { address_ = address; }
  Address address() const { return address_; }
  Address end() const { return address_ + static_cast<int64_t>(size_); }
  uint64_t size() const { return size_; }
  int fd() const { return fd_.get(); }
  Address image() const { return address_ + static_cast<int64_t>(header().image_offset); }
  bool contains(Address address) const { return address >= address_ && address < end(); }

  // The header and the journal as the controller has written them. The shared memory, which a target may have changed, is not
  // read.
  const RegionHeader& header() const { return header_; }
  std::span<const JournalEntry> journal() const { return journal_; }

  // Returns whether the journal has room for `sites` entries, and the code for `code_room` bytes.
  bool has_room(uint64_t sites, uint64_t code_room) const;
  // Where the next trampoline is going to be.
  Address next() const { return address_ + static_cast<int64_t>(next_); }
  // Appends code at next(). Returns where it lies in the target. REQUIRES: has_room.
  Address append_code(std::span<const uint8_t> code);
  // Code that was appended for the return of a handler to a place in the program's flags (Architecture::emit_flagged_return), by
  // that place and the flags.
  std::map<std::pair<Address, uint64_t>, Address>& flagged_returns() { return flagged_returns_; }
  // Write and read a word by one access, while threads of targets may be running there. REQUIRES: `at` is a run-time address in
  // the region, and a multiple of 8.
  void put_word(Address at, uint64_t word);
  uint64_t word_at(Address at) const;
  // REQUIRES: has_room(1, 0); the text has not been patched yet.
  void append_journal(const JournalEntry& entry);
  // Strikes the entries of sites that no longer lead to their trampolines; the entries' room is not used again. trampolines: of
  // these sites, by their begins.
  // REQUIRES: the region is in no other address space: a forked child has its parent's regions, and what the child takes out is
  // still in its parent. An entry that stays does no harm, as patches are taken out where they are found.
  void strike_from_journal(const std::map<Address, Address>& trampolines);

  // Memory for stubs. One page may be mapped at several addresses of the target, where different bytes of it are used.
  struct StubPage {
    uint64_t offset;              // in the region
    std::vector<Address> mapped;  // where, in the target; the caller of add_stub_page() keeps it
    std::vector<bool> used;       // of each byte of the page
    // at: in the page, in bytes.
    bool is_free(uint64_t at, uint64_t length) const;
  };
  std::vector<StubPage>& stub_pages() { return stub_pages_; }
  // Adds a page, which is not mapped yet. Returns it, or nullptr if the region is full. The pointer is valid until the next page
  // is added.
  StubPage* add_stub_page();
  // Writes a stub at a place in the page. REQUIRES: the bytes are free.
  void put_stub(StubPage& page, uint64_t at, std::span<const uint8_t> code);
  // Writes other code over the stub at a run-time address. Returns whether it lies in a page of this region. REQUIRES: the code
  // is no longer than the stub; no thread is in the middle of it.
  bool rewrite_stub(Address at, std::span<const uint8_t> code);

  // Where a site's fragment is switched: the word at a run-time address in this region that has one of two values. One site may
  // have several.
  struct Switch {
    Address word;
    uint64_t on, off;
  };
  void add_switch(uint32_t client, uint32_t site_id, const Switch& gate) {
    switches_[switch_key(client, site_id)].push_back(gate);
  }
  // Switches the fragments of a client's site on or off, by a store each. Does nothing for a site that the region does not have.
  void switch_site(uint32_t client, uint32_t site_id, bool on);

  // Writes the layout of the client's arena into the header.
  void record_geometry(const ArenaGeometry& geometry);
  // Fills the image's cells once the target's addresses are known. bias, goroutine: of the Module that the region serves.
  // REQUIRES: place().
  void fill_cells(Address arena, Address process_table, uint64_t bias, int32_t goroutine);
  uint64_t bias() const { return bias_; }
  // Lists a region at [begin, end) for handlers. foreign: it is another client's. Does nothing if the list is full
  // (abi::kMaxCodeRegions).
  void list_region(Address begin, Address end, bool foreign);
  // Returns where that list lies in the target.
  Address list() const { return address_ + static_cast<int64_t>(kRegionListOffset); }
  // Takes the region that begins there off the list. REQUIRES: all threads of the target are still.
  void unlist_region(Address begin);

 private:
  Region() = default;

  abi::CodeRegionList* shared_list() const { return reinterpret_cast<abi::CodeRegionList*>(view_ + kRegionListOffset); }
  JournalEntry* shared_journal() const { return reinterpret_cast<JournalEntry*>(view_ + header_.journal_offset); }
  void publish_header();
  void publish_range(uint64_t index);

  UniqueFd fd_;
  uint8_t* view_ = nullptr;  // written, and never read for a count, an offset or an address
  RegionHeader header_{};
  abi::CodeRegionList list_{};
  std::vector<JournalEntry> journal_;
  uint64_t size_ = 0;
  uint64_t next_ = 0;
  uint64_t limit_ = 0;  // where the stubs begin
  uint64_t bias_ = 0;
  Address address_;
  static uint64_t switch_key(uint32_t client, uint32_t site_id) { return uint64_t{client} << 32 | site_id; }
  std::unordered_map<uint64_t, std::vector<Switch>> switches_;
  std::vector<StubPage> stub_pages_;
  std::map<std::pair<Address, uint64_t>, Address> flagged_returns_;
};

// Creates a memfd of `size` bytes that can be mapped executable, unless vm.memfd_noexec is 2, or (executable: false) one that
// can't on Linux 6.3 and later. No process can
// shrink it, so that no access to a mapping of it fails (SIGBUS), and only its own user can open it again through /proc.
Result<UniqueFd> create_memory(const char* name, uint64_t size, bool executable);

}  // namespace spile::engine
