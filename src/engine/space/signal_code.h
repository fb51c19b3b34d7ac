#pragma once
// Code of ours in an address space that handles signals in case that this spile is killed: SIGTRAP at breakpoints
// (breakpoints.h), SIGSEGV and SIGBUS in handlers (fault_guard.h). Belongs to the engine's thread.

#include "engine/process/known_actions.h"

namespace spile::engine {

class SignalCode {
 public:
  // Returns the run-time address of the table of breakpoints, by which the code for SIGTRAP finds where a thread goes on: entries
  // of 16 bytes, {address behind the breakpoint, where to go on}, in one of the regions. 0: the process has no code for SIGTRAP.
  Address breakpoint_table() const { return breakpoint_table_; }
  bool handles_breakpoints() const { return breakpoint_table_ != Address(); }
  uint64_t breakpoint_count() const { return breakpoint_count_; }
  Address breakpoint_entry(uint64_t index) const { return breakpoint_table_ + static_cast<int64_t>(index * kEntrySize); }
  // Records that the code for SIGTRAP has been written, with an empty table.
  void set_breakpoint_table(Address table) {
    breakpoint_table_ = table;
    breakpoint_count_ = 0;
  }
  // Counts one more entry. Returns its run-time address, where the caller writes it. REQUIRES: the table has room.
  Address add_breakpoint() { return breakpoint_entry(breakpoint_count_++); }

  // Returns the action for SIGSEGV and SIGBUS, whose code has been written. REQUIRES: handles_faults().
  const SignalAction& fault_action() const { return fault_action_; }
  bool handles_faults() const { return fault_action_.handler != 0; }
  void set_fault_action(const SignalAction& action) { fault_action_ = action; }

 private:
  static constexpr uint64_t kEntrySize = 16;

  Address breakpoint_table_;
  uint64_t breakpoint_count_ = 0;
  SignalAction fault_action_{};
};

}  // namespace spile::engine
