#pragma once
// Makes a verb's output of what its script prints: takes the script's printf records, rather than their text, in order of time.
// Thread rule: one thread.
//
// Records of traced processes may be forged (docs/security.md): a presenter must expect any arguments, in any order and number,
// and keep what it remembers within bounds. It makes control characters in texts harmless; Output does the same once more where a
// terminal is behind it.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runs/text/printf_text.h"

namespace spile::runs {

class RecentCalls;  // timeline/recent_calls.h

class Presenter {
 public:
  virtual ~Presenter() = default;
  // Takes a printf. head: the literal text that its format begins with, up to the first conversion. Appends to `out` what is to
  // be printed now.
  virtual void take(std::string_view head, PayloadReader& arguments, std::string& out) = 0;
  // Appends the rest. No take() follows.
  virtual void finish(std::string& out) = 0;
  // Returns warnings about what is not in the output. REQUIRES: finish() has been called.
  virtual std::vector<std::string> losses() const = 0;
  // Returns a descriptor that becomes readable when the user types, for take_input(); -1: nothing is read.
  virtual int input() const { return -1; }
  virtual void take_input() {}
  // Takes how many hits, returns, records and elements have been skipped or lost so far, several times a second.
  virtual void note_losses(uint64_t) {}
  // Gives it the calls that handlers note; valid until finish(). Not called where the script notes none.
  virtual void use_calls(RecentCalls&) {}
  // Returns whether it waits for SIGUSR1, for take_signal().
  virtual bool takes_signal() const { return false; }
  virtual void take_signal() {}
  // Probes are about to be removed. Not called where the run has failed before.
  virtual void before_end() {}
  // Returns whether the run is to end, as it has what it was for.
  virtual bool has_all() const { return false; }
};

}  // namespace spile::runs
