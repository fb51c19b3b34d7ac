#pragma once
// The functions that native images export: handlers of traced processes, and spile's own.

#include <string>
#include <vector>

#include "codegen/module/unit.h"

namespace spile::codegen {

// Names of a site group's exported functions; exit is empty where the group has no return probes.
struct TargetHandler {
  std::string enter, exit, entry;  // as in ImageEntry
  uint32_t flags = 0;              // abi::SiteFlags
};

// Lowers the handlers of all site groups, and exports them; returns their names, by index into Program::site_groups. Also exports
// the functions that codegen::TargetCode names: "unwind", "walked", "landing", "caught", "step.enter" and "step.exit" always;
// "keep_entry" where functions have to keep registers; "call_enter" where returns of system calls are probed and their entries
// are not.
std::vector<TargetHandler> lower_target_handlers(Unit& unit);

// Returns the abi::SiteFlags of "keep_entry"; without a meaning where no function keeps registers.
uint32_t keep_entry_flags(const sema::Program& program);

// Exports what codegen::ControllerCode names: "init", "merge", "global_clear", "global_put", "global_add", "global_next",
// "probe.N" for every controller probe, and "condition.N" for every other one that the controller switches.
void lower_controller(Unit& unit);

// Loads the i64 at `offset` bytes of `registers`, an abi::Registers* (abi::register_offset()).
llvm::Value* load_register(llvm::IRBuilder<>& builder, llvm::Value* registers, size_t offset);
// Returns the bytes that a return probe's entry values take behind a ShadowFrame.
uint32_t save_bytes(const Layout& layout, const sema::Probe& probe);

}  // namespace spile::codegen
