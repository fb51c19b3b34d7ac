#pragma once
// Serves other spiles, which want probes in processes that this one traces: each is a client of its engine (client.h). A guest
// that does not answer in time, or goes away, is dropped, and with it all that it has in processes. Nobody waits for one
// longer than kGuestPatienceMs. A guest gets nothing that it could not do itself: it may follow only what the kernel would let it trace.

#include <deque>
#include <memory>

#include "engine/share/client.h"
#include "engine/share/guest_channel.h"
#include "engine/share/peer.h"

namespace spile::engine {

inline constexpr int kGuestPatienceMs = 2000;

// What guests get done.
class GuestService {
 public:
  virtual ~GuestService() = default;
  virtual Client& add_guest() = 0;
  // The processes that the guest follows from now on: this one, if we trace it.
  virtual Result<std::vector<pid_t>> follow(Client& guest, pid_t pid) = 0;
  virtual Result<ArmReport> arm_for(Client& guest, std::span<const SiteRequest> sites) = 0;
  virtual void switch_for(Client& guest, std::span<const uint32_t> site_ids, bool on) = 0;
  // Takes its probes out everywhere, and forgets it.
  virtual Result<void> drop_guest(Client& guest) = 0;
};

class GuestHost {
 public:
  // One for each tracing thread.
  static Result<std::unique_ptr<GuestHost>> start(GuestService& service);
  ~GuestHost();

  // Becomes readable when serve() has something to do.
  int wait_fd() const { return epoll_.get(); }
  // Does what guests ask for. Not from within a call of the service.
  void serve();
  // From anywhere. client: a guest's.
  void report(const Client& client, const Event& event);
  // All of them: what follows takes their probes out.
  void announce_ending();
  // wait_fd() becomes readable with this one too.
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
  void done(Guest& guest, const MessageWriter& what = {}) { guest.channel.send(GuestMessage::kDone, what.bytes); }
  void failed(Guest& guest, const Error& error);
  void drop_gone();

  GuestService& service_;
  UniqueFd listener_, epoll_;
  std::vector<std::unique_ptr<Guest>> guests_;
};

}  // namespace spile::engine
