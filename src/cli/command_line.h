#pragma once
// SystemTap's command line, read into session::Options.

#include <optional>

#include "session/options.h"

namespace spile::cli {

// The outcome of reading the command line: run with these options, or exit at once with this status (--help, --version, an error
// that has been reported, or something else that was asked for and has been done).
struct CommandLine {
  session::Options options;
  std::optional<int> leave;
};
// Options in the file $SPILE_DIR/rc (~/.spile/rc) are read first.
CommandLine read_command_line(int argc, char** argv);

}  // namespace spile::cli
