#include "session/serve/running_sessions.h"

#include <errno.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/files/tracefs.h"
#include "base/processes/proc.h"
#include "base/text/split.h"
#include "engine/process/process_status.h"
#include "engine/share/peer.h"

namespace spile::session {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kPatienceNs = 1'000'000'000;
constexpr size_t kLongestAnswer = size_t{4} << 20;
constexpr size_t kMostArguments = 200, kLongestCommand = 4000;

std::optional<uint64_t> number_in(std::string_view text) {
  uint64_t number = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> pids;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    auto pid = number_in(it->path().filename().string());
    if (pid && *pid > 0 && *pid <= INT32_MAX) pids.push_back(static_cast<pid_t>(*pid));
  }
  std::ranges::sort(pids);
  return pids;
}

// /proc/net/unix: "0000: 00000002 00000000 00010000 0001 01 12345 @spile-session-4711-0123456789abcdef"
std::vector<std::string> socket_names() {
  std::vector<std::string> names;
  std::ifstream file("/proc/net/unix");
  const std::string wanted = std::string(" @") + kStatusPrefix;
  for (std::string line; std::getline(file, line);) {
    const size_t at = line.find(wanted);
    // Connections have their listener's name, too.
    if (at != std::string::npos && line.find(" 00010000 ") != std::string::npos) names.push_back(line.substr(at + 2));
  }
  return names;
}

struct Answer {
  pid_t pid = 0;
  uid_t uid = 0;
  std::optional<SessionStatus> status;
};

std::string read_answer(int socket) {
  std::string text;
  const int64_t until = monotonic_ns() + kPatienceNs;
  for (char bytes[65536]; text.size() < kLongestAnswer;) {
    pollfd readable{socket, POLLIN, 0};
    const int64_t left = (until - monotonic_ns()) / 1'000'000;
    if (left <= 0 || poll(&readable, 1, static_cast<int>(left)) <= 0) return "";
    const ssize_t got = recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
    if (got == 0) return text;
    if (got < 0 && errno != EAGAIN && errno != EINTR) return "";
    if (got > 0) text.append(bytes, static_cast<size_t>(got));
  }
  return "";
}

// Null: nobody listens there, or another user does whom this one must not ask.
std::optional<Answer> ask(const std::string& name) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (!fd || name.size() >= sizeof address.sun_path) return std::nullopt;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
    // A session that takes no connections has a full queue; its name says which one it is.
    const std::string_view rest = std::string_view(name).substr(sizeof kStatusPrefix - 1);
    auto pid = number_in(rest.substr(0, rest.find('-')));
    if (errno != EAGAIN || !pid || *pid > INT32_MAX) return std::nullopt;
    auto facts = facts_of(static_cast<pid_t>(*pid));
    if (!facts || (geteuid() != 0 && facts->uid != geteuid())) return std::nullopt;
    return Answer{facts->pid, facts->uid, std::nullopt};
  }
  auto peer = engine::Peer::of(fd.get());
  if (!peer.ok() || (geteuid() != 0 && peer->uid() != geteuid())) return std::nullopt;
  return Answer{peer->pid(), peer->uid(), parse_status(read_answer(fd.get()))};
}

std::vector<std::string> command_of(pid_t pid) {
  std::vector<std::string> words;
  std::string text = read_start(fmt::format("/proc/{}/cmdline", pid), kLongestCommand);
  if (!text.empty() && text.back() == '\0') text.pop_back();
  for (const std::string_view word : split(text, '\0'))
    if (words.size() < kMostArguments) words.emplace_back(word);
  return words;
}

int64_t started_at(pid_t pid) {
  const uint64_t ticks = engine::start_time(pid);
  timespec boot{};
  const long rate = sysconf(_SC_CLK_TCK);
  if (ticks == 0 || rate <= 0 || clock_gettime(CLOCK_BOOTTIME, &boot) != 0) return 0;
  return time(nullptr) - boot.tv_sec + static_cast<int64_t>(ticks / static_cast<uint64_t>(rate));
}

// /proc/PID/fdinfo: descriptors of programs have "prog_type:" and "run_cnt:", those of links "link_type:".
std::optional<KernelParts> kernel_parts_of(pid_t pid) {
  KernelParts parts;
  uint64_t runs = 0;
  std::error_code error;
  for (fs::directory_iterator it(fmt::format("/proc/{}/fdinfo", pid), error), end; it != end; it.increment(error)) {
    if (error) break;
    const std::string text = read_start(it->path().string(), 4096);
    for (const std::string_view line : lines_of(text)) {
      if (line.starts_with("prog_type:")) ++parts.programs;
      if (line.starts_with("link_type:")) ++parts.links;
      if (line.starts_with("run_cnt:"))
        runs += number_in(line.substr(std::min(line.size(), line.find_last_of(" \t") + 1))).value_or(0);
    }
  }
  if (error) return std::nullopt;
  if (read_start("/proc/sys/kernel/bpf_stats_enabled", 8).starts_with('1')) parts.runs = runs;
  return parts;
}

std::string why_silent(pid_t pid) {
  const std::string state = process_status(pid, "State");
  if (state.empty()) return "it has just ended";
  if (state.starts_with('T') || state.starts_with('t')) return "it is stopped";
  if (state.starts_with('D')) return "it waits within the kernel";
  return "it does not answer within 1 s";
}

// The process of the thread that traces it; 0: nobody does.
pid_t tracing_process(pid_t pid) {
  const auto tracer = number_in(process_status(pid, "TracerPid")).value_or(0);
  if (tracer == 0) return 0;
  return static_cast<pid_t>(number_in(process_status(static_cast<pid_t>(tracer), "Tgid")).value_or(tracer));
}

// Handlers are executable in the processes that they probe, and nowhere else.
bool has_handlers(const std::vector<Mapping>& mappings) {
  return std::ranges::any_of(
      mappings, [](const Mapping& mapping) { return mapping.executable && mapping.path.starts_with("/memfd:spile-code"); });
}

// "p:spile_4711/p0 loop:lo_open"
std::vector<pid_t> left_in_kernel() {
  std::set<pid_t> dead;
  if (geteuid() != 0 || access("/sys/kernel/tracing/kprobe_events", R_OK) != 0) return {};
  auto text = read_tracefs("kprobe_events");
  if (!text.ok()) return {};
  for (const std::string_view line : lines_of(*text)) {
    const size_t at = line.find(":spile_"), end = line.find('/', at == line.npos ? 0 : at);
    if (at == line.npos || end == line.npos) continue;
    const size_t begin = at + sizeof ":spile_" - 1;
    auto pid = number_in(line.substr(begin, end - begin));
    if (pid && *pid > 0 && *pid <= INT32_MAX && !facts_of(static_cast<pid_t>(*pid))) dead.insert(static_cast<pid_t>(*pid));
  }
  return {dead.begin(), dead.end()};
}

RunningSession session_of(Answer answer) {
  RunningSession session;
  session.process = facts_of(answer.pid).value_or(ProcessFacts{answer.pid, answer.uid, ""});
  session.process.uid = answer.uid;
  session.command = command_of(answer.pid);
  session.started = started_at(answer.pid);
  session.kernel = kernel_parts_of(answer.pid);
  session.status = std::move(answer.status);
  if (!session.status) session.why_silent = why_silent(answer.pid);
  if (session.status) {
    for (pid_t pid : session.status->processes) {
      if (auto facts = facts_of(pid)) session.processes.push_back(std::move(*facts));
    }
  }
  return session;
}

// What /proc says of processes with handlers that no session has named.
void look_at_processes(ArmedNow& found) {
  std::set<pid_t> named;
  for (const RunningSession& session : found.sessions) {
    named.insert(session.process.pid);
    for (const ProcessFacts& process : session.processes) named.insert(process.pid);
  }
  for (pid_t pid : all_processes()) {
    if (named.contains(pid)) continue;
    auto mappings = read_mappings(pid);
    auto facts = facts_of(pid);
    if (!facts) continue;
    if (!mappings.ok()) {
      if (facts->uid == geteuid() || geteuid() == 0) found.unreadable.push_back(std::move(*facts));
      continue;
    }
    if (!has_handlers(*mappings)) continue;
    const pid_t tracer = tracing_process(pid);
    auto session = std::ranges::find(found.sessions, tracer, [](const RunningSession& each) { return each.process.pid; });
    if (session != found.sessions.end()) {
      session->processes.push_back(std::move(*facts));
      continue;
    }
    const auto of_tracer = tracer ? facts_of(tracer) : std::nullopt;
    found.others.push_back({std::move(*facts), tracer, of_tracer ? of_tracer->uid : 0});
  }
}

}  // namespace

std::optional<ProcessFacts> facts_of(pid_t pid) {
  const ProcessStatus status = ProcessStatus::read(pid);
  const std::string user = status.field("Uid");
  if (user.empty()) return std::nullopt;
  std::istringstream ids(user);
  uint64_t real = 0, effective = 0;
  ids >> real >> effective;
  return ProcessFacts{pid, static_cast<uid_t>(effective), process_name(pid)};
}

ArmedNow find_armed() {
  ArmedNow found;
  for (const std::string& name : socket_names()) {
    auto answer = ask(name);
    const bool known = answer && std::ranges::any_of(found.sessions, [&](const RunningSession& session) {
                         return session.process.pid == answer->pid;
                       });
    if (answer && !known) found.sessions.push_back(session_of(std::move(*answer)));
  }
  std::ranges::sort(found.sessions, {}, [](const RunningSession& session) { return session.process.pid; });
  look_at_processes(found);
  found.left_in_kernel = left_in_kernel();
  return found;
}

}  // namespace spile::session
