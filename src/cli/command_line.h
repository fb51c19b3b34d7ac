#pragma once
// SystemTap's command line, read into session::Options.

#include <optional>

#include "session/terms/options.h"
#include "verbs/tracing/report.h"

namespace spile::cli {

// The outcome of reading the command line. If `leave` is null, the caller runs the options. Else the caller exits with this
// status: an error has been printed, or what was asked for (--help, --merge, -i ...) has been done.
struct CommandLine {
  session::Options options;
  std::optional<int> leave;
  std::optional<verbs::RunPage> page = {};  // to finish when the options have run
};
// Reads the options of the rc file (rc_file.h), then those of the command line, and checks that they go together.
// Does what is not the run of a script: -i and --language-server return here when they end. Thread rule: one thread, as it uses
// getopt_long(3).
CommandLine read_command_line(int argc, char** argv);

}  // namespace spile::cli
