// spile's entry: command line in, exit status out.

#include "cli/command_line.h"

int main(int argc, char** argv) {
  spile::cli::CommandLine line = spile::cli::read_command_line(argc, argv);
  if (line.leave) return *line.leave;
  return spile::session::run(line.options);
}
