#include "session/output/handler_actions.h"

#include <fmt/format.h>

#include "base/clock.h"

namespace spile::session {

void HandlerActions::take(const Record& record) {
  switch (record.header.kind) {
    case abi::kSystem: return run_command(record);
    case abi::kSwitchFile:
      if (record.origin != Record::Origin::kTarget || may_switch_file()) file_.next_file();
      return;
    case abi::kExit: return request_exit();
    default: return;
  }
}

// Limits how often processes can switch files, since each switch may make a file.
bool HandlerActions::may_switch_file() {
  const int64_t now = monotonic_ns() / 1'000'000'000;
  if (switches_ == 0) first_switch_ = now;
  const uint64_t allowed = kSwitchesAtOnce + kSwitchesPerSecond * static_cast<uint64_t>(now - first_switch_);
  if (switches_ >= allowed) return errors_.count_ignored_action(), false;
  return ++switches_, true;
}

void HandlerActions::run_command(const Record& record) {
  const bool is_made = record.header.id == abi::kCommandText;
  if (is_made && record.origin == Record::Origin::kTarget) {
    if (script_.commands.made_at.empty()) return errors_.count_disbelieved();
    if (std::string why = why_untrusted_ ? why_untrusted_() : std::string(); !why.empty()) {
      return errors_.raise(
          fmt::format("system() at {}: the command is computed in a handler that runs in a process, and {}: that process could "
                      "have any command run.  "
                      "Use a literal command, or call system() in a begin, end or timer probe; -g allows it anyway",
                      script_.commands.made_at, why));
    }
  } else if (!is_made && record.header.id >= script_.commands.texts.size()) {
    return errors_.count_disbelieved();
  }
  file_.flush();
  const std::string command =
      is_made ? std::string(record.text_argument(script_.string_limit)) : script_.commands.texts[record.header.id];
  if (!commands_.run(command)) errors_.count_ignored_action();
}

}  // namespace spile::session
