#pragma once
// Prints the "Pass N: ..." lines of -v in SystemTap's words: what the pass did, the process's memory (KiB), and the time since
// the constructor (ms).

#include <cstdint>
#include <string>

namespace spile::session {

class PassTimer {
 public:
  // Starts the clock. verbosity 0: nothing is printed.
  PassTimer(int pass, int verbosity);
  // Prints the line on standard error. what: "parsed user script and 12 library scripts"
  void done(const std::string& what) const;

 private:
  int pass_;
  int verbosity_;
  int64_t real_us_, user_us_, system_us_;
};

}  // namespace spile::session
