#pragma once
// Whose handlers the engine arms: this controller's own, or a guest's, which is another controller that found the
// process traced by us. Each has handlers, an arena and requests of its own; text, stops and sites are shared. Belongs to the
// engine's thread.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "abi/code_image.h"
#include "engine/arch/architecture.h"
#include "engine/space/address_space.h"
#include "engine/space/arena_hold.h"
#include "engine/space/space_setup.h"

namespace spile::engine {

struct Client {
  ClientId id = kOwnClient;
  abi::CodeImage image;
  ArenaGeometry geometry;
  UniqueFd arena_fd;   // closed: no image was set, and nothing can be armed
  UniqueFd shared_fd;  // ArenaMemory::shared_fd; closed: its arena has no shared pages
  ArenaHold hold;      // of a guest's arena, or of the small one that this controller has without handlers of its own
  // Empty where the client does not want to be asked; a guest's send the question to the guest (guest_host.cpp).
  ModuleResolver resolve_module;
  ModuleDescriber describe_modules;
  ThreadWatcher watch_threads;
  StackOwnership owns_stacks;         // of our own client, for all clients
  ReturnReaderFinder return_readers;  // of our own client, for all clients

  std::map<std::string, std::vector<RequestList>> requests;  // by module path
  std::set<std::pair<uint64_t, uint64_t>> resolved;          // device and inode of modules asked about
  std::set<HandlerEntry> checked;                            // handlers that the checker has let pass
  std::set<uint32_t> switched_off;                           // site ids, by switch_sites or from the start
  bool walks_by_steps = false;                               // has handlers for the steps of libunwind
  uint64_t handler_stack = 0;                                // bytes of stack that the deepest handler of `checked` takes
  bool wants_returns = false;                                // has return probes of a script's
  bool probes_calls = false;                                 // has handlers for all system calls (call_watch.h)
  std::set<pid_t> follows;                                   // processes that a guest has probes in; our own client has all

  // Returns whether it has something to arm, or may get something.
  bool can_arm() const { return arena_fd && (!requests.empty() || resolve_module || probes_calls); }
};

// All clients of one engine, by id.
class ClientTable {
 public:
  // Adds a client, with an id that none has had. The first one is this controller's own. The reference is valid until the client
  // is forgotten.
  Client& add();
  // Finds the client, or returns nullptr.
  Client* find(ClientId id) const;
  // REQUIRES: it has been added.
  Client& own() const { return *all_.at(kOwnClient); }
  // Destroy a client, or all but our own, with their arenas' descriptors and holds. REQUIRES: nothing of theirs is mapped in a
  // process that stays traced.
  void forget(ClientId id) { all_.erase(id); }
  void forget_guests();
  const std::map<ClientId, std::unique_ptr<Client>>& all() const { return all_; }

  // Returns whether the client has probes in processes of the space, or may get some.
  static bool follows(const Client& client, const AddressSpace& space);
  // Returns the clients that follow the space and can arm, by id.
  std::vector<Client*> in(const AddressSpace& space) const;

 private:
  std::map<ClientId, std::unique_ptr<Client>> all_;
  ClientId next_ = kOwnClient;
};

// Returns the context for mapping what the client's handlers need. It refers to both arguments.
SetupContext setup_for(Tracer& tracer, const Client& client);

}  // namespace spile::engine
