// spile's entry: command line in, exit status out.

#include "base/print.h"
#include "cli/command_line.h"
#include "session/invocation/signals.h"

int main(int argc, char** argv) {
  spile::open_standard_descriptors();
  spile::session::Signals::keep_interrupt();
  spile::cli::CommandLine line = spile::cli::read_command_line(argc, argv);
  int status = line.leave ? *line.leave : spile::session::run(line.options);
  if (line.page) status = line.page->finish(status);
  return spile::finish_standard_output(status);
}
