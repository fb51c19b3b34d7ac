#include "session/trust.h"

#include <fmt/format.h>
#include <unistd.h>

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
  if (!has_users) return std::nullopt;  // it has gone meanwhile
  return rights;
}

}  // namespace

std::string why_untrusted(pid_t process) {
  std::optional<Rights> its = rights_of(std::to_string(process)), ours = rights_of("self");
  if (!its) return {};
  if (!ours) return "spile can't read /proc/self/status to learn what it may do itself";
  for (uint64_t user : its->users) {
    if (user != geteuid()) return fmt::format("process {} belongs to user {}", process, user);
  }
  if (ours->capabilities & ~its->capabilities) return fmt::format("process {} has fewer capabilities than spile", process);
  if (its->filters > ours->filters) return fmt::format("process {} runs under a seccomp filter", process);
  if (its->user_namespace != ours->user_namespace) return fmt::format("process {} runs in another user namespace", process);
  return {};
}

}  // namespace spile::session
