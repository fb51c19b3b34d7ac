#pragma once
// Whether a traced process may do what spile itself may do. Where it may not, whatever handlers in it say must not make spile
// do anything for it (docs/security.md).

#include <set>
#include <span>
#include <string>

#include <sys/types.h>

namespace spile::session {

// Empty: the process is gone, or it runs as the user that spile runs as, with all capabilities that spile has, in its user
// namespace, and under no seccomp filter that spile is not under. Otherwise why not: "process 4711 belongs to user 33".
std::string why_untrusted(pid_t process);

// Two of them that belong to different users, as "process 10 of user 0 and process 12 of user 33"; empty: there are none among the first 256.
std::string different_users(std::span<const pid_t> processes);

// Whether processes could be trusted until they ended: a last look is taken where each stands at its end. One that ended
// without (by SIGKILL), or that spile traces no more, could have given up its rights meanwhile.
class LastLooks {
 public:
  void at_end(pid_t process);
  void after_exec(pid_t process) { looked_.erase(process); }
  void after_end(pid_t process);
  void after_release(pid_t process);
  // Of the first that could not be trusted, or empty.
  const std::string& why_untrusted() const { return why_untrusted_; }

 private:
  std::set<pid_t> looked_;
  std::string why_untrusted_;
};

}  // namespace spile::session
