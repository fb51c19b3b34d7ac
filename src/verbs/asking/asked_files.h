#pragma once
// Which files a verb asks about: the program of -x or -c, or the file that its first word names; with --lib, libraries of that
// program.

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "debuginfo/debuginfo.h"
#include "probes/world/traced_world.h"
#include "session/terms/options.h"

namespace spile::verbs {

struct AskedFiles {
  std::unique_ptr<probes::TracedWorld> world;
  std::vector<std::shared_ptr<debuginfo::Module>> modules;  // one at least
  std::vector<std::string> words;                           // those behind the file's name
  bool has_libraries = false;                               // --lib was given
};
// The program first. verb: for messages. Errors: no word names a file; the program or process is not there; a file can't be read;
// no library matches --lib.
Result<AskedFiles> open_asked_files(const char* verb, const std::vector<std::string>& words, const session::Options& options);

// Adds the libraries of the program, unless they are there already. Those that can't be read are left out, with a warning.
void add_libraries(AskedFiles& files);

// Puts the root directory of -x's process, if it is another one, before a path that debug information names.
std::string path_as_seen(const AskedFiles& files, const std::string& path);

}  // namespace spile::verbs
