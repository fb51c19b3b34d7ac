#include "verbs/asking/asked_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/messages.h"
#include "session/terms/command_words.h"

namespace spile::verbs {

namespace {

bool has(const AskedFiles& files, const std::string& path) {
  return std::ranges::any_of(files.modules, [&](const auto& module) { return module->path() == path; });
}

}  // namespace

Result<AskedFiles> open_asked_files(const char* verb, const std::vector<std::string>& words, const session::Options& options) {
  AskedFiles files;
  files.words = words;
  probes::WorldOptions world;
  world.processes = options.target.processes;
  world.only_lists = true;
  world.download = options.target.download;
  if (!options.target.command.empty()) world.program = session::command_program(options.target.command);
  if (world.program.empty() && world.processes.empty()) {
    if (words.empty())
      return Error{fmt::format("{}: no program is given", verb),
                   fmt::format("spile {} FILE ..., or with -x PID or -c COMMAND", verb)};
    world.program = words.front();
    files.words.erase(files.words.begin());
  }
  files.world = std::make_unique<probes::TracedWorld>(world);
  TRY_DO(files.world->find_program());
  for (const std::string& program : files.world->programs()) {
    TRY(auto module, files.world->module(program));
    files.modules.push_back(std::move(module));
  }
  if (options.verb.library.empty()) return files;
  files.has_libraries = true;
  files.modules.clear();
  for (const std::string& program : files.world->programs()) {
    for (const std::string& library : files.world->libraries(program)) {
      if (has(files, library) || !files.world->is_named(library, options.verb.library)) continue;
      TRY(auto module, files.world->module(library));
      files.modules.push_back(std::move(module));
    }
  }
  if (files.modules.empty()) {
    return Error{fmt::format("no library of {} matches '{}'", files.world->program(), options.verb.library),
                 "--lib takes the name of a file, such as libc.so.6, or a pattern; a library that a program opens later is seen "
                 "with -x alone"};
  }
  return files;
}

void add_libraries(AskedFiles& files) {
  if (files.has_libraries) return;
  files.has_libraries = true;
  for (const std::string& program : files.world->programs()) {
    for (const std::string& library : files.world->libraries(program)) {
      if (has(files, library)) continue;
      auto module = files.world->module(library);
      if (module.ok()) {
        files.modules.push_back(*module);
      } else {
        warn(fmt::format("{} is left out: {}", library, module.error().message));
      }
    }
  }
}

std::string path_as_seen(const AskedFiles& files, const std::string& path) {
  if (files.world->process() == 0) return path;
  const std::string inside = fmt::format("/proc/{}/root{}", files.world->process(), path);
  struct stat info;
  return stat(inside.c_str(), &info) == 0 ? inside : path;
}

}  // namespace spile::verbs
