#pragma once
// spile -i: a script is built line by line, listed, edited, and run as often as wanted. Declarations are added to the
// script; a statement runs at once, with the script's functions and globals. Commands: help.
//
// Each run is a process of its own, so that Ctrl-C ends the run and not the script.

#include "session/options.h"

namespace spile::editor {

// Until `quit` or the end of the input; the exit status. The options are those of every run; a script file or text
// given with them is what the script begins with.
int run_interactive(const session::Options& options);

}  // namespace spile::editor
