#pragma once
// Finds out whether a traced process may do what spile itself may do. If it may not, spile must not act for it, whatever handlers
// in the process ask for (docs/security.md).

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace spile::session {

// Returns why a process is not trusted ("process 4711 belongs to user 33"), or "": it runs as spile's user, with all capabilities
// that spile has, in its user namespace, and under no seccomp filter that spile is not under; or it is gone.
std::string why_untrusted(pid_t process);

// Returns two of the processes that belong to different users, as "process 10 of user 0 and process 12 of user 33"; "": the first
// 256 belong to one user. users: receives the two users, the smaller first; may be null.
std::string different_users(std::span<const pid_t> processes, std::pair<uint64_t, uint64_t>* users = nullptr);

// Finds out whether processes could be trusted until they ended. Each is looked at where it stands still at its end. A process
// that ended without such a stop (by SIGKILL), or that spile has released, could have given up its rights meanwhile. Thread rule:
// one thread.
class LastLooks {
 public:
  // Looks at a process that stands still at its end.
  void at_end(pid_t process);
  // Forgets the look at a process that has executed a program since, which may have changed its user.
  void after_exec(pid_t process) { looked_.erase(process); }
  // Notes that a process is gone, or that spile has released it: without a look at its end, it could not be trusted.
  void after_end(pid_t process);
  void after_release(pid_t process);
  // Returns the reason of the first process that could not be trusted, or "".
  const std::string& why_untrusted() const { return why_untrusted_; }

 private:
  std::set<pid_t> looked_;
  std::string why_untrusted_;
};

}  // namespace spile::session
