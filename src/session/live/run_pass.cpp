#include "session/live/run_pass.h"

#include "base/messages.h"
#include "session/invocation/pass_timer.h"
#include "session/live/flight_recorder.h"

namespace spile::session {

namespace {

int run_here(const RunInput& input, const TargetOptions& target, const OutputOptions& output, const MessageOptions& messages,
             const std::function<void()>& started) {
  if (messages.verbosity() > 0) note("Pass 5: starting run.");
  PassTimer timer(kRunPass, messages.verbosity());
  Result<int> status = run_script(input, target, output, messages, started);
  timer.done("run completed");
  int result = status.ok() ? *status : print_error(status.error(), messages.verb);
  if (result != 0) note("Pass 5: run failed.");
  return result;
}

}  // namespace

int print_error(const Error& error, const ScriptOfVerb& verb) {
  const bool is_of_arrays = error.hint.find("arrays") != std::string::npos;
  Error printed = error;
  if (verb.is_set() && is_of_arrays) printed.hint = verb.when_large;
  return refuse(printed);
}

Result<int> run_program(const RunInput& input, const TargetOptions& target, const OutputOptions& output,
                        const MessageOptions& messages, const std::function<void()>& armed) {
  if (!output.flight_recorder) return run_here(input, target, output, messages, armed);
  armed();
  return run_in_background([&](std::function<void()> started) { return run_here(input, target, output, messages, started); });
}

}  // namespace spile::session
