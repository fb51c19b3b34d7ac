#pragma once
// Whether the traced processes are to be trusted: with the text of shell commands, and with the memory that they share while
// spile traces them (session/terms/trust.h, docs/security.md). Thread rule: one thread.

#include <cstdint>
#include <string>

#include "codegen/codegen.h"
#include "sema/terms/program.h"
#include "session/places/target_side.h"

namespace spile::session {

class TrustWatch {
 public:
  // All must outlive this. target: null: no process is traced.
  TrustWatch(const sema::Program& program, const codegen::CompiledScript& script, TargetSide* target);

  // Returns why a traced process was not to be trusted with a command's text, or "". A process may change its user, or end, so a
  // reason that was found once stays.
  const std::string& why_untrusted();
  // Remembers that a process had fewer rights than spile, for scripts in which processes make the text of commands: it may be
  // gone, or released, when its record is read.
  void look();
  // Warns, once for two users, where traced processes that share the arena belong to different users. Looks once a second.
  // now: of CLOCK_MONOTONIC, in ns.
  void warn_of_users(int64_t now);

 private:
  TargetSide* const target_;
  const bool judges_commands_;
  const bool shares_memory_;
  std::string why_untrusted_;  // the reason of the first process
  bool warned_of_users_ = false;
  int64_t next_look_at_users_ = 0;
};

}  // namespace spile::session
