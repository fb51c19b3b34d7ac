#include "session/live/run_stacks.h"

#include <fmt/format.h>

namespace spile::session {

std::span<uint8_t> RunStacks::own_arena() const { return {reinterpret_cast<uint8_t*>(arena_.base()), script_.layout.size}; }

Result<void> RunStacks::make_tables(AddressNames& names) {
  const bool has_two = script_.layout.kernel_offset != 0;  // arenas
  const std::span<uint8_t> own = own_arena();
  const std::span<uint8_t> kernel =
      has_two ? std::span(own.data() + script_.layout.kernel_offset, script_.kernel.arena.size) : own;
  if (target_) {
    target_->make_stacks(own, has_two ? kernel : std::span<uint8_t>(), arena_.controller_state());
    names.name_processes_by(target_->stacks());
  }
  if (script_.kernel.object.empty()) return {};
  TRY_DO(kernel_stacks_.fill(kernel, has_two ? script_.kernel.arena : script_.layout, program_.needs));
  names.name_kernel_by(&kernel_stacks_);
  return {};
}

void RunStacks::walk_in_kernel(Controller& controller, AddressNames& names) {
  if (script_.layout.processes_offset == 0) return;
  UserStacks* stacks = target_ ? target_->stacks() : nullptr;
  if (!stacks) {
    user_stacks_ = std::make_unique<UserStacks>(own_arena(), std::span<uint8_t>(), script_.layout, program_.needs);
    names.name_processes_by(stacks = user_stacks_.get());
  }
  process_stacks_ =
      std::make_unique<ProcessStacks>(*stacks, arena_, controller, static_cast<uint32_t>(program_.limits.max_backtrace),
                                      script_.layout.kernel_offset != 0 ? target_->arena_fd() : -1);
  names.walk_stacks_by(process_stacks_.get());
  if (target_) target_->give_maps_to([this](pid_t pid, uint64_t map) { process_stacks_->take_map(pid, map); });
}

std::vector<std::string> RunStacks::losses() const {
  std::vector<std::string> warnings;
  if (const UserStacks* stacks = target_ ? target_->stacks() : user_stacks_.get()) warnings = stacks->losses();
  if (process_stacks_ && process_stacks_->cut_stacks() > 0) {
    warnings.push_back(
        fmt::format("{} user stacks in values were cut off: spile had not read yet what the process had mapped, or it ran code "
                    "that is in no file",
                    process_stacks_->cut_stacks()));
  }
  return warnings;
}

}  // namespace spile::session
