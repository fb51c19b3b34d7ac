#pragma once
// What the engine has put into one address space. Processes that vforked share one; a fork starts as a copy.

#include <sys/types.h>

#include <compare>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/arch/architecture.h"
#include "engine/process/known_actions.h"
#include "engine/process/target_memory.h"
#include "engine/space/region.h"
#include "engine/terms/module.h"
#include "engine/terms/options.h"
#include "engine/terms/site_request.h"

namespace spile::engine {

struct Process;

inline constexpr const char* kNotArmed = "it is not armed yet";
inline constexpr const char* kNobodysCalls = "no probe on system calls is for this program";
inline constexpr size_t kMaxBoundaries = 10;

// Whose handlers: this controller's own, or those of another one that it arms for (client.h).
using ClientId = uint32_t;
inline constexpr ClientId kOwnClient = 0;

// A site whose text has been changed.
struct PatchedSite {
  Address begin;
  Address trampoline;
  uint32_t trampoline_size = 0;
  uint8_t window = 0;
  uint8_t overwritten = 0;
  uint8_t boundary_count = 0;
  bool falls_through = true;
  bool returns = false;  // has return probes: not before what unwinders need
  uint32_t first_use = 0, use_count = 0;  // in AddressSpace::uses
  bool is_landing = false;  // in padding, of a short jump
  // Of a punned jump: where it leads, which is a jump to the trampoline, in a stub of so many bytes. 0: none.
  Address stub;
  uint8_t stub_size = 0;
  bool keeps_stub = true;   // when it leaves: its memory stays, and is no other process's
  bool takes_stub = false;  // that of the site which it replaces, and makes it lead here
  // Where displaced instructions are. Not the trampoline where several clients have one each: then the last client's.
  Address body;
  uint16_t call_original = 0, call = 0, behind_call = 0;  // as Trampoline has them
  Address semaphore;  // of an SDT mark; 0: none
  Address landing;    // where its short jump leads: nothing is done yet when a thread is there; 0: none
  uint8_t original[kMaxPatch] = {};
  uint8_t patched[kMaxPatch] = {};
  Boundary boundaries[kMaxBoundaries] = {};

  bool is_breakpoint() const;
  // The place in the trampoline that continues what `pc`, within the window, has begun; nothing if pc is no boundary.
  std::optional<Address> relocated(Address pc) const;
  // The other way round: the place in the restored text for a pc in the trampoline, where displaced code stands.
  std::optional<Address> restored(Address pc) const;
  // Behind its system call, where a thread that waits in it goes on; 0: it has none.
  Address waiting_place() const { return call != 0 ? body + call + 2 : Address(); }
};

// The site whose window contains `address` or ends there, or nullptr. sites: by begin.
const PatchedSite* site_at(std::span<const PatchedSite> sites, Address address);

// Requests of one client for places in one module, which never change.
using RequestList = std::shared_ptr<const std::vector<SiteRequest>>;
struct PlacedRequests {
  ClientId client;
  RequestList list;
};

// One request that a site serves.
struct SiteUse {
  uint32_t list;  // in AddressSpace::placed
  uint32_t index;
  auto operator<=>(const SiteUse&) const = default;
};

struct AddressRange {
  Address begin, end;
  bool contains(Address address) const { return address >= begin && address < end; }
  uint64_t size() const { return end.value - begin.value; }
};

// A module as it is mapped now, and how many of each client's lists of requests for its path have been dealt with.
struct LoadedModule {
  Module module;
  std::map<ClientId, size_t> lists_done;
};

// The first page of an arena, which other processes write too.
class ArenaHeaderView {
 public:
  static Result<std::shared_ptr<ArenaHeaderView>> open(int arena_fd);
  explicit ArenaHeaderView(abi::ArenaHeader* header) : header_(header) {}
  ~ArenaHeaderView();
  ArenaHeaderView(const ArenaHeaderView&) = delete;
  ArenaHeaderView& operator=(const ArenaHeaderView&) = delete;

  uint64_t taken_slots() const;
  void give_back(uint64_t slot);

 private:
  abi::ArenaHeader* header_;
};

// What one client's handlers use.
struct ClientSpace {
  AddressRange arena;  // as much of it as is mapped; empty until then
  std::shared_ptr<ArenaHeaderView> header;  // the arena's; null: of a killed controller
  AddressRange process_table;
  std::vector<std::shared_ptr<Region>> regions;
  std::vector<AddressRange> code;  // the regions, and their pages of stubs elsewhere; also those of a killed controller
  ArenaGeometry geometry;
  uint64_t module_map = 0;  // what the process table says
};

// What process tables say of the thread with a thread pointer.
struct KnownThread {
  uint32_t index;
  uint64_t tid;
};

// An int3 where a process is about to be traced by something else (rival_tracers.h).
struct TracingTrap {
  enum Call : uint8_t { kPtrace, kLeakCheck };
  Address function;
  Call call;
  Address trap;
  Address site;  // where the patch is that leads to it
};

struct AddressSpace {
  TargetMemory memory;
  std::vector<Process*> users;
  pid_t identified = 0;  // the process that its tables say it is; 0: there is none
  std::unordered_map<uint64_t, KnownThread> known_threads;  // by thread pointer
  std::unordered_set<uint32_t> known_thread_indices;

  SystemCallText system_call;  // all 0 until looked for
  std::map<ClientId, ClientSpace> clients;

  std::vector<PatchedSite> sites;  // by begin
  std::vector<PlacedRequests> placed;
  std::vector<SiteUse> uses;  // of sites, also of former ones
  // Trampolines that the text leads to no longer, as their places got others; threads may still be in them. And where these
  // go on in the text: no patch may lie over that.
  std::vector<PatchedSite> retired;
  std::set<Address> reentries;
  // By the begins of sites: the first leads into the second, or has a byte of it.
  std::multimap<Address, Address> foundations;
  std::map<std::string, LoadedModule> modules;  // by device, inode and address
  Address linker_trap;  // the int3 that announces changes of the list of libraries; 0: none
  bool linker_sought = false;
  Address linker_site;  // where the patch is that leads to it
  std::vector<TracingTrap> tracing_traps;
  Address trap_table;  // of breakpoints, in one of the regions; 0: none
  uint64_t trap_count = 0;
  SignalAction fault_action{};  // fault_guard.h; its handler is 0 where there is none
  int changing = 0;         // positive while it is being armed
  bool is_restored = false;  // remove_all has restored the text of all sites, which are still listed
  bool refused = false;     // arming it has failed
  std::string no_returns;   // why no return can be probed in it (EngineOptions::owns_stacks); empty: they can
  std::string calls_gap = kNotArmed;  // why ptrace has to report its system calls (kNobodysCalls: nobody has); empty: handlers do
  bool calls_differ = false;  // its users are for different probes on system calls
  std::string call_restriction;  // why no system call may have a site (call_restriction.h); empty: they may, as far as is known
  bool restriction_sought = false;
  std::string call_refusal;  // why a system call instruction has no site; empty: all that are known have

  // What a forked child is copied with.
  void inherit(const AddressSpace& parent);
  // All sites have been taken out: what is known of modules and requests goes with them.
  void forget_sites();
  // By Mechanism::kInt3: what begins at `address`, or nullptr.
  const PatchedSite* breakpoint_at(Address address) const;
  bool in_code(Address address) const;
  // A site without requests: the dynamic linker's, or a TracingTrap's.
  bool is_trap_site(Address begin) const;
  std::span<const SiteUse> uses_of(const PatchedSite& site) const {
    return std::span(uses).subspan(site.first_use, site.use_count);
  }
  const SiteRequest& request(SiteUse use) const { return (*placed[use.list].list)[use.index]; }
  ClientId client_of(SiteUse use) const { return placed[use.list].client; }
  bool has_code() const;
  // At least 256 bytes, behind a process table, that nobody else uses; 0 before the first is mapped.
  Address scratch() const;
  bool empty() const;
  // Whether what was mapped last is there: not so in a child that was forked before.
  bool is_mapped() const;
};

}  // namespace spile::engine
