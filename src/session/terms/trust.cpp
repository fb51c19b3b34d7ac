#include "session/terms/trust.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <fstream>
#include <optional>
#include <sstream>

namespace spile::session {

namespace {

struct Rights {
  std::array<uint64_t, 4> users{};  // real, effective, saved, of the file system (proc_pid_status(5))
  uint64_t capabilities = 0;        // permitted
  uint64_t filters = 0;
  std::string user_namespace;
};

std::optional<Rights> rights_of(const std::string& process) {
  std::ifstream status("/proc/" + process + "/status");
  if (!status) return std::nullopt;
  Rights rights;
  bool has_users = false;
  for (std::string line; std::getline(status, line);) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    if (name == "Uid:") {
      for (uint64_t& user : rights.users) fields >> user;
      has_users = !fields.fail();
    } else if (name == "CapPrm:") {
      fields >> std::hex >> rights.capabilities;
    } else if (name == "Seccomp_filters:") {
      fields >> rights.filters;
    }
  }
  char text[PATH_MAX];
  ssize_t length = readlink(("/proc/" + process + "/ns/user").c_str(), text, sizeof text);
  if (length > 0) rights.user_namespace.assign(text, static_cast<size_t>(length));
  if (!has_users) return std::nullopt;  // the process has ended meanwhile
  return rights;
}

}  // namespace

std::string why_untrusted(pid_t process) {
  std::optional<Rights> its = rights_of(std::to_string(process)), ours = rights_of("self");
  if (!its) return {};
  if (!ours) return "spile can't read /proc/self/status to learn its own privileges";
  for (uint64_t user : its->users) {
    if (user != geteuid()) return fmt::format("process {} belongs to user {}", process, user);
  }
  if (ours->capabilities & ~its->capabilities) return fmt::format("process {} has fewer capabilities than spile", process);
  if (its->filters > ours->filters) return fmt::format("process {} runs under a seccomp filter", process);
  if (its->user_namespace != ours->user_namespace) return fmt::format("process {} runs in another user namespace", process);
  return {};
}

std::string different_users(std::span<const pid_t> processes) {
  constexpr size_t kMostLooks = 256;
  pid_t first = 0;
  uint64_t user = 0;
  for (pid_t process : processes.subspan(0, std::min(processes.size(), kMostLooks))) {
    std::optional<Rights> rights = rights_of(std::to_string(process));
    if (!rights) continue;
    for (uint64_t each : rights->users) {
      if (first == 0) {
        first = process;
        user = each;
      } else if (first != process && each != user) {
        return fmt::format("process {} of user {} and process {} of user {}", first, user, process, each);
      }
    }
  }
  return {};
}

void LastLooks::at_end(pid_t process) {
  if (why_untrusted_.empty()) why_untrusted_ = session::why_untrusted(process);
  looked_.insert(process);
}

void LastLooks::after_end(pid_t process) {
  if (looked_.erase(process) == 0 && why_untrusted_.empty()) {
    why_untrusted_ = fmt::format("process {} has ended before spile could look at its user", process);
  }
}

void LastLooks::after_release(pid_t process) {
  if (why_untrusted_.empty()) why_untrusted_ = fmt::format("process {} was released, and may have changed its user", process);
}

}  // namespace spile::session
