#include "session/live/trust_watch.h"

#include <fmt/format.h>

#include "base/messages.h"
#include "session/terms/trust.h"

namespace spile::session {

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
  const std::string who = different_users(target_->processes());
  if (who.empty()) return;
  warned_of_users_ = true;
  warn(
      fmt::format("{} share memory while spile traces both: an attacker who controls one of them can use it to take over the "
                  "other. To prevent that, end spile, and trace the processes of each user with a separate spile (-x PID)",
                  who));
}

}  // namespace spile::session
