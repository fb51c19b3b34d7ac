#pragma once
// Brings requests of all clients into address spaces: asks for those of modules that nobody has seen before, lays out and
// builds sites, writes them.

#include <functional>
#include <map>
#include <memory>

#include "engine/calls/call_watch.h"
#include "engine/change/site_change.h"
#include "engine/patch/place_check.h"
#include "engine/patch/site_builder.h"
#include "engine/rival_tracers.h"
#include "engine/share/client.h"
#include "engine/space/space_setup.h"
#include "engine/trace/tracer.h"

namespace spile::engine {

using Reports = std::map<ClientId, ArmReport>;

class Arming {
 public:
  // Reports an event to a client; null: to all that follow its process.
  using Report = std::function<void(const Client* client, Event event)>;
  // calls: outlives this.
  Arming(Tracer& tracer, CallWatch& calls, uint64_t stop_patience_ms, Report report)
      : tracer_(tracer), calls_(calls), patience_ms_(stop_patience_ms), report_(std::move(report)) {}

  // While this is set, no process is armed: spile is leaving all of them.
  void set_leaving(bool leaving) { leaving_ = leaving; }

  // Our own has kOwnClient.
  Client& add_client();
  Client* find_client(ClientId id);
  void forget_client(ClientId id) { clients_.erase(id); }
  void forget_guests() {
    std::erase_if(clients_, [](const auto& client) { return client.first != kOwnClient; });
  }
  const std::map<ClientId, std::unique_ptr<Client>>& clients() const { return clients_; }
  bool follows(const Client& client, const AddressSpace& space) const;

  // Refuses handlers that could do harm. Requests are kept for what is loaded later.
  Result<void> add_requests(Client& client, std::span<const SiteRequest> sites);
  // Somebody has something to arm, or may have.
  bool can_arm(const AddressSpace& space);
  // The program can call ptrace(2), or has a leak checker that does.
  bool watches_tracing(const AddressSpace& space);

  // Some handler has loads that may raise signals.
  bool may_fault() const;

  // There is something to arm there that has not been.
  bool lacks_sites(const AddressSpace& space) const;
  // Arms what is not yet armed there. reports: added to.
  Result<void> arm_space(AddressSpace& space, Reports& reports);
  // Takes the sites of system calls out of a space that has got a restriction. sparing: a thread that stands before one.
  Result<void> leave_calls(AddressSpace& space, pid_t sparing);
  // Takes one client's sites out of a space where others stay, and unmaps what it has there.
  Result<void> drop_client(AddressSpace& space, Client& client);

  void switch_sites(Client& client, std::span<const uint32_t> site_ids, bool on);
  // Into the process tables, after these were wiped or the maps have changed.
  void write_module_maps(AddressSpace& space);
  // After a thread has rung for slots of the client's arena.
  void add_slots(AddressSpace& space, pid_t pid, ClientId client);
  // Frees the slots that threads of a process had in all clients' arenas. Called when it has executed another program.
  void vacate_slots(const AddressSpace& space, pid_t pid) const;
  // The process has ended, is at its end, or executes another program.
  bool has_left(const AddressSpace& space, pid_t pid) const;
  // The same, for after a failure: waits until an execve that may be the reason is over.
  bool is_leaving(const AddressSpace& space, pid_t pid);
  void note_trouble(pid_t pid, const Error& error, const Client* client = nullptr);
  // Of what was done in a space for a process: an error is trouble, unless the process has left it.
  void note_failure(const AddressSpace& space, pid_t pid, const Result<void>& done, const Client* client = nullptr);

 private:
  struct Reported {
    ClientId client;
    SiteOutcome outcome;
  };
  // What is to be built in one module.
  struct Rebuild {
    AddressSpace& space;
    pid_t pid;
    const Module& module;
    std::span<const SiteUse> uses;         // all that what is built has to serve
    size_t fresh_from = 0;                 // uses from here on are new, and reported
    std::span<const PatchedSite> leaving = {};  // sites that are taken out when what is built is written
    ClientId without = ~kOwnClient;        // this client's regions are about to go
  };
  struct PendingChange;

  std::vector<Client*> clients_in(const AddressSpace& space) const;
  Result<void> ensure_own_arena();
  Result<void> check_handlers(Client& client, std::span<const SiteRequest> sites);
  void keep_requests(Client& client, std::span<const SiteRequest> sites);
  SetupContext context(const Client& client);
  void refresh_modules(AddressSpace& space, pid_t pid, std::vector<Module> present);
  Result<void> seek_stack_owner(AddressSpace& space, pid_t pid);
  void describe_modules(AddressSpace& space, pid_t pid);
  void watch_linker(AddressSpace& space, pid_t pid, std::vector<PatchedSite>& sites);
  Result<void> build_and_apply(AddressSpace& space, Reports& reports);
  RequestList leave_out_other_files(AddressSpace& space, pid_t pid, const Client& client, const Module& module, RequestList list, PendingChange& pending);
  std::vector<SiteUse> place_requests(AddressSpace& space, pid_t pid, const Client& client, Module& module, RequestList list, PendingChange& pending);
  Result<void> build_beside_others(AddressSpace& space, pid_t pid, const Module& module, std::span<const SiteUse> fresh, PendingChange& pending);
  Result<void> arm_module(AddressSpace& space, pid_t pid, LoadedModule& loaded, PendingChange& pending);
  // Fails, and builds nothing, where a use that is not new would be refused.
  Result<void> build(const Rebuild& rebuild, PendingChange& pending);
  void switch_off_sites(AddressSpace& space);
  Result<void> learn_actions(AddressSpace& space);
  Result<void> guard(AddressSpace& space, const Module& module, BuiltSites& built);
  Result<void> rebuild_without(AddressSpace& space, Client& client, bool last);
  Result<void> rebuild_without(AddressSpace& space, const std::function<bool(SiteUse)>& goes, const ClientSpace* region_of,
                               ClientId without);
  Result<void> apply(AddressSpace& space, PendingChange& pending);
  std::pair<Result<void>, std::set<Address>> apply_portion(AddressSpace& space, SiteChange change, PendingChange& pending);

  bool leaving_ = false;
  Tracer& tracer_;
  CallWatch& calls_;
  uint64_t patience_ms_;
  Report report_;
  std::map<ClientId, std::unique_ptr<Client>> clients_;
  ClientId next_client_ = kOwnClient;
  PlaceCheck places_;
  RivalTracers rivals_;
  abi::CodeImage no_image_;
};

}  // namespace spile::engine
