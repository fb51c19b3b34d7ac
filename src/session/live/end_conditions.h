#pragma once
// Whether handlers have ended the run: by exit(), or by errors. Thread rule: one thread.

#include "session/arena/skips.h"
#include "session/live/run_parts.h"

namespace spile::session {

class EndConditions {
 public:
  explicit EndConditions(const RunParts& parts) : parts_(parts) {}

  // Returns whether a handler, in any place, has called exit().
  bool exit_requested() const;
  // Returns whether there are more errors than MAXERRORS, or the run was given up.
  bool failed() const;
  // Gives the run up, with an error, after more skipped probes than MAXSKIPPED.
  void check_skips(const Skips& skips);

 private:
  const RunParts parts_;
  bool gave_up_ = false;
};

}  // namespace spile::session
