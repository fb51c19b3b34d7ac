#pragma once
// The traced world as elaboration sees it: all probe point families over debug information. session makes one for each run.
// Thread rule: one thread.

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "debuginfo/debuginfo.h"
#include "debuginfo/files/debug_servers.h"
#include "kernelinfo/kernel_info.h"
#include "probes/terms/runtime.h"
#include "sema/terms/target_info.h"

namespace spile::probes {

struct WorldOptions {
  std::string program;  // -c: the command's first word, looked up in PATH; "": no -c. Not used if there are processes.
  std::vector<pid_t> processes = {};  // -x; with neither, the world has no target
  Runtime runtime = Runtime::kAuto;
  // Returns whether handlers in processes and in the kernel can share globals on this machine (bpf::Arena::is_supported()); null:
  // they can't.
  bool (*can_mix)() = nullptr;
  bool (*may_probe_kernel)() = nullptr;      // returns whether the user may run handlers in the kernel; null: no
  bool only_lists = false;                   // nothing runs: what only one runtime can do is there, too
  bool explain_left_out = false;             // left_out() has each function that matches a pattern and can't be probed, too
  debuginfo::DownloadOptions download = {};  // whether debuginfod servers are asked for debug information
  kernelinfo::Places kernel = {};            // where the files about the kernel are; tests have their own
};

// Returns the shapes of all probe points, sorted: "process(string).mark(string)".
std::vector<std::string> probe_types();

// The file that the answers about a module come from: how it was opened, and its identity (elf_identity.h; "": not known).
struct ModuleFile {
  debuginfo::OpenOptions options;
  std::string identity;
};
using ModuleFiles = std::map<std::string, ModuleFile>;  // by path
// Returns the file for a path; for a path that was not asked about, the file that the path itself leads to.
inline ModuleFile file_of(const ModuleFiles& files, const std::string& path) {
  auto found = files.find(path);
  return found == files.end() ? ModuleFile() : found->second;
}

class World : public sema::TargetInfo {
 public:
  // Returns the files of all modules that were asked about so far.
  virtual ModuleFiles module_files() const = 0;
  // Writes what was learned from their debug information to the cache, as the destructor does.
  virtual void save_answers() = 0;
  // Opens a program or library by its path or name, as process("NAME") finds it. Errors: not found, or not an ELF file.
  virtual Result<std::shared_ptr<debuginfo::Module>> module_named(const std::string& name) = 0;
  // Returns the mechanisms that the kernel has for its functions; empty if no point is on them and the caller does not ask for
  // members of the kernel's structures (kernelinfo::Features::members).
  virtual kernelinfo::Features kernel_features(bool asks_members) = 0;
  // Returns a sentence for each point that was found in some of its programs and libraries only.
  virtual std::vector<std::string> left_out() const = 0;
  // Returns a sentence for each part of a printed structure that is shown as "?", with the reason.
  virtual std::vector<std::string> unprintable() const = 0;
  // Returns a sentence for each point that is on something which is not there yet, or of which something could not be checked.
  virtual std::vector<std::string> remarks() const = 0;
  // Finds the program of -c or the programs of -x. Errors: the program is not found, a process does not exist, has no program (it
  // is a kernel thread or a zombie), or may not be traced.
  static Result<std::unique_ptr<World>> open(const WorldOptions& options);

  // Decides by the script's probe points what kAuto means (any kernel probe: everything runs in the kernel). asks_for_kernel:
  // handlers of timer.profile, or of system calls, ask for what the kernel alone has. REQUIRES: called before elaboration.
  virtual void choose_runtime(const std::vector<const syntax::ProbePoint*>& points, bool asks_for_kernel) = 0;
  // What WorldOptions have under these names.
  virtual bool may_probe_kernel() const = 0;
  virtual bool can_mix() const = 0;
  // Calls choose_runtime() with all points of the scripts (of -e or a file, of -E; the library's have none), and what their
  // handlers ask for.
  void choose_runtime_for(std::span<const syntax::Script> scripts);

  // For -l and -L: returns the points that a pattern stands for, as text; with their variables ("$a:long $b:string") if
  // with_variables.
  struct ListedPoint {
    std::string text;
    std::string function = {};  // its name, without the escapes that the text has; "": the point is in no known function
    std::vector<std::string> variables = {};
  };
  // Errors: as resolve().
  virtual Result<std::vector<ListedPoint>> list(const syntax::ProbePoint& pattern, bool with_variables) = 0;
  // Returns the variables of a point that resolve() returned, with their types ("$a:long"): of a tracepoint both its arguments
  // and the fields of its record.
  virtual std::vector<std::string> typed_variables(const sema::ResolvedPoint& point) = 0;
};

}  // namespace spile::probes
