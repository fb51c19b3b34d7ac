#pragma once
// "Pass N: ..." lines of -v, worded as SystemTap does.

#include <cstdint>
#include <string>

namespace spile::session {

class PassTimer {
 public:
  PassTimer(int pass, int verbosity);
  // what: "parsed user script and 12 library scripts"
  void done(const std::string& what) const;

 private:
  int pass_;
  int verbosity_;
  int64_t real_us_, user_us_, system_us_;
};

}  // namespace spile::session
