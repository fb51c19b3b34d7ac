#include "session/live/trust_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <utility>

#include "base/messages.h"
#include "base/unique_fd.h"
#include "session/terms/trust.h"

namespace spile::session {

namespace {

// Whether this user has not been warned of the two users before, as a file of the cache has it. Without a cache: always.
bool is_first_warning(const std::pair<uint64_t, uint64_t>& users) {
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  std::string folder;
  if (cache && cache[0] == '/') folder = std::string(cache) + "/spile";
  else if (home && home[0] == '/') folder = std::string(home) + "/.cache/spile";
  if (folder.empty() || getenv("SPILE_NO_CACHE")) return true;
  const std::string path = folder + "/warned-of-users", line = fmt::format("{} {}\n", users.first, users.second);
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  struct stat info{};
  if (!file || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return true;
  constexpr size_t kLongest = 65'536;
  std::string known(kLongest, '\0');
  const ssize_t size = ::pread(file.get(), known.data(), kLongest, 0);
  known.resize(size > 0 ? static_cast<size_t>(size) : 0);
  if (("\n" + known).find("\n" + line) != known.npos) return false;
  // What can't be written down is said again.
  if (known.size() + line.size() < kLongest) (void)!::write(file.get(), line.data(), line.size());
  return true;
}

}  // namespace

TrustWatch::TrustWatch(const sema::Program& program, const codegen::CompiledScript& script, TargetSide* target)
    : target_(target),
      judges_commands_(!script.commands.made_at.empty() && !program.guru),
      shares_memory_(!script.target.image.bytes.empty()) {}

const std::string& TrustWatch::why_untrusted() {
  if (!target_) return why_untrusted_;
  if (why_untrusted_.empty()) why_untrusted_ = target_->why_ended_untrusted();
  for (pid_t pid : target_->processes()) {
    if (why_untrusted_.empty()) why_untrusted_ = session::why_untrusted(pid);
  }
  return why_untrusted_;
}

void TrustWatch::look() {
  if (judges_commands_ && why_untrusted_.empty()) why_untrusted();
}

// An attacker who controls one of the processes can write to the arena what handlers in another one read.
void TrustWatch::warn_of_users(int64_t now) {
  constexpr int64_t kOftenNs = 1'000'000'000;
  if (now < next_look_at_users_ || warned_of_users_ || !shares_memory_ || !target_) return;
  next_look_at_users_ = now + kOftenNs;
  std::pair<uint64_t, uint64_t> users;
  const std::string who = different_users(target_->processes(), &users);
  if (who.empty()) return;
  warned_of_users_ = true;
  if (!is_first_warning(users)) return;
  warn(
      fmt::format("{} share memory while spile traces both: an attacker who controls one of them can use it to take over the "
                  "other. To prevent that, end spile, and trace the processes of each user with a separate spile (-x PID)",
                  who));
}

}  // namespace spile::session
