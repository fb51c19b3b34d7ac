#include "probes/terms/header_types.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

extern char** environ;

namespace spile::probes {

namespace {

std::string cache_directory() {
  const char* cache = getenv("XDG_CACHE_HOME");
  const char* home = getenv("HOME");
  std::string directory = cache && *cache ? fmt::format("{}/spile", cache)
                          : home && *home ? fmt::format("{}/.cache/spile", home)
                                          : "";
  struct stat info;
  std::error_code failure;
  if (!directory.empty()) std::filesystem::create_directories(directory, failure);
  // As with answers of debug information: nothing that others may write is believed.
  bool own = !directory.empty() && stat(directory.c_str(), &info) == 0 && info.st_uid == geteuid() && !(info.st_mode & S_IWOTH);
  return own ? directory : "";
}

std::string source_text(const std::string& headers, const std::string& type) {
  std::string source;
  for (size_t at = 0; at < headers.size();) {
    char close = headers[at] == '<' ? '>' : headers[at] == '"' ? '"' : 0;
    size_t end = close ? headers.find(close, at + 1) : std::string::npos;
    if (end == std::string::npos) break;
    source += "#include " + headers.substr(at, end - at + 1) + "\n";
    at = end + 1;
  }
  // A type is described where something uses it.
  return source + fmt::format("__typeof__({}) *spile_uses_it;\n", type);
}

// Runs the compiler; its complaints go to `complaints`.
int run(const std::vector<std::string>& words, const std::string& complaints) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, complaints.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = 0;
  int failure = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return -failure;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

std::string first_error(const std::string& file) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    size_t at = line.find("error: ");
    if (at != std::string::npos) return line.substr(at + strlen("error: "));
  }
  return "it does not compile";
}

}  // namespace

Result<std::string> header_types(const std::string& headers, const std::string& type) {
  if (headers.starts_with("kernel"))
    return Error{fmt::format("'{}': types of the kernel's headers are not known in processes", headers), ""};
  std::string source = source_text(headers, type);
  std::string directory = cache_directory();
  bool keep = !directory.empty();
  if (!keep) {
    std::string pattern = "/tmp/spile-types-XXXXXX";
    if (!mkdtemp(pattern.data())) return Error::from_errno("make a directory in /tmp", errno);
    directory = pattern;
  }
  std::string name = fmt::format("{}/types-{:016x}", directory, std::hash<std::string>()(source));
  std::string library = name + ".so";
  if (keep && access(library.c_str(), R_OK) == 0) return library;
  std::string own = fmt::format("{}-{}", name, getpid());
  std::string text = own + ".c", made = own + ".so", complaints = own + ".log";
  std::ofstream(text) << source;
  int status = -ENOENT;
  for (const char* compiler : {"clang-19", "clang", "cc"}) {
    status = run({compiler, "-g", "-fno-eliminate-unused-debug-types", "-shared", "-fPIC", "-nostdlib", "-x", "c", "-I.", "-o",
                  made, text},
                 complaints);
    if (status != -ENOENT) break;
  }
  std::string why = status == 0 ? "" : first_error(complaints);
  std::error_code ignored;
  std::filesystem::remove(text, ignored);
  std::filesystem::remove(complaints, ignored);
  if (status == -ENOENT)
    return Error{fmt::format("types of {} need a C compiler, and there is none", headers), "install clang-19"};
  if (status != 0) return Error{fmt::format("type '{}' can't be taken from {}: {}", type, headers, why), ""};
  if (rename(made.c_str(), library.c_str()) != 0) return Error::from_errno(fmt::format("rename {}", made), errno);
  return library;
}

}  // namespace spile::probes
