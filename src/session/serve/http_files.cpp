#include "session/serve/http_files.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "session/serve/socket_owner.h"

namespace spile::session {

namespace {

constexpr size_t kMostConnections = 512;
constexpr size_t kMostOfClient = 64;      // connections of one user
constexpr size_t kMostRequest = 4096;     // bytes
constexpr size_t kMostUnsent = 64 << 20;  // bytes, of all replies
constexpr int64_t kRequestMs = 5'000;     // from the connection's begin to the request's end
constexpr int64_t kStandstillMs = 5'000;  // of a reader of a reply
constexpr int64_t kReplyMs = 60'000;
constexpr int kAcceptedAtOnce = 128;
constexpr const char* kMetricsPath = "metrics";
constexpr const char* kPrometheusType = "text/plain; version=0.0.4; charset=utf-8";

struct Connection {
  UniqueFd socket;
  uint64_t number = 0;  // the order in which they came
  uint32_t client = 0;  // a user, or kUnknownClient
  std::string request, reply;
  size_t sent = 0;
  int64_t begun_ms = 0;  // when it began to wait for the request, or for the reader of the reply
  int64_t progress_ms = 0;
  bool finishing = false;  // the reply is sent; closing with bytes unread would discard it at the client (RFC 9112, 9.6)

  bool is_late(int64_t now) const {
    if (reply.empty() || finishing) return now - begun_ms > kRequestMs;
    return now - begun_ms > kReplyMs || now - progress_ms > kStandstillMs;
  }
  size_t unsent() const { return reply.size() - sent; }
};
constexpr uint32_t kUnknownClient = ~uint32_t{0};

int64_t milliseconds() { return monotonic_ns() / 1'000'000; }

Result<sockaddr_in> parse_place(const std::string& where) {
  size_t colon = where.rfind(':');
  std::string address = colon == std::string::npos ? "127.0.0.1" : where.substr(0, colon);
  std::string port = colon == std::string::npos ? where : where.substr(colon + 1);
  if (address == "localhost") address = "127.0.0.1";
  sockaddr_in place{};
  place.sin_family = AF_INET;
  uint16_t number = 0;
  auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  bool is_port = !port.empty() && error == std::errc() && end == port.data() + port.size();
  if (!is_port || inet_pton(AF_INET, address.c_str(), &place.sin_addr) != 1) {
    return Error{fmt::format("--http={}: expected [ADDRESS:]PORT", where), "--http=9100 or --http=127.0.0.1:9100"};
  }
  if (ntohl(place.sin_addr.s_addr) >> 24 != 127) {
    return Error{fmt::format("--http={}: only the loopback interface (127.0.0.1) can be used", where),
                 "use a proxy or ssh for access from elsewhere"};
  }
  place.sin_port = htons(number);
  return place;
}

std::string reply_of(const char* status, const char* type, const std::string& body, bool with_body) {
  return fmt::format("HTTP/1.0 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", status, type,
                     body.size(), with_body ? body : std::string());
}

// The value of a header, or "". Names are compared without case.
std::string header(const std::string& request, std::string_view name) {
  for (size_t at = request.find("\r\n"); at != std::string::npos; at = request.find("\r\n", at + 2)) {
    if (strncasecmp(request.c_str() + at + 2, name.data(), name.size()) != 0) continue;
    size_t begin = request.find_first_not_of(' ', at + 2 + name.size());
    return request.substr(begin, request.find("\r\n", begin) - begin);
  }
  return {};
}

bool names_this_host(const std::string& host) {
  std::string name = host.substr(0, host.find(':'));
  in_addr address;
  return host.empty() || name == "localhost" ||
         (inet_pton(AF_INET, name.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == 127);
}

}  // namespace

struct HttpFiles::State {
  UniqueFd listener, events;
  sockaddr_in place{};
  std::map<std::string, int> probes;  // by path without the first '/'
  Read read;
  Metrics metrics;
  std::map<int, Connection> connections;
  SocketOwners owners;
  uint64_t next_number = 0;

  // Returns false if no connection waits.
  bool accept_one() {
    sockaddr_in theirs{};
    socklen_t size = sizeof theirs;
    UniqueFd socket(accept4(listener.get(), reinterpret_cast<sockaddr*>(&theirs), &size, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket) return false;
    sockaddr_in ours = place;
    size = sizeof ours;
    getsockname(socket.get(), reinterpret_cast<sockaddr*>(&ours), &size);
    const uint32_t client = owners.owner_of(theirs, ours).value_or(kUnknownClient);
    make_room(client);
    const int number = socket.get();
    epoll_event event{EPOLLIN, {.fd = number}};
    if (epoll_ctl(events.get(), EPOLL_CTL_ADD, number, &event) != 0) return true;
    Connection& connection = connections[number];
    connection.socket = std::move(socket);
    connection.number = next_number++;
    connection.client = client;
    connection.begun_ms = connection.progress_ms = milliseconds();
    if (!go_on(connection)) connections.erase(number);  // the request is often there already
    return true;
  }

  // New connections are not turned away. The connection that has been silent longest is dropped, else the one that has been
  // reading longest: one of the same user, or, above the limit for all, one of the user with the most connections.
  void make_room(uint32_t client) {
    std::map<uint32_t, size_t> numbers;
    for (const auto& [fd, connection] : connections) ++numbers[connection.client];
    if (numbers[client] >= kMostOfClient) return drop_one(client);
    if (connections.size() < kMostConnections) return;
    drop_one(std::max_element(numbers.begin(), numbers.end(), [](auto& a, auto& b) { return a.second < b.second; })->first);
  }

  void drop_one(uint32_t client) {
    auto worse = [](const Connection& a, const Connection& b) {
      return std::pair(!a.reply.empty(), a.number) < std::pair(!b.reply.empty(), b.number);
    };
    auto worst = connections.end();
    for (auto each = connections.begin(); each != connections.end(); ++each) {
      if (each->second.client == client && (worst == connections.end() || worse(each->second, worst->second))) worst = each;
    }
    if (worst != connections.end()) connections.erase(worst);
  }

  // Returns false if the connection is done with.
  bool go_on(Connection& connection) {
    if (connection.finishing) {
      char rest[4096];
      ssize_t got = recv(connection.socket.get(), rest, sizeof rest, 0);
      return got > 0 || (got < 0 && errno == EAGAIN);
    }
    if (connection.reply.empty()) {
      char bytes[1024];
      ssize_t got = recv(connection.socket.get(), bytes, sizeof bytes, 0);
      if (got <= 0) return got < 0 && errno == EAGAIN;
      connection.request.append(bytes, static_cast<size_t>(got));
      bool whole = connection.request.find("\r\n\r\n") != std::string::npos;
      if (!whole && connection.request.size() < kMostRequest) return true;
      connection.reply =
          whole ? answer(connection.request) : reply_of("431 Request Header Fields Too Large", "text/plain", "", true);
      connection.begun_ms = connection.progress_ms = milliseconds();
      if (!fits(connection)) return false;
      wait_for(connection, EPOLLOUT);
    }
    ssize_t sent = send(connection.socket.get(), connection.reply.data() + connection.sent, connection.unsent(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN;
    connection.progress_ms = milliseconds();
    connection.sent += static_cast<size_t>(sent);
    if (connection.unsent() > 0) return true;
    shutdown(connection.socket.get(), SHUT_WR);
    connection.finishing = true;
    connection.begun_ms = connection.progress_ms;
    wait_for(connection, EPOLLIN);
    return true;
  }

  // The memory for unread replies is bounded; a reply that is the only one is sent all the same.
  bool fits(const Connection& newest) const {
    size_t unsent = 0;
    for (const auto& [fd, connection] : connections) unsent += connection.unsent();
    return unsent <= kMostUnsent || unsent == newest.unsent();
  }

  void wait_for(const Connection& connection, uint32_t what) const {
    epoll_event event{what, {.fd = connection.socket.get()}};
    epoll_ctl(events.get(), EPOLL_CTL_MOD, connection.socket.get(), &event);
  }

  void drop_late() {
    std::erase_if(connections, [now = milliseconds()](const auto& entry) { return entry.second.is_late(now); });
  }

  std::string answer(const std::string& request) {
    bool head = request.starts_with("HEAD /");
    if (!head && !request.starts_with("GET /"))
      return reply_of("405 Method Not Allowed", "text/plain", "only GET and HEAD\n", true);
    if (!names_this_host(header(request, "Host:")))
      return reply_of("403 Forbidden", "text/plain", "not the name of this host\n", !head);
    size_t begin = head ? 6 : 5;
    std::string path = request.substr(begin, request.find_first_of(" ?\r", begin) - begin);
    if (path.empty()) {
      std::string names;
      for (const auto& [name, probe] : probes) names += name + "\n";
      if (metrics && !probes.contains(kMetricsPath)) names += std::string(kMetricsPath) + "\n";
      return reply_of("200 OK", "text/plain; charset=utf-8", names, !head);
    }
    auto found = probes.find(path);
    if (found == probes.end() && metrics && path == kMetricsPath) {
      const bool is_open = header(request, "Accept:").find("application/openmetrics-text") != std::string::npos;
      return reply_of("200 OK", is_open ? "application/openmetrics-text; version=1.0.0; charset=utf-8" : kPrometheusType,
                      metrics(is_open), !head);
    }
    if (found == probes.end()) return reply_of("404 Not Found", "text/plain", "no such file\n", !head);
    const char* type = path.ends_with(".json") ? "application/json" : kPrometheusType;
    return reply_of("200 OK", type, read(found->second), !head);
  }
};

HttpFiles::HttpFiles(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpFiles::~HttpFiles() = default;

Result<std::unique_ptr<HttpFiles>> HttpFiles::listen(const std::string& where, const sema::Program& program, Read read,
                                                     Metrics metrics) {
  auto state = std::make_unique<State>();
  TRY(state->place, parse_place(where));
  for (const sema::Probe& probe : program.probes) {
    if (probe.kind != sema::ProbeKind::kProcfsRead) continue;
    for (const sema::ResolvedPoint& point : probe.points) {
      if ((point.procfs_umask & 0004) == 0) state->probes[point.procfs_name] = probe.index;
    }
  }
  if (state->probes.empty() && !metrics) {
    return Error{"--http: the script has nothing to serve",
                 "it serves procfs read probes, prometheus and json_data; and /metrics where it is not a bundle"};
  }
  state->read = std::move(read);
  state->metrics = std::move(metrics);
  state->listener = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  state->events = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  int one = 1;
  setsockopt(state->listener.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  auto* address = reinterpret_cast<sockaddr*>(&state->place);
  socklen_t size = sizeof state->place;
  epoll_event event{EPOLLIN, {.fd = state->listener.get()}};
  if (bind(state->listener.get(), address, size) != 0 || ::listen(state->listener.get(), SOMAXCONN) != 0 ||
      getsockname(state->listener.get(), address, &size) != 0 ||
      epoll_ctl(state->events.get(), EPOLL_CTL_ADD, state->listener.get(), &event) != 0) {
    return Error::from_errno(fmt::format("--http: listen at {}", where), errno, "choose another port, or 0 for any free one");
  }
  return std::unique_ptr<HttpFiles>(new HttpFiles(std::move(state)));
}

std::string HttpFiles::url() const {
  char address[INET_ADDRSTRLEN] = {};
  inet_ntop(AF_INET, &state_->place.sin_addr, address, sizeof address);
  return fmt::format("http://{}:{}/", address, ntohs(state_->place.sin_port));
}

int HttpFiles::fd() const { return state_->events.get(); }

void HttpFiles::serve() {
  epoll_event ready[64];
  state_->drop_late();
  int count = epoll_wait(state_->events.get(), ready, 64, 0);
  for (int i = 0; i < count; ++i) {
    if (ready[i].data.fd == state_->listener.get()) {
      for (int accepted = 0; accepted < kAcceptedAtOnce && state_->accept_one(); ++accepted) {
      }
      continue;
    }
    auto found = state_->connections.find(ready[i].data.fd);
    if (found != state_->connections.end() && !state_->go_on(found->second)) state_->connections.erase(found);
  }
}

}  // namespace spile::session
