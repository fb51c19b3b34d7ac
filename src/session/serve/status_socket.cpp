#include "session/serve/status_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "base/clock.h"
#include "base/text/json.h"
#include "engine/share/peer.h"

namespace spile::session {

namespace {

constexpr int kBacklog = 8;
constexpr int64_t kPatienceNs = 300'000'000;
constexpr size_t kLongestText = 1000;

std::string text_of(const Json& object, const char* name) {
  const Json* found = object.find(name);
  return found && found->is_text() ? found->text().substr(0, kLongestText) : "";
}

uint64_t number_of(const Json& object, const char* name) {
  const Json* found = object.find(name);
  return found && found->is_unsigned() ? found->unsigned_number() : 0;
}

const Json& list_of(const Json& object, const char* name) {
  static const Json kEmpty = Json::array();
  const Json* found = object.find(name);
  return found && found->is_array() ? *found : kEmpty;
}

}  // namespace

std::string to_json(const SessionStatus& status) {
  Json probes = Json::array();
  for (const ProbeStatus& probe : status.probes) {
    Json one = {{"point", probe.point}, {"places", probe.places}, {"source", probe.source}, {"runs_in", probe.runs_in}};
    if (probe.hits) one["hits"] = *probe.hits;
    probes.push_back(std::move(one));
  }
  const Json all = {{"since", static_cast<uint64_t>(status.since)},
                    {"processes", status.processes},
                    {"processes_left_out", status.processes_left_out},
                    {"everywhere", status.everywhere},
                    {"probes", std::move(probes)},
                    {"probes_left_out", status.probes_left_out},
                    {"skipped", status.skipped}};
  return all.dump();
}

std::optional<SessionStatus> parse_status(const std::string& json) {
  const std::optional<Json> read = Json::parse(json);
  if (!read || !read->is_object()) return std::nullopt;
  const Json& all = *read;
  SessionStatus status;
  constexpr uint64_t kLatest = uint64_t{1} << 40;
  status.since = static_cast<int64_t>(std::min(number_of(all, "since"), kLatest));
  for (const Json& pid : list_of(all, "processes")) {
    if (!pid.is_unsigned() || pid.unsigned_number() > INT32_MAX || status.processes.size() == kMostListed) continue;
    status.processes.push_back(static_cast<pid_t>(pid.unsigned_number()));
  }
  status.processes_left_out = number_of(all, "processes_left_out");
  const Json* everywhere = all.find("everywhere");
  status.everywhere = everywhere && everywhere->is_boolean() && everywhere->boolean();
  for (const Json& probe : list_of(all, "probes")) {
    if (!probe.is_object() || status.probes.size() == kMostListed) continue;
    ProbeStatus one{text_of(probe, "point"), number_of(probe, "places"), text_of(probe, "source"), text_of(probe, "runs_in"),
                    std::nullopt};
    if (probe.contains("hits")) one.hits = number_of(probe, "hits");
    status.probes.push_back(std::move(one));
  }
  status.probes_left_out = number_of(all, "probes_left_out");
  status.skipped = number_of(all, "skipped");
  return status;
}

StatusSocket StatusSocket::listen() {
  StatusSocket made;
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return made;
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const std::string name = fmt::format("{}{}-{:016x}", kStatusPrefix, getpid(), number);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (fd && bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length) == 0 && ::listen(fd.get(), kBacklog) == 0)
    made.fd_ = std::move(fd);
  return made;
}

void StatusSocket::serve(const std::function<SessionStatus()>& status) {
  UniqueFd client(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client) return;
  auto peer = engine::Peer::of(client.get());
  if (!peer.ok() || !peer->is_ours()) return;
  const std::string text = to_json(status());
  const int64_t until = monotonic_ns() + kPatienceNs;
  for (std::string_view left = text; !left.empty();) {
    const ssize_t sent = send(client.get(), left.data(), left.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      left.remove_prefix(static_cast<size_t>(sent));
      continue;
    }
    const int64_t patience = (until - monotonic_ns()) / 1'000'000;
    pollfd writable{client.get(), POLLOUT, 0};
    if (errno != EAGAIN || patience <= 0 || poll(&writable, 1, static_cast<int>(patience)) <= 0) return;
  }
}

}  // namespace spile::session
