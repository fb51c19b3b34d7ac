// spile-run: runs bundles (session/bundle/bundle.h), and has neither compiler nor library of scripts. --remote sends it along,
// where a whole spile would be too much.

#include "base/messages.h"
#include "base/print.h"
#include "base/text/terminal_text.h"
#include "cli/read_options.h"
#include "session/bundle/bundle_run.h"
#include "session/live/run_pass.h"

namespace {

using namespace spile;

Result<int> run(int argc, char** argv) {
  cli::Reading reading;
  TRY(const std::vector<std::string> words, cli::apply_options({argv, argv + argc}, reading));
  if (reading.no_process) return *reading.no_process;
  const session::Options& options = reading.options;
  if (reading.help || words.size() != 1 || options.script.text || options.listing.what != session::Listing::kNone) {
    return Error{"spile-run runs one bundle, which spile -p4 -o FILE has written",
                 "spile-run FILE [-x PID | -c COMMAND] [-o OUTPUT] [-T SECONDS] [-v]"};
  }
  show_warnings(!options.messages.suppress_warnings);
  return session::run_bundle(words.front(), options, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_descriptors();
  int status = 1;
  {
    TerminalGuard guard;
    Result<int> outcome = run(argc, argv);
    status = outcome.ok() ? *outcome : session::print_error(outcome.error());
  }
  return finish_standard_output(status);
}
