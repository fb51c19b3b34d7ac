#include "base/text/terminal_control.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace spile {

bool obeys_control_sequences(int descriptor) {
  const char* terminal = getenv("TERM");
  return isatty(descriptor) == 1 && !(terminal && std::string_view(terminal) == "dumb");
}

}  // namespace spile
