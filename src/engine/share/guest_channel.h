#pragma once
// Messages between the spile that traces a process and its guests (guest_host.h, guest_backend.h): over a stream socket of the
// abstract name "spile-engine-TID-NUMBER", where TID is the tracing thread as /proc/PID/status names it (TracerPid), and the
// random number keeps others from taking the name before; /proc/net/unix lists it. Both are processes of one machine and one
// build of spile: numbers are as they are in memory.
//
// Neither end believes the other (docs/security.md): each asks the kernel who the peer is (peer.h), every field is checked when
// it is read, and a whole message must come, or be taken, within the channel's limit.
//
//   Header, then `size` bytes, the fields of the message one after the other; strings and lists with their length in front
//   (a 64-bit number). One descriptor may come with a message (SCM_RIGHTS).

#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "abi/code_image.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/terms/arm_report.h"
#include "engine/terms/event.h"
#include "engine/terms/module.h"
#include "engine/terms/site_request.h"

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

// Appends fields to a message, in the order given.
class MessageWriter {
 public:
  template <typename... T>
  void put(const T&... values) {
    (add(values), ...);
  }
  std::vector<uint8_t> bytes;

 private:
  void add(const std::string& text) {
    add(uint64_t{text.size()});
    bytes.insert(bytes.end(), text.begin(), text.end());
  }
  template <typename T>
  void add(const std::vector<T>& list) {
    add(uint64_t{list.size()});
    for (const T& each : list) add(each);
  }
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void add(const T& value) {
    auto* from = reinterpret_cast<const uint8_t*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof value);
  }
  void add(const ReturnProbe& probe);
  void add(const SiteRequest& request);
  void add(const Module& module);
  void add(const abi::CodeImage& image);
  void add(const SiteOutcome& outcome);
  void add(const ArmReport& report);
  void add(const Event& event);
  void add(const ThreadChange& change);
};

// Checks every field that it reads: sizes against the bytes that have come, enumerations and truth values against their valid
// values. Bytes left over at the end are ignored. After a failed read ok() is false, and later reads fail.
class MessageReader {
 public:
  // bytes: outlives the reader.
  explicit MessageReader(std::span<const uint8_t> bytes) : left_(bytes) {}
  // Reads the next fields, in the order in which they were put. Returns ok(); after false the values are not to be used.
  template <typename... T>
  bool take(T&... values) {
    (read(values), ...);
    return ok_;
  }
  bool ok() const { return ok_; }

 private:
  void read(std::string& text) {
    uint64_t size = 0;
    read(size);
    if (size > left_.size()) return fail();
    text.assign(reinterpret_cast<const char*>(left_.data()), size);
    left_ = left_.subspan(size);
  }
  template <typename T>
  void read(std::vector<T>& list) {
    uint64_t count = 0;
    read(count);
    if (count > left_.size()) return fail();  // each takes a byte at least
    // As many as have been read: what a count says costs nobody memory.
    list.clear();
    while (ok_ && list.size() < count) read(list.emplace_back());
    if (!ok_) list.clear();
  }
  template <typename T>
    requires(std::is_trivially_copyable_v<T> && !std::is_enum_v<T>)
  void read(T& value) {
    if (sizeof value > left_.size()) return fail();
    memcpy(&value, left_.data(), sizeof value);
    left_ = left_.subspan(sizeof value);
  }
  void read(bool& value) {
    uint8_t byte = 0;
    read(byte);
    if (byte > 1) return fail();
    value = byte != 0;
  }
  template <typename T>
    requires std::is_enum_v<T>
  void read(T& value) {
    std::underlying_type_t<T> number{};
    read(number);
    if (number < 0 || number > static_cast<std::underlying_type_t<T>>(last_of(T{}))) return fail();
    value = static_cast<T>(number);
  }
  static constexpr Mechanism last_of(Mechanism) { return Mechanism::kRefused; }
  static constexpr Event::Kind last_of(Event::Kind) { return Event::Kind::kHandlerLeft; }
  static constexpr ThreadChange::Kind last_of(ThreadChange::Kind) { return ThreadChange::Kind::kSystemCallReturn; }
  void read(ThreadChange& change);
  template <size_t kAlternative = 0>
  void read_probe(uint8_t alternative, Probe& probe) {
    if constexpr (kAlternative == kClientProbes) {
      fail();
    } else if (alternative == kAlternative) {
      read(probe.emplace<kAlternative>());
    } else {
      read_probe<kAlternative + 1>(alternative, probe);
    }
  }
  void read(ReturnProbe& probe);
  void read(SiteRequest& request);
  void read(Module& module);
  void read(abi::CodeImage& image);
  void read(SiteOutcome& outcome);
  void read(ArmReport& report);
  void read(Event& event);
  void fail() {
    ok_ = false;
    left_ = {};
  }
  std::span<const uint8_t> left_;
  bool ok_ = true;
};

struct ReceivedMessage {
  GuestMessage type{};
  std::vector<uint8_t> bytes;  // its fields
  UniqueFd descriptor;         // closed: none came
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
  bool send(GuestMessage type, std::span<const uint8_t> bytes = {}, int descriptor = -1);
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
