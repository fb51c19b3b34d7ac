#include "session/live/end_conditions.h"

#include <fmt/format.h>

#include <atomic>

#include "base/messages.h"

namespace spile::session {

// Handlers stop by themselves after more errors than MAXERRORS, also where the record of an error was lost.
bool EndConditions::failed() const {
  const auto most = static_cast<uint64_t>(parts_.program.limits.max_errors);
  if (parts_.kernel && parts_.kernel->errors() > most) return true;
  if (const auto* header = parts_.arena.kernel_header(); header && __atomic_load_n(&header->errors, __ATOMIC_RELAXED) > most)
    return true;
  if (parts_.output.errors().count() > most || gave_up_ || parts_.controller.failure()) return true;
  if (parts_.target && parts_.target->handler_failed()) return true;
  // Any traced process can write this word: it counts where the script's handlers there can.
  const bool may_fail =
      parts_.script.target_records & (abi::record_kind_bit(abi::kError) | abi::record_kind_bit(abi::kErrorText));
  return may_fail && std::atomic_ref<uint32_t>(parts_.arena.header().errors).load() > most;
}

bool EndConditions::exit_requested() const {
  if (parts_.kernel && parts_.kernel->exit_requested()) return true;
  if (const auto* header = parts_.arena.kernel_header();
      header && __atomic_load_n(&header->exit_requested, __ATOMIC_RELAXED) != 0)
    return true;
  if (parts_.output.actions().exit_requested()) return true;
  // Any traced process can write this word: it counts where the script's handlers there can.
  return parts_.script.target_records & abi::record_kind_bit(abi::kExit) &&
         std::atomic_ref<uint32_t>(parts_.arena.header().exit_requested).load() != 0;
}

void EndConditions::check_skips(const Skips& skips) {
  const uint64_t skipped = skips.skipped_probes();
  const int64_t most = parts_.program.limits.max_skipped;
  if (most <= 0 || skipped <= static_cast<uint64_t>(most)) return;
  fail(fmt::format("Skipped too many probes ({}), check MAXSKIPPED (-DMAXSKIPPED=0 to allow any number).", skipped));
  gave_up_ = true;
}

}  // namespace spile::session
