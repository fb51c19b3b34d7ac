#pragma once
// What all families share: the program or process that spile was told to trace, the ELF files opened so far, and where
// probes on processes run.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "debuginfo/debuginfo.h"
#include "probes/probes.h"
#include "probes/tracepoint_format.h"

namespace spile::probes {

// With wildcards of glob(7).
bool is_pattern(const std::string& path);

class TracedWorld {
 public:
  explicit TracedWorld(const WorldOptions& options) : options_(options) {}

  // Finds the program of -c or -x. Errors as World::open.
  Result<void> find_program();
  void choose_runtime(const std::vector<const syntax::ProbePoint*>& points);

  const WorldOptions& options() const { return options_; }
  // The executable of -c or -x, symbolic links resolved as /proc/PID/maps shows it; empty when there is neither.
  const std::string& program() const { return program_; }
  bool has_target() const { return !program_.empty(); }
  // Where a probe on a process runs.
  sema::Domain process_domain() const { return domain_; }
  // An error where `what` can only run in the kernel and --runtime=inproc was asked for.
  Result<void> require_kernel(const char* what) const;

  // The ELF file at a path, opened once. Paths are those of find_executable and libraries.
  Result<std::shared_ptr<debuginfo::Module>> module(const std::string& path);
  // The fields of "sched:sched_switch", read once. Valid as long as the world.
  Result<const std::vector<TracepointField>*> tracepoint_fields(const std::string& tracepoint);
  // "redis-server" by PATH, "./calls", "/bin/ls": to the real path. A script (#!) is its interpreter.
  Result<std::string> find_executable(const std::string& name) const;
  // Those that a glob(7) pattern matches now, each once; one without a slash by PATH, and in this directory.
  std::vector<std::string> find_executables(const std::string& pattern) const;
  // For fnmatch(3) with what find_executable gives: the directories before the first wildcard are real ones, and a pattern
  // without a slash matches in all.
  std::string program_pattern(const std::string& pattern) const;
  // Shared libraries of the traced process (those it has mapped) or of a program file (those that it is linked to).
  const std::vector<std::string>& libraries(const std::string& program);

 private:
  Result<std::string> program_of_process() const;
  // "/proc/PID/root" where the process sees another file under that path than we do; else "".
  std::string root_for(const std::string& path) const;

  WorldOptions options_;
  std::string program_;
  sema::Domain domain_ = sema::Domain::kTarget;
  std::map<std::string, std::shared_ptr<debuginfo::Module>> modules_;
  std::map<std::string, std::vector<std::string>> libraries_;
  std::map<std::string, std::vector<TracepointField>> tracepoints_;
};

}  // namespace spile::probes
