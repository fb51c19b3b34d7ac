#include "session/stack_walkers.h"

namespace spile::session {

// V8: what generated code calls is C++, and the newest frame's pc is the word above that function's frame
// (src/execution/frames.cc, ExitFrame::FillState); its builtins lie in the text of the program. C libraries in the same
// file (libuv, OpenSSL) are called by C++ only.
// HotSpot: the same word, where generated code has not stored the pc (JavaFrameAnchor::make_walkable, frame_x86.cpp).
std::string walked_by(const std::string& module_path, const std::string& function) {
  for (const char* prefix : {"v8::", "node::", "Builtins_"}) {
    if (function.starts_with(prefix)) return "V8 finds frames by their return addresses";
  }
  if (module_path.ends_with("/libjvm.so")) return "the Java virtual machine finds frames by their return addresses";
  return "";
}

}  // namespace spile::session
