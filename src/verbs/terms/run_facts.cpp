#include "verbs/terms/run_facts.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>

namespace spile::verbs {

runs::SampleFacts run_facts(const std::string& words, const std::string& script, const session::Options& options) {
  std::string title = "spile " + words;
  for (const pid_t process : options.target.processes) title += fmt::format(" -x {}", process);
  for (const std::string* command : {&options.target.command, &options.target.workload}) {
    if (!command->empty()) title += fmt::format(" -c '{}'", *command);
  }
  std::array<char, 256> name{};
  return {std::move(title), script,
          ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string("unknown")};
}

}  // namespace spile::verbs
