#pragma once
// The state that all families share: the program or process that spile traces, the ELF files opened so far, and where
// probes on processes run.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "debuginfo/debuginfo.h"
#include "debuginfo/mapped_file.h"
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
  // The executables of -c or of -x's processes, each once, symbolic links resolved as /proc/PID/maps shows them; none when
  // there is neither.
  const std::vector<std::string>& programs() const { return programs_; }
  // The first of them.
  const std::string& program() const { return programs_.front(); }
  bool has_target() const { return !programs_.empty(); }
  Result<std::string> program_of_process(pid_t pid) const;
  const std::vector<pid_t>& processes() const { return options_.processes; }  // -x's
  // The first of them; 0: none.
  pid_t process() const { return options_.processes.empty() ? 0 : options_.processes.front(); }
  // Where a probe on a process runs.
  sema::Domain process_domain() const { return domain_; }
  // An error where `what` can only run in the kernel and --runtime=inproc was asked for.
  Result<void> require_kernel(const char* what) const;

  // The ELF file at a path, opened once. Paths are those of find_executable and libraries.
  Result<std::shared_ptr<debuginfo::Module>> module(const std::string& path);
  const ModuleFiles& module_files() const { return module_files_; }
  void save_answers();
  // As World::left_out.
  void leave_out(std::string why) { left_out_.insert(std::move(why)); }
  const std::set<std::string>& left_out() const { return left_out_; }
  // The fields of "sched:sched_switch", read once. Valid as long as the world.
  Result<const std::vector<TracepointField>*> tracepoint_fields(const std::string& tracepoint);
  // "redis-server" by PATH, "./calls", "/bin/ls": to the real path. A script (#!) is its interpreter.
  Result<std::string> find_executable(const std::string& name) const;
  // Returns the files that a glob(7) pattern matches now, each once; a pattern without a slash is searched in PATH and here.
  std::vector<std::string> find_executables(const std::string& pattern) const;
  // For fnmatch(3) with what find_executable gives: the directories before the first wildcard are real ones, and a pattern
  // without a slash matches in all.
  std::string program_pattern(const std::string& pattern) const;
  // Shared libraries of the traced process (those it has mapped) or of a program file (those that it is linked to).
  const std::vector<std::string>& libraries(const std::string& program);
  // Whether a library goes by a name, or a pattern of fnmatch(3): its file's, or the one that programs need it by (DT_SONAME), which is
  // that of a link mostly: libevent-2.1.so.7 for libevent-2.1.so.7.0.1.
  bool is_named(const std::string& library, const std::string& pattern);

 private:
  struct PathInProcess {
    std::string path;      // as its maps show it, symbolic links resolved; "": there is no such file
    bool is_ours = false;  // that path leads us to the same file
    bool is_executable = false;
  };
  PathInProcess path_in_process(const std::string& name) const;
  // The file that the processes of -x have mapped under a path; null: absent.
  const debuginfo::MappedFile* find_mapped(const std::string& path) const;

  WorldOptions options_;
  std::vector<std::string> programs_;
  std::vector<debuginfo::MappedFile> mapped_;  // of all processes
  sema::Domain domain_ = sema::Domain::kTarget;
  std::map<std::string, std::shared_ptr<debuginfo::Module>> modules_;
  ModuleFiles module_files_;
  std::set<std::string> left_out_;
  std::map<std::string, std::vector<std::string>> libraries_;
  std::map<std::string, std::vector<TracepointField>> tracepoints_;
};

}  // namespace spile::probes
