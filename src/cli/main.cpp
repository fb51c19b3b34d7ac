// spile's entry: command line in, exit status out.

#include <unistd.h>

#include <new>
#include <string_view>

#include "base/print.h"
#include "cli/command_line.h"
#include "session/invocation/signals.h"

namespace {

// Traced processes are as after any other end of spile: they go on.
void end_without_memory() {
  static constexpr std::string_view kText =
      "spile: there is not enough memory\n"
      "  hint: if a limit holds for spile (ulimit -v, -d, --rlimit-as, memory.max of the cgroup), raise it\n";
  (void)!write(STDERR_FILENO, kText.data(), kText.size());
  _exit(1);
}
// Before LLVM's static objects are made.
[[gnu::constructor(101)]] void watch_memory() { std::set_new_handler(end_without_memory); }

}  // namespace

int main(int argc, char** argv) {
  spile::open_standard_descriptors();
  spile::session::Signals::keep_interrupt();
  spile::cli::CommandLine line = spile::cli::read_command_line(argc, argv);
  int status = line.leave ? *line.leave : spile::session::run(line.options);
  if (line.page) status = line.page->finish(status);
  return spile::finish_standard_output(status);
}
