#pragma once
// What a running session says about itself to `spile list`: a socket of the abstract namespace (unix(7)),
// "spile-session-PID-NUMBER". /proc/net/unix lists the names; one ends with its session, however that ends, so nothing stale is
// left of a killed spile. The random number keeps other processes from taking the name before. Who connects gets one JSON text
// and the end of the stream.
//
// Neither end believes the other (docs/security.md): the kernel says which process is behind a socket. The session answers its
// own user and root; the asker takes pid and user from the kernel, and everything else as the claim of that process.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace spile::session {

// A probe of a session.
struct ProbeStatus {
  std::string point;             // the resolved point; of several: as the script wrote it
  uint64_t places = 0;           // resolved points
  std::string source;            // of the probe in the script: "a.stp:3:5"
  std::string runs_in;           // "process", "kernel", or "spile"
  std::optional<uint64_t> hits;  // handler runs; null: not counted
};
struct SessionStatus {
  int64_t since = 0;                // when the probes were armed, seconds since the epoch
  std::vector<pid_t> processes;     // that the session traces, or that its handlers in the kernel are for
  uint64_t processes_left_out = 0;  // beyond kMostListed
  bool everywhere = false;          // has handlers that may run for any process
  std::vector<ProbeStatus> probes;
  uint64_t probes_left_out = 0;  // beyond kMostListed
  uint64_t skipped = 0;          // hits whose handler could not run
};
inline constexpr size_t kMostListed = 1000;

std::string to_json(const SessionStatus& status);
// Null: the text is not such a status. Texts are cut to a bounded length; nothing else of it is believed or checked.
std::optional<SessionStatus> parse_status(const std::string& json);

inline constexpr char kStatusPrefix[] = "spile-session-";

class StatusSocket {
 public:
  // Makes the socket. Closed (fd() is -1) where there can't be one: the session then runs unlisted.
  static StatusSocket listen();
  int fd() const { return fd_.get(); }
  // Answers one asker: root, or the session's own user; others get nothing. Waits 0.3 s at most for one that does not read.
  // REQUIRES: fd() is readable.
  void serve(const std::function<SessionStatus()>& status);

 private:
  UniqueFd fd_;
};

}  // namespace spile::session
