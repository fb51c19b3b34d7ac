#pragma once
// Pass 5 as session.cpp calls it, of a script that was just compiled or of a bundle. Nothing here needs the compiler.

#include <functional>

#include "base/result.h"
#include "session/live/script_run.h"
#include "session/terms/options.h"

namespace spile::session {

inline constexpr int kRunPass = 5;

// Pass 5: runs the script, in the background with -F. Calls `armed` when the probes are armed, with -F before. Returns the exit
// status, and has printed the errors of the run itself. With -F returns once probes are armed, or the run has failed. Errors: no
// process can be made for the background.
Result<int> run_program(
    const RunInput& input, const TargetOptions& target, const OutputOptions& output, const MessageOptions& messages,
    const std::function<void()>& armed = [] {});

// Prints an error of the world on standard error; returns the exit status, 1. verb: what made the script, whose arrays are not
// for its user to change.
int print_error(const Error& error, const ScriptOfVerb& verb = {});

}  // namespace spile::session
