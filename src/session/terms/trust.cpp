#include "session/terms/trust.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "base/files/file.h"
#include "base/processes/proc.h"

namespace spile::session {

namespace {

struct Rights {
  std::array<uint64_t, 4> users{};  // real, effective, saved, of the file system (proc_pid_status(5))
  uint64_t capabilities = 0;        // permitted
  uint64_t filters = 0;
  std::string user_namespace;
};

// folder: of the process in /proc.
std::optional<Rights> rights_in(const std::string& folder, const ProcessStatus& status) {
  Rights rights;
  std::istringstream users(status.field("Uid"));
  for (uint64_t& user : rights.users) users >> user;
  if (users.fail()) return std::nullopt;  // the process has ended
  std::istringstream(status.field("CapPrm")) >> std::hex >> rights.capabilities;
  std::istringstream(status.field("Seccomp_filters")) >> rights.filters;
  rights.user_namespace = read_link(folder + "/ns/user");
  return rights;
}

std::optional<Rights> rights_of(pid_t process) {
  return rights_in(fmt::format("/proc/{}", process), ProcessStatus::read(process));
}

std::optional<Rights> own_rights() { return rights_in("/proc/self", ProcessStatus::of_self()); }

}  // namespace

std::string why_untrusted(pid_t process) {
  std::optional<Rights> its = rights_of(process), ours = own_rights();
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

std::string different_users(std::span<const pid_t> processes, std::pair<uint64_t, uint64_t>* users) {
  constexpr size_t kMostLooks = 256;
  pid_t first = 0;
  uint64_t user = 0;
  for (pid_t process : processes.subspan(0, std::min(processes.size(), kMostLooks))) {
    std::optional<Rights> rights = rights_of(process);
    if (!rights) continue;
    for (uint64_t each : rights->users) {
      if (first == 0) {
        first = process;
        user = each;
      } else if (first != process && each != user) {
        if (users) *users = std::minmax({user, each});
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
