#pragma once
// spile -i: the user writes a script line by line, lists, edits and runs it. Declarations are added to the script; a statement
// runs at once, with the script's functions and globals. The command `help` lists the commands.
//
// Each run is a process of its own, so that Ctrl-C ends the run and not the script. Thread rule: one thread, one call at a time.

#include "session/terms/options.h"

namespace spile::editor {

// Reads lines of standard input until `quit` or their end. Returns the exit status. options: of every run; their script file or
// text is the script to begin with.
int run_interactive(const session::Options& options);

}  // namespace spile::editor
