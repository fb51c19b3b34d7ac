#pragma once
// Messages between the spile that traces a process and its guests (guest_host.h, guest_backend.h): over a stream socket of the
// abstract name "spile-engine-TID-NUMBER", where TID is the tracing thread as /proc/PID/status names it (TracerPid), and the
// random number keeps others from taking the name before; /proc/net/unix lists it. Both are processes of one machine and one
// build of spile: numbers are as they are in memory.
//
// Neither end believes the other (docs/security.md): each asks the kernel who the peer is (peer.h), every field is checked when
// it is read (guest_fields.h), and a whole message must come, or be taken, within the channel's limit.
//
//   Header, then `size` bytes, the fields of the message one after the other; strings and lists with their length in front
//   (a 64-bit number). One descriptor may come with a message (SCM_RIGHTS).

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace spile::engine {

inline constexpr uint32_t kGuestProtocol = 4;  // raised with every change of a message

// Each question has one answer: kDone or kFailed, or the message named behind it. A malformed message is not answered: the
// connection ends.
enum class GuestMessage : uint32_t {
  kHello,    // guest, first of all: protocol, whether it resolves, whether it describes, whether it watches
  kImage,    // guest, once: CodeImage, ArenaGeometry, and the arena's descriptor
  kFollow,   // guest: pid; the answer has the list of its processes
  kArm,      // guest: list of SiteRequest; the answer has an ArmReport
  kSwitch,   // guest: list of site ids, on; no answer
  kLeave,    // guest: the host takes all of its probes out, and forgets it
  kDone,     // host
  kFailed,   // host: message, hint
  kEvent,    // host: Event; no answer
  kResolve,  // host: pid, Module; kResolved with a list of SiteRequest. Threads may stand still
  kResolved,
  kDescribe,  // host: pid, list of Module; kDescribed with what ModuleDescriber returns. Threads may stand still
  kDescribed,
  kEnding,  // host: since when it takes all probes out (std::chrono::steady_clock); the connection ends when that is done
  kChange,  // host: ThreadChange; kSeen, without fields. The thread stands still
  kSeen,
};

struct ReceivedMessage {
  GuestMessage type{};
  std::string bytes;    // its fields (guest_fields.h)
  UniqueFd descriptor;  // closed: none came
};

// One end of a connection. Neither send nor receive takes longer than the limit given, for a whole message of up to 256 MiB. Used
// by one thread.
class GuestChannel {
 public:
  // Makes a channel that is closed.
  GuestChannel() = default;
  GuestChannel(UniqueFd socket, int limit_ms) : socket_(std::move(socket)), limit_(limit_ms) {}

  // Returns the socket, which stays the channel's; -1: closed.
  int fd() const { return socket_.get(); }
  bool is_open() const { return static_cast<bool>(socket_); }
  void close() { socket_ = UniqueFd(); }

  // Sends a message. descriptor: sent with it, stays the caller's; -1: none. Returns false, and closes the channel, if the other
  // end is gone or does not take the message in time.
  bool send(GuestMessage type, std::string_view bytes = {}, int descriptor = -1);
  // Returns whether something can be received, or the other end has gone. Waits at most timeout_ms (-1: for ever). False if
  // closed.
  bool is_readable(int timeout_ms) const;
  // Waits for a message and receives it. Empty: the other end is gone, has sent a malformed message, or has not sent a whole one
  // in time, and the channel is closed.
  std::optional<ReceivedMessage> receive();

 private:
  using Clock = std::chrono::steady_clock;
  bool wait_for(short what, Clock::time_point deadline) const;
  bool send_all(std::span<const uint8_t> bytes, int descriptor, Clock::time_point deadline);
  bool receive_all(std::span<uint8_t> bytes, UniqueFd* descriptor, Clock::time_point deadline);
  UniqueFd socket_;
  std::chrono::milliseconds limit_{};
};

// Opens the socket on which the calling thread, which traces, serves guests. accept(2) on it never waits.
Result<UniqueFd> listen_for_guests();
// Connects to the socket on which the tracer `tid` serves guests. The channel is closed if the tracer does not listen, so that it
// is not a spile. Fails if the tracer is a spile of a user other than root and ours, or did not take the connection within
// limit_ms, as other processes keep it busy. limit_ms is the channel's limit, too.
Result<GuestChannel> connect_to_tracer(pid_t tid, int limit_ms);

}  // namespace spile::engine
