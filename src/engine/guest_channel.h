#pragma once
// Messages between the spile that traces a process and its guests (guest_host.h, guest_part.h): over a stream socket of the
// abstract name "spile-engine-TID", where TID is the tracing thread as /proc/PID/status names it (TracerPid). Both are
// processes of one machine and one build of spile: numbers are as they are in memory.
//
//   Header, then `size` bytes, the fields of the message one after the other; strings and lists with their length in front
//   (a 64-bit number). One descriptor may come with a message (SCM_RIGHTS).

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "engine/engine.h"

namespace spile::engine {

inline constexpr uint32_t kGuestProtocol = 2;  // raised with every change of a message

// What is asked for has one answer, kDone or kFailed, or the one named.
enum class GuestMessage : uint32_t {
  kHello,      // guest: protocol, whether it resolves, whether it describes, whether it watches
  kImage,      // guest: CodeImage, ArenaGeometry, and the arena's descriptor
  kFollow,     // guest: pid; the answer has the list of its processes
  kArm,        // guest: list of SiteRequest; the answer has an ArmReport
  kSwitch,     // guest: list of site ids, on; no answer
  kLeave,      // guest: takes all of its probes out
  kDone,       // host
  kFailed,     // host: message, hint
  kEvent,      // host: Event; no answer
  kResolve,    // host: pid, Module; kResolved with a list of SiteRequest. The process stands still
  kResolved,
  kDescribe,   // host: pid, list of Module; kDescribed with an offset. The same
  kDescribed,
  kEnding,     // host: a time of the steady clock, which is one for all processes; all probes are taken out from now on, and the connection ends then
  kChange,     // host: ThreadChange; kSeen with nothing. The thread stands still
  kSeen,
};

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
  void add(const SiteRequest& request);
  void add(const Module& module);
  void add(const abi::CodeImage& image);
  void add(const SiteOutcome& outcome);
  void add(const ArmReport& report);
  void add(const Event& event);
};

// Every read is checked; after a failed one the rest are zero, and ok() is false.
class MessageReader {
 public:
  explicit MessageReader(std::span<const uint8_t> bytes) : left_(bytes) {}
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
    list.resize(count);
    for (T& each : list) read(each);
  }
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void read(T& value) {
    if (sizeof value > left_.size()) return fail();
    memcpy(&value, left_.data(), sizeof value);
    left_ = left_.subspan(sizeof value);
  }
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
  std::vector<uint8_t> bytes;
  UniqueFd descriptor;
};

// One end. Nothing here waits for the other end longer than the limit given.
class GuestChannel {
 public:
  GuestChannel() = default;
  // limit_ms: for each part of a message to be taken or to arrive.
  GuestChannel(UniqueFd socket, int limit_ms);

  int fd() const { return socket_.get(); }
  bool is_open() const { return static_cast<bool>(socket_); }
  void close() { socket_ = UniqueFd(); }

  // The other end is gone, or does not take it: false, and closed.
  bool send(GuestMessage type, std::span<const uint8_t> bytes = {}, int descriptor = -1);
  // Something can be received, or the other end has gone. Waits at most so long.
  bool is_readable(int timeout_ms) const;
  // Nothing, and closed: the other end is gone, or says nonsense, or stops in the middle.
  std::optional<ReceivedMessage> receive();

 private:
  bool send_all(std::span<const uint8_t> bytes);
  bool receive_all(std::span<uint8_t> bytes);
  UniqueFd socket_;
};

// The socket on which the calling thread serves guests, or on which the tracer `tid` does.
Result<UniqueFd> listen_for_guests();
Result<GuestChannel> connect_to_tracer(pid_t tid, int limit_ms);

}  // namespace spile::engine
