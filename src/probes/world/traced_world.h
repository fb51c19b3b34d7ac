#pragma once
// The state that all families share: the program or process that spile traces, the ELF files opened so far, and where
// probes on processes run. One thread.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/unique_fd.h"
#include "debuginfo/debuginfo.h"
#include "debuginfo/elf/mapped_file.h"
#include "kernelinfo/kernel_info.h"
#include "probes/terms/probes.h"
#include "probes/terms/tracepoint_format.h"

namespace spile::probes {

// The name under which TracedWorld::module() has the file with the kernel's debug information: no path is like it. Behind it,
// with a colon, the name of a module of the kernel: "kernel image:loop".
inline constexpr char kKernelImage[] = "kernel image";

// The running kernel, or a module of it, as debug information describes it: an ELF file whose parts lie in memory elsewhere than
// it says.
struct KernelImage {
  // A part whose addresses in memory all differ by the same number from those in the file: the kernel as a whole (KASLR), each
  // section of a module.
  struct Part {
    uint64_t begin, end;  // in the file
    uint64_t bias;        // run-time address minus address in the file, modulo 2^64
  };
  std::string name;  // of the module; "": vmlinux
  std::shared_ptr<debuginfo::Module> module;
  std::vector<Part> parts;
  std::vector<std::pair<uint64_t, uint64_t>> text;  // run-time addresses of the code that stays
  std::shared_ptr<UniqueFd> file;                   // of a module: debuginfo::LinkedObject::file

  // Returns the name of the image's types, for TracedWorld::module().
  std::string type_source() const { return name.empty() ? kKernelImage : std::string(kKernelImage) + ":" + name; }
  // Returns the run-time address; nullopt: what is there is not at such an address in memory (variables of CPUs, code that is
  // gone).
  std::optional<uint64_t> running(FileAddress address) const;
  // Returns the address in the file of a run-time address; nullopt: it is in no part.
  std::optional<FileAddress> in_file(uint64_t address) const;
  bool is_text(uint64_t address) const;  // run-time
};

// Whether the point is timer.profile, at whatever rate.
bool is_profile(const syntax::ProbePoint& point);

class TracedWorld {
 public:
  explicit TracedWorld(const WorldOptions& options)
      : options_(options), servers_(std::make_shared<debuginfo::DebugServers>(options.download)), kernel_(options.kernel) {}

  // Finds the program of -c or -x. Errors as World::open.
  Result<void> find_program();
  // Decides process_domain(); see World::choose_runtime().
  void choose_runtime(const std::vector<const syntax::ProbePoint*>& points, bool asks_for_kernel);

  const WorldOptions& options() const { return options_; }
  bool can_mix() const { return options_.can_mix && options_.can_mix(); }
  // The executables of -c or of -x's processes, each once, symbolic links resolved as /proc/PID/maps shows them; none when
  // there is neither.
  const std::vector<std::string>& programs() const { return programs_; }
  // Returns the first program; empty: no target was given.
  std::string program() const { return programs_.empty() ? std::string() : programs_.front(); }
  bool has_target() const { return !programs_.empty(); }
  // Returns the path of the program that a process executes, as its maps show it. Errors: see World::open().
  Result<std::string> program_of_process(pid_t pid) const;
  const std::vector<pid_t>& processes() const { return options_.processes; }  // -x's
  // Returns the first process; 0: no -x was given.
  pid_t process() const { return options_.processes.empty() ? 0 : options_.processes.front(); }
  // Returns where the handler of a probe on a process runs.
  sema::Domain process_domain() const { return domain_; }
  // Whether the script has probes that only the kernel can run.
  bool has_kernel_probes() const { return has_kernel_probes_; }
  // Whether --runtime names the place.
  bool only_in_kernel() const { return options_.runtime == Runtime::kBpf; }
  bool only_in_processes() const { return options_.runtime == Runtime::kInProcess; }
  // Fails if --runtime=inproc was asked for. what: the construct that only the kernel can run, for the message.
  Result<void> require_kernel(const char* what) const;

  // Returns the ELF file at a path, opened once: the file that a process of -x has mapped under it, if any has. path: as
  // find_executable() and libraries() return it. Errors: as Module::open(), or the mapped file was replaced and can't be opened.
  Result<std::shared_ptr<debuginfo::Module>> module(const std::string& path);
  // Returns the debug information of the kernel (""), or of a module that is loaded, opened once. Valid as long as the world.
  // Errors: as KernelInfo::debug_image() and module_image(); the file can't be opened or lacks debug information; the kernel
  // hides its addresses.
  Result<const KernelImage*> kernel_image(const std::string& name = {});
  // Returns the files of all modules that module() has opened, by path.
  const ModuleFiles& module_files() const { return module_files_; }
  void save_answers();  // as World's
  // Adds a sentence to World::left_out().
  void leave_out(std::string why) { left_out_.insert(std::move(why)); }
  const std::set<std::string>& left_out() const { return left_out_; }
  // Adds a sentence to World::unprintable().
  void note_unprintable(std::string what) { unprintable_.insert(std::move(what)); }
  const std::set<std::string>& unprintable() const { return unprintable_; }
  // Adds a sentence to World::remarks().
  void remark(std::string what) { remarks_.insert(std::move(what)); }
  const std::set<std::string>& remarks() const { return remarks_; }
  // Returns the fields of a tracepoint ("sched:sched_switch"), read once from tracefs. Valid as long as the world. Errors: no
  // such tracepoint, or tracefs can't be read.
  Result<const std::vector<TracepointField>*> tracepoint_fields(const std::string& tracepoint);
  // Returns the facts about the running kernel. Valid as long as the world.
  kernelinfo::KernelInfo& kernel() { return kernel_; }
  // Returns the real path of a program or library: "redis-server" by PATH, "./calls", "/bin/ls", as the first process of -x sees
  // it, even if it was deleted since. A script (#!) stands for its interpreter. A path with a slash need not be executable.
  // Error: not found.
  Result<std::string> find_executable(const std::string& name) const;
  // Returns the files that a glob(7) pattern matches now, each once; a pattern without a slash is searched in PATH and here.
  std::vector<std::string> find_executables(const std::string& pattern) const;
  // Returns a pattern (base/text/glob.h) that fits paths of find_executable(): the directories before the first wildcard are
  // resolved, and a pattern without a slash fits in every directory.
  std::string program_pattern(const std::string& pattern) const;
  // Returns the paths of the shared libraries that processes of -x with this program have mapped, or, without any, that the
  // program file is linked to. Valid as long as the world.
  const std::vector<std::string>& libraries(const std::string& program);
  // Whether a name, or a pattern (base/text/glob.h), fits a library: the name of its file, or the name by which programs need it
  // (DT_SONAME), which mostly is that of a link: libevent-2.1.so.7 for libevent-2.1.so.7.0.1.
  bool is_named(const std::string& library, const std::string& pattern);

 private:
  struct PathInProcess {
    std::string path;      // as its maps show it, symbolic links resolved; "": the file is missing
    bool is_ours = false;  // that path leads us to the same file
    bool is_executable = false;
  };
  PathInProcess path_in_process(const std::string& name) const;
  // The file that the processes of -x have mapped under a path; null: absent.
  const debuginfo::MappedFile* find_mapped(const std::string& path) const;

  WorldOptions options_;
  std::shared_ptr<debuginfo::DebugServers> servers_;
  std::vector<std::string> programs_;
  std::vector<debuginfo::MappedFile> mapped_;  // of all processes
  sema::Domain domain_ = sema::Domain::kTarget;
  bool has_kernel_probes_ = false;
  std::map<std::string, std::shared_ptr<debuginfo::Module>> modules_;
  ModuleFiles module_files_;
  std::set<std::string> left_out_, remarks_, unprintable_;
  std::map<std::string, std::vector<std::string>> libraries_;
  std::map<std::string, std::vector<TracepointField>> tracepoints_;
  kernelinfo::KernelInfo kernel_;
  std::map<std::string, Result<KernelImage>> kernel_images_;
};

}  // namespace spile::probes
