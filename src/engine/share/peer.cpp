#include "engine/share/peer.h"

#include <errno.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <sstream>

#include "engine/process/process_status.h"

namespace spile::engine {
namespace {

constexpr int kPeerPidfd = 77;                        // SO_PEERPIDFD
constexpr uint64_t kMayTraceAll = uint64_t{1} << 19;  // CAP_SYS_PTRACE

uint64_t capabilities(const ProcessStatus& status, std::string_view name) {
  return strtoull(status.field(name).c_str(), nullptr, 16);
}

// Parses "1000 1000 1000 1000": the real, effective, saved and file system id. Empty: not all are the same.
std::optional<uint64_t> only_id(const ProcessStatus& status, std::string_view name) {
  std::istringstream ids(status.field(name));
  uint64_t first = 0, each = 0;
  if (!(ids >> first)) return {};
  while (ids >> each) {
    if (each != first) return {};
  }
  return first;
}

std::optional<ino_t> user_namespace(const std::string& process) {
  struct stat status{};
  if (stat(fmt::format("/proc/{}/ns/user", process).c_str(), &status) != 0) return {};
  return status.st_ino;
}

// Only root can look at the namespaces of all processes. One that can't be seen counts as ours.
bool is_in_our_namespace(pid_t pid) {
  auto theirs = user_namespace(std::to_string(pid)), ours = user_namespace("self");
  if (!theirs || !ours) return geteuid() != 0;
  return *theirs == *ours;
}

// A process that is not dumpable belongs to root in /proc.
bool is_dumpable(pid_t pid, uint64_t user) {
  struct stat status{};
  return stat(fmt::format("/proc/{}", pid).c_str(), &status) == 0 && status.st_uid == user;
}

bool restricts_relations() {
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  return file >> scope && scope != 0;
}

}  // namespace

Result<Peer> Peer::of(int socket) {
  Peer peer;
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return Error::from_errno("SO_PEERCRED", errno);
  // 0: the peer is in a pid namespace that we can't see.
  if (credentials.pid <= 0) return Error{"the other end of the socket is not a process visible here", ""};
  peer.pid_ = credentials.pid;
  peer.uid_ = credentials.uid;
  int process = -1;
  size = sizeof process;
  if (getsockopt(socket, SOL_SOCKET, kPeerPidfd, &process, &size) == 0) peer.process_ = UniqueFd(process);
  return peer;
}

bool Peer::is_alive() const {
  return !process_ || syscall(SYS_pidfd_send_signal, process_.get(), 0, nullptr, 0) == 0 || errno == EPERM;
}

bool Peer::is_ours() const { return (uid_ == 0 || uid_ == geteuid()) && is_in_our_namespace(pid_) && is_alive(); }

bool Peer::may_trace(pid_t pid) const {
  if (!is_in_our_namespace(pid_)) return false;
  ProcessStatus mine = ProcessStatus::read(pid_), target = ProcessStatus::read(pid);
  if (!is_alive() || target.field("Uid").empty()) return false;
  if (capabilities(mine, "CapEff") & kMayTraceAll) return true;
  auto user = only_id(mine, "Uid"), group = only_id(mine, "Gid");
  bool same = user && group && *user == uid_ && only_id(target, "Uid") == user && only_id(target, "Gid") == group;
  bool less = (capabilities(target, "CapPrm") & ~capabilities(mine, "CapPrm")) == 0;
  return same && less && is_in_our_namespace(pid) && is_dumpable(pid, uid_) && !restricts_relations();
}

}  // namespace spile::engine
