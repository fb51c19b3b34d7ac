#pragma once
// Serves other spiles, the guests, which want probes in processes that this one traces: each is a client of its engine
// (client.h). A guest that does not answer in time, or goes away, is dropped, and with it all that it has in processes. The host
// waits for a guest for at most kGuestPatienceMs. A guest may follow only processes that the kernel would let it trace itself.
// Belongs to the engine's thread.

#include <deque>
#include <memory>

#include "engine/share/client.h"
#include "engine/share/guest_channel.h"
#include "engine/share/guest_fields.h"
#include "engine/share/peer.h"

namespace spile::engine {

inline constexpr int kGuestPatienceMs = 2000;

// What the host has the engine do for guests, as the functions of Engine do for its user.
class GuestService {
 public:
  virtual ~GuestService() = default;
  // Adds a client for a guest, valid until drop_guest(). The host sets its image, arena and functions.
  virtual Client& add_guest() = 0;
  // Lets the guest follow a process that we trace. Returns the processes that it follows from now on.
  virtual Result<std::vector<pid_t>> follow(Client& guest, pid_t pid) = 0;
  virtual Result<ArmReport> arm_for(Client& guest, std::span<const SiteRequest> sites) = 0;
  virtual void switch_for(Client& guest, std::span<const uint32_t> site_ids, bool on) = 0;
  // Takes the guest's probes out of all processes, and forgets the guest. After an error, since its memory is still mapped in a
  // process, the engine keeps the client; the host does not use it any more.
  virtual Result<void> drop_guest(Client& guest) = 0;
};

class GuestHost {
 public:
  // Opens the socket for guests. REQUIRES: called by the tracing thread, which has no other GuestHost. service: outlives it.
  static Result<std::unique_ptr<GuestHost>> start(GuestService& service);
  // Ends all connections. Does not call the service.
  ~GuestHost();

  // Becomes readable when serve() has something to do.
  int wait_fd() const { return epoll_.get(); }
  // Does what guests ask for, without waiting for a question, and drops guests that are gone. REQUIRES: not called from within a
  // call of the service.
  void serve();
  // Sends an event to the guest of a client, if it has one. May be called at any time, also from within calls of the service.
  void report(const Client& client, const Event& event);
  // Sends kEnding to all guests: from now on their probes are taken out.
  void announce_ending();
  // Makes wait_fd() readable also when `fd` is. fd: stays open for the host's life.
  void watch(int fd);

 private:
  struct Guest {
    GuestChannel channel;
    Peer peer;
    Client* client = nullptr;
    std::deque<ReceivedMessage> inbox;  // came while an answer was awaited
    bool leaves = false;
  };

  explicit GuestHost(GuestService& service) : service_(service) {}
  void accept_guest();
  bool take_message(Guest& guest);
  void handle(Guest& guest, ReceivedMessage message);
  void handle_hello(Guest& guest, MessageReader& reader);
  std::optional<ReceivedMessage> ask(Guest& guest, GuestMessage question, const MessageWriter& what, GuestMessage answer);
  void done(Guest& guest, const MessageWriter& what = {}) { guest.channel.send(GuestMessage::kDone, what.bytes()); }
  void failed(Guest& guest, const Error& error);
  void drop_gone();

  GuestService& service_;
  UniqueFd listener_, epoll_;
  std::vector<std::unique_ptr<Guest>> guests_;
};

}  // namespace spile::engine
