#pragma once
// What handlers ask spile to do: system(), which runs a command in a shell, switch_file() (-S), exit(). Thread rule: one thread.
//
// A shell command of a traced process runs if the script spells it out, or if the processes are trusted with its text
// (docs/security.md). What processes could repeat without end is limited.

#include <cstdint>
#include <functional>
#include <string>

#include "codegen/codegen.h"
#include "runs/text/output_file.h"
#include "session/output/handler_errors.h"
#include "session/output/record_sink.h"
#include "session/output/shell_commands.h"

namespace spile::session {

class HandlerActions {
 public:
  // All must outlive this. errors: gets commands that can't be trusted as errors, and counts what is ignored.
  HandlerActions(const codegen::CompiledScript& script, runs::OutputFile& file, HandlerErrors& errors)
      : script_(script), file_(file), errors_(errors) {}

  // Sets the function that is called before a command is run whose text comes from a traced process. why_not returns "" to run
  // it, or why the processes are not trusted: a clause for an error message, such as "process 10 belongs to user 33". Without it,
  // all are trusted.
  void trust_processes_by(std::function<std::string()> why_not) { why_untrusted_ = std::move(why_not); }

  // Does what a record of kind kSystem, kSwitchFile or kExit asks for.
  void take(const Record& record);

  // Makes exit_requested() true, as a record of exit() does.
  void request_exit() { exit_requested_ = true; }
  bool exit_requested() const { return exit_requested_; }
  // Waits until all commands have ended, or until interrupt_fd is readable; -1: waits without limit.
  void wait_for_commands(int interrupt_fd) { commands_.wait_all(interrupt_fd); }

 private:
  static constexpr uint64_t kSwitchesAtOnce = 100, kSwitchesPerSecond = 10;  // of files, by processes

  void run_command(const Record& record);
  bool may_switch_file();

  const codegen::CompiledScript& script_;
  runs::OutputFile& file_;
  HandlerErrors& errors_;
  ShellCommands commands_;
  std::function<std::string()> why_untrusted_;
  uint64_t switches_ = 0;     // by processes
  int64_t first_switch_ = 0;  // seconds of CLOCK_MONOTONIC
  bool exit_requested_ = false;
};

}  // namespace spile::session
