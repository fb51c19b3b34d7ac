#pragma once
// Brings requests of all clients into address spaces: keeps them, asks for those of modules that nobody has seen before, and
// prepares address spaces for the sites that site_arming.h builds and writes. Belongs to the engine's thread.

#include <functional>

#include "engine/calls/call_watch.h"
#include "engine/patch/place_check.h"
#include "engine/rival_tracers.h"
#include "engine/share/client.h"
#include "engine/site_arming.h"
#include "engine/trace/tracer.h"
#include "engine/value_changes.h"

namespace spile::engine {

class Arming {
 public:
  // Reports an event to a client; null: to all that follow its process.
  using Report = std::function<void(const Client* client, Event event)>;
  // tracer, calls: outlive this.
  Arming(Tracer& tracer, CallWatch& calls, uint64_t stop_patience_ms, Report report)
      : tracer_(tracer), calls_(calls), patience_ms_(stop_patience_ms), report_(std::move(report)) {}

  // While this is set, no process is armed: spile is leaving all of them.
  void set_leaving(bool leaving) { leaving_ = leaving; }

  ClientTable& clients() { return clients_; }

  // Keeps requests of a client, for arm_space(). Fails, and keeps none, if a handler could do harm, or another client has the
  // steps of libunwind in the same program.
  Result<void> add_requests(Client& client, std::span<const SiteRequest> sites);
  // Keeps those of them that were not given before, by site and address.
  Result<void> add_new_requests(Client& client, std::span<const SiteRequest> sites);
  // Returns whether a client has something to arm in the space, or may get something, or the space needs traps.
  bool can_arm(const AddressSpace& space);
  // Returns whether the program can call ptrace(2), or has a leak checker that does. Reads its memory; false if that is not open.
  bool watches_tracing(const AddressSpace& space);

  // Returns whether some handler has loads that may raise signals.
  bool may_fault() const;

  // Returns whether requests for modules of the space have not been armed there yet. False for a space that must not be armed.
  bool lacks_sites(const AddressSpace& space) const;
  // Arms what is not yet armed there, for all clients. Adds the outcomes to `reports`, also if it fails in the middle. Receives
  // what happens to processes meanwhile: the caller keeps the space alive, and looks its processes up again. Does nothing in a
  // space without processes.
  Result<void> arm_space(AddressSpace& space, Reports& reports);
  // Takes the sites of system call instructions out of a space that has got a restriction. sparing: a thread that stands in a
  // trampoline before a call and stays there; 0: none.
  Result<void> leave_calls(AddressSpace& space, pid_t sparing);
  // Takes one client's sites out of a space where others stay, and unmaps what it has there. Does nothing if it has nothing
  // there.
  Result<void> drop_client(AddressSpace& space, Client& client);

  // Switches a client's sites, as Engine::switch_sites().
  void switch_sites(Client& client, std::span<const uint32_t> site_ids, bool on);
  // Writes ClientSpace::module_map into the process tables, after these were wiped or the maps have changed.
  void write_module_maps(AddressSpace& space);
  // Maps more slots of the client's arena, after a thread has rung for them. Reports a failure. pid: a process of the space.
  void add_slots(AddressSpace& space, pid_t pid, ClientId client);
  // Frees the slots that threads of a process had in all clients' arenas. Called when it has executed another program.
  void vacate_slots(const AddressSpace& space, pid_t pid) const;
  // Frees what a thread that has ended had in all clients' arenas.
  void thread_ended(AddressSpace& space, const Thread& thread) const;
  // Returns whether the process has ended, is at its end, or executes another program.
  bool has_left(const AddressSpace& space, pid_t pid) const;
  // Returns has_left() after it has waited, for stop_patience_ms, until an execve is over. To be asked after a failure, which an
  // execve may explain.
  bool is_leaving(const AddressSpace& space, pid_t pid);
  // Reports an error as Event::Kind::kTrouble. client: nullptr: to all that follow the process.
  void note_trouble(pid_t pid, const Error& error, const Client* client = nullptr);
  // Takes out sites that another tracer has written into, with those that rest on them or that they rest on, and reports it.
  void take_out_overwritten(AddressSpace& space, pid_t pid);
  // Reports, and forgets, what AddressSpace::overwritten has counted.
  void report_overwritten(AddressSpace& space, pid_t pid);
  // Reports the error of `done` as note_trouble() does, unless the process has left the space.
  void note_failure(const AddressSpace& space, pid_t pid, const Result<void>& done, const Client* client = nullptr);

 private:
  Result<void> ensure_own_arena();
  Result<void> check_handlers(Client& client, std::span<const SiteRequest> sites);
  void keep_requests(Client& client, std::span<const SiteRequest> sites);
  void refresh_modules(AddressSpace& space, pid_t pid, std::vector<Module> present);
  Result<void> seek_stack_owner(AddressSpace& space, pid_t pid);
  void describe_modules(AddressSpace& space, pid_t pid);
  void watch_linker(AddressSpace& space, pid_t pid, std::vector<PatchedSite>& sites);
  Result<void> build_and_apply(AddressSpace& space, Reports& reports);
  Result<void> learn_actions(AddressSpace& space);
  Result<void> rebuild_without(AddressSpace& space, Client& client, bool last);
  SiteArming site_arming(AddressSpace& space, pid_t pid);

  bool leaving_ = false;
  Tracer& tracer_;
  CallWatch& calls_;
  uint64_t patience_ms_;
  Report report_;
  ClientTable clients_;
  PlaceCheck places_;
  RivalTracers rivals_;
  ValueChanges changes_;
};

}  // namespace spile::engine
