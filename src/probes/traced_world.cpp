#include "probes/traced_world.h"

#include <fmt/format.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include "base/tracefs.h"
#include "probes/shared_libraries.h"

namespace spile::probes {

namespace {

std::string real_path(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (!resolved) return {};
  std::string result = resolved;
  free(resolved);
  return result;
}

// Of PATH; an empty one is this directory.
std::vector<std::string> path_directories() {
  const char* variable = getenv("PATH");
  std::string path = variable ? variable : "/usr/local/bin:/usr/bin:/bin";
  std::vector<std::string> directories;
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = std::min(path.find(':', begin), path.size());
    directories.push_back(begin == end ? "." : path.substr(begin, end - begin));
    begin = end + 1;
  }
  return directories;
}

bool is_file(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// The interpreter of a script that starts with "#!", or "".
std::string interpreter_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  if (!std::getline(file, line) || !line.starts_with("#!")) return {};
  size_t begin = line.find_first_not_of(" \t", 2);
  if (begin == std::string::npos) return {};
  std::string interpreter = line.substr(begin, line.find_first_of(" \t", begin) - begin);
  // "#!/usr/bin/env python3": env looks it up in PATH.
  if (!interpreter.ends_with("/env")) return interpreter;
  size_t name = line.find_first_not_of(" \t", begin + interpreter.size());
  return name == std::string::npos ? interpreter : line.substr(name, line.find_first_of(" \t", name) - name);
}

bool needs_kernel(const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  static const std::set<std::string> kernel_families = {"kernel", "module", "syscall",  "nd_syscall",
                                                        "kprobe", "perf",   "netfilter"};
  if (parts.empty()) return false;
  for (const auto& part : parts) {
    if (parts[0].name == "perf" && part.name == "counter") return false;  // read in processes
  }
  return kernel_families.count(parts[0].name) ||
         (parts.size() > 1 && parts[0].name == "timer" && parts[1].name == "profile");
}

}  // namespace

Result<void> TracedWorld::find_program() {
  if (options_.process > 0) {
    TRY(program_, program_of_process());
  } else if (!options_.program.empty()) {
    TRY(program_, find_executable(options_.program));
  }
  return {};
}

Result<std::string> TracedWorld::program_of_process() const {
  std::string directory = fmt::format("/proc/{}", options_.process);
  struct stat info;
  if (stat(directory.c_str(), &info) != 0) return Error{fmt::format("there is no process {}", options_.process), ""};
  char buffer[PATH_MAX];
  ssize_t length = readlink((directory + "/exe").c_str(), buffer, sizeof buffer);
  if (length < 0) {
    int failure = errno;
    std::string who = fmt::format("process {}", options_.process);
    if (failure == ENOENT) return Error{who + " has no program: it is a kernel thread, or a zombie", ""};
    return Error::from_errno(fmt::format("{} (owned by uid {})", who, info.st_uid), failure,
                             "run spile as that user, or as root");
  }
  std::string path(buffer, static_cast<size_t>(length));
  constexpr std::string_view kDeleted = " (deleted)";
  // Replaced on disk since it was started: the old file is still there under this name.
  if (path.ends_with(kDeleted) && !is_file(path)) return directory + "/exe";
  return path;
}

void TracedWorld::choose_runtime(const std::vector<const syntax::ProbePoint*>& points) {
  switch (options_.runtime) {
    case Runtime::kInProcess:
      domain_ = sema::Domain::kTarget;
      return;
    case Runtime::kBpf:
      domain_ = sema::Domain::kKernel;
      return;
    case Runtime::kAuto:
      break;
  }
  // Handlers that share a global share memory: one kernel probe, and all run there. Without -c and -x there is no one
  // process to enter: uprobes see all.
  bool kernel = !has_target() && !options_.only_lists;
  for (const syntax::ProbePoint* point : points) kernel |= !options_.only_lists && needs_kernel(*point);
  domain_ = kernel ? sema::Domain::kKernel : sema::Domain::kTarget;
}

Result<void> TracedWorld::require_kernel(const char* what) const {
  if (options_.runtime != Runtime::kInProcess) return {};
  return Error{fmt::format("'{}' runs in the kernel, and --runtime=inproc was asked for", what), "use --runtime=bpf"};
}

std::string TracedWorld::root_for(const std::string& path) const {
  if (options_.process <= 0) return {};
  std::string root = fmt::format("/proc/{}/root", options_.process);
  struct stat ours, theirs;
  if (stat((root + path).c_str(), &theirs) != 0) return {};
  bool same = stat(path.c_str(), &ours) == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
  return same ? std::string() : root;
}

Result<std::shared_ptr<debuginfo::Module>> TracedWorld::module(const std::string& path) {
  auto known = modules_.find(path);
  if (known != modules_.end()) return known->second;
  debuginfo::OpenOptions options;
  options.root = root_for(path);
  TRY(std::shared_ptr<debuginfo::Module> opened, debuginfo::Module::open(path, options));
  modules_.emplace(path, opened);
  return opened;
}

Result<const std::vector<TracepointField>*> TracedWorld::tracepoint_fields(const std::string& tracepoint) {
  auto known = tracepoints_.find(tracepoint);
  if (known == tracepoints_.end()) {
    std::string path = tracepoint;
    std::replace(path.begin(), path.end(), ':', '/');
    TRY(std::string text, read_tracefs("events/" + path + "/format"));
    TRY(std::vector<TracepointField> fields, parse_tracepoint_format(text));
    known = tracepoints_.emplace(tracepoint, std::move(fields)).first;
  }
  return &known->second;
}

bool is_pattern(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

std::vector<std::string> TracedWorld::find_executables(const std::string& pattern) const {
  std::vector<std::string> patterns = {pattern};
  if (pattern.find('/') == std::string::npos) {
    for (const std::string& directory : path_directories()) patterns.push_back(directory + "/" + pattern);
  }
  std::vector<std::string> paths;
  for (const std::string& each : patterns) {
    glob_t found{};
    if (glob(each.c_str(), 0, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) {
        std::string name = found.gl_pathv[i];
        auto path = find_executable(name.find('/') == std::string::npos ? "./" + name : name);
        if (path.ok() && std::find(paths.begin(), paths.end(), *path) == paths.end()) paths.push_back(*path);
      }
    }
    globfree(&found);
  }
  return paths;
}

std::string TracedWorld::program_pattern(const std::string& pattern) const {
  size_t slash = pattern.rfind('/', pattern.find_first_of("*?["));
  if (slash == std::string::npos) return "*/" + pattern;
  std::string directory = slash == 0 ? "" : pattern.substr(0, slash);
  if (directory.empty() || (options_.process > 0 && !root_for(directory).empty())) return pattern;
  std::string real = real_path(directory);
  return real.empty() ? pattern : (real == "/" ? "" : real) + pattern.substr(slash);
}

Result<std::string> TracedWorld::find_executable(const std::string& name) const {
  std::string found;
  if (name.find('/') != std::string::npos) {
    if (options_.process > 0 && !root_for(name).empty()) return name;
    if (is_file(name)) found = real_path(name);
    if (found.empty()) {
      struct stat info;
      bool exists = stat(name.c_str(), &info) == 0;
      return Error{fmt::format("process \"{}\": {}", name, exists ? "not a file" : strerror(errno)), ""};
    }
  } else {
    for (const std::string& directory : path_directories()) {
      std::string candidate = directory + "/" + name;
      if (found.empty() && is_file(candidate) && access(candidate.c_str(), X_OK) == 0) found = real_path(candidate);
    }
    if (found.empty() && is_file(name)) found = real_path(name);
    if (found.empty())
      return Error{fmt::format("process \"{}\": not found in PATH, nor in the current directory", name), "give its path"};
  }
  std::string interpreter = interpreter_of(found);
  return interpreter.empty() || interpreter == name ? Result<std::string>(found) : find_executable(interpreter);
}

const std::vector<std::string>& TracedWorld::libraries(const std::string& program) {
  auto [known, added] = libraries_.try_emplace(program);
  if (!added) return known->second;
  if (options_.process > 0 && program == program_) {
    known->second = mapped_files(options_.process, program);
  } else {
    known->second = linked_libraries(program);
  }
  return known->second;
}

}  // namespace spile::probes
