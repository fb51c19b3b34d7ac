#pragma once
// What a run needs to walk stacks and to name addresses, in processes and in the kernel: made as the script asks for it. Thread
// rule: one thread.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "sema/terms/program.h"
#include "session/arena/arena_view.h"
#include "session/arena/controller.h"
#include "session/output/address_names.h"
#include "session/places/target_side.h"
#include "session/stacks/kernel_stacks.h"
#include "session/stacks/process_stacks.h"
#include "session/stacks/user_stacks.h"

namespace spile::session {

class RunStacks {
 public:
  // All must outlive this. target: null: no process is traced.
  RunStacks(const sema::Program& program, const codegen::CompiledScript& script, ArenaView& arena, TargetSide* target)
      : program_(program), script_(script), arena_(arena), target_(target) {}

  // Fills tables of stacks, and has `names` name addresses by them. Errors: the kernel's symbols can't be read. REQUIRES: called
  // before TargetSide::acquire().
  Result<void> make_tables(AddressNames& names);
  // Prepares for handlers in the kernel that ask for stacks of processes; does nothing for a script without such. controller must
  // outlive this. REQUIRES: called after make_tables(), and before TargetSide::acquire().
  void walk_in_kernel(Controller& controller, AddressNames& names);

  // Looks whether modules of the kernel have come or gone (KernelStacks::renew).
  void renew_kernel() { kernel_stacks_.renew(); }

  // Returns the object that follows processes for walk_in_kernel(); null: it is not needed.
  ProcessStacks* of_processes() { return process_stacks_.get(); }
  // Returns warnings about stacks and names that are not whole.
  std::vector<std::string> losses() const;

 private:
  std::span<uint8_t> own_arena() const;

  const sema::Program& program_;
  const codegen::CompiledScript& script_;
  ArenaView& arena_;
  TargetSide* const target_;
  KernelStacks kernel_stacks_;
  std::unique_ptr<UserStacks> user_stacks_;  // without a target_, which has its own
  std::unique_ptr<ProcessStacks> process_stacks_;
};

}  // namespace spile::session
