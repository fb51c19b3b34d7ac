#include "probes/world/traced_world.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <glob.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

#include "base/files/elf_identity.h"
#include "base/files/tracefs.h"
#include "base/processes/proc.h"
#include "base/text/glob.h"
#include "base/unique_fd.h"
#include "probes/terms/shared_libraries.h"

namespace spile::probes {

namespace {

std::string real_path(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (!resolved) return {};
  std::string result = resolved;
  free(resolved);
  return result;
}

// Returns the directories of PATH; an empty one is the current directory.
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
  static const std::set<std::string> kernel_families = {
      "kernel", "module", "kprobe", "perf", "perfcounter", "netfilter", "lsm",
      // The library's aliases of these. Not syscall and its like: with -x and -c, handlers in the processes serve them.
      "vfs", "ioblock", "ioscheduler", "scheduler", "kprocess", "signal", "vm", "memory", "socket", "tcp", "tcpmib", "udp", "ip",
      "ipmib", "linuxmib", "netdev", "irq_handler", "softirq", "workqueue", "scsi", "nfs", "nfsd", "sunrpc", "tty", "generic",
      "ioblock_trace", "ioscheduler_trace"};
  if (parts.empty()) return false;
  for (const auto& part : parts) {
    if (parts[0].name == "perf" && part.name == "counter") return false;  // read in processes
  }
  return kernel_families.count(parts[0].name) > 0;
}

}  // namespace

bool is_profile(const syntax::ProbePoint& point) {
  const auto& parts = point.components;
  return parts.size() > 1 && parts[0].name == "timer" && parts[1].name == "profile";
}

Result<void> TracedWorld::find_program() {
  for (pid_t pid : options_.processes) {
    Result<std::string> found = program_of_process(pid);
    // Of several processes, as a name of -x may mean them, some can end meanwhile.
    const bool has_ended = !found.ok() && ::kill(pid, 0) != 0 && errno == ESRCH;
    if (!found.ok() && (!has_ended || (programs_.empty() && pid == options_.processes.back()))) return found.error();
    if (has_ended) continue;
    std::string program = std::move(*found);
    std::vector<debuginfo::MappedFile> mapped = debuginfo::mapped_files(pid);
    mapped_.insert(mapped_.end(), std::make_move_iterator(mapped.begin()), std::make_move_iterator(mapped.end()));
    if (std::find(programs_.begin(), programs_.end(), program) == programs_.end()) programs_.push_back(std::move(program));
  }
  if (options_.processes.empty() && !options_.program.empty()) {
    Result<std::string> program = find_executable(options_.program);
    // What is only looked at may be a library: spile lines libc.so.6 malloc.
    std::string library = program.ok() || !options_.only_lists ? "" : system_library(options_.program);
    if (library.empty() && !program.ok()) return program.error();
    programs_ = {library.empty() ? std::move(*program) : std::move(library)};
  }
  return {};
}

Result<std::string> TracedWorld::program_of_process(pid_t pid) const {
  std::string directory = fmt::format("/proc/{}", pid);
  struct stat info;
  if (stat(directory.c_str(), &info) != 0) return Error{fmt::format("no process has the ID {}", pid), ""};
  char buffer[PATH_MAX];
  auto read_program = [&] { return readlink((directory + "/exe").c_str(), buffer, sizeof buffer); };
  ssize_t length = -1;
  int failure = 0;
  look_past_exec(pid, [&] {
    length = read_program();
    failure = length < 0 ? errno : 0;
    return failure != ENOENT;
  });
  if (length < 0) {
    std::string who = fmt::format("process {}", pid);
    if (failure == ENOENT && threads_of(pid).size() > 1) {
      return Error{who + " can't be traced: its main thread has ended, while others still run", "start it with -c instead"};
    }
    if (failure == ENOENT) return Error{who + " has no program: it is a kernel thread, or a zombie", ""};
    return Error::from_errno(
        fmt::format("{} (owned by uid {})", who, info.st_uid), failure,
        geteuid() == 0 ? "root needs CAP_SYS_PTRACE for it, which a container may lack" : "run spile as that user, or as root");
  }
  struct stat program;
  bool known = stat((directory + "/exe").c_str(), &program) == 0;
  return without_deleted(std::string(buffer, static_cast<size_t>(length)), known ? program.st_ino : 0);
}

const debuginfo::MappedFile* TracedWorld::find_mapped(const std::string& path) const {
  auto found = std::find_if(mapped_.begin(), mapped_.end(), [&](const debuginfo::MappedFile& file) { return file.path == path; });
  return found == mapped_.end() ? nullptr : &*found;
}

// Looked up as the process does: from its root directory, in its mount namespace. The kernel names what was opened as it
// names what is mapped.
TracedWorld::PathInProcess TracedWorld::path_in_process(const std::string& name) const {
  if (process() == 0 || name.empty() || name[0] != '/') return {};
  UniqueFd root(open(fmt::format("/proc/{}/root", process()).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  open_how how{};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  UniqueFd file(root ? static_cast<int>(syscall(SYS_openat2, root.get(), name.c_str(), &how, sizeof how)) : -1);
  struct stat info;
  if (!file || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  char path[PATH_MAX];
  ssize_t length = readlink(fmt::format("/proc/self/fd/{}", file.get()).c_str(), path, sizeof path);
  if (length <= 0) return {};
  PathInProcess found{.path = std::string(path, static_cast<size_t>(length)), .is_executable = (info.st_mode & 0111) != 0};
  struct stat ours;
  found.is_ours = stat(found.path.c_str(), &ours) == 0 && ours.st_dev == info.st_dev && ours.st_ino == info.st_ino;
  return found;
}

void TracedWorld::choose_runtime(const std::vector<const syntax::ProbePoint*>& points, bool asks_for_kernel) {
  has_kernel_probes_ =
      asks_for_kernel || std::ranges::any_of(points, [](const syntax::ProbePoint* point) { return needs_kernel(*point); });
  switch (options_.runtime) {
    case Runtime::kInProcess: domain_ = sema::Domain::kTarget; return;
    case Runtime::kBpf: domain_ = sema::Domain::kKernel; return;
    case Runtime::kAuto: break;
  }
  // Handlers that share a global share memory: where the kernel's can't be shared with processes, one kernel probe, and all run
  // there. Without -c and -x, uprobes see all processes. timer.profile can be sampled either way; the threads of a process, with
  // their stacks.
  const bool any =
      has_kernel_probes_ ||
      (!has_target() && std::ranges::any_of(points, [](const syntax::ProbePoint* point) { return is_profile(*point); }));
  const bool kernel = !options_.only_lists && (!has_target() || (any && !can_mix()));
  domain_ = kernel ? sema::Domain::kKernel : sema::Domain::kTarget;
}

Result<void> TracedWorld::require_kernel(const char* what) const {
  if (options_.runtime != Runtime::kInProcess) {
    if (access("/sys/kernel", F_OK) == 0) return {};
    return Error{fmt::format("'{}' needs sysfs, which is not mounted at /sys", what), "as root: mount -t sysfs sysfs /sys"};
  }
  return Error{fmt::format("'{}' runs in the kernel, but --runtime=inproc was given", what), "use --runtime=bpf"};
}

namespace {

Result<KernelImage> open_kernel(kernelinfo::KernelInfo& kernel) {
  TRY(std::string path, kernel.debug_image());
  KernelImage image;
  TRY(image.module, debuginfo::Module::open(path));
  if (!image.module->has_debug_info()) return Error{fmt::format("{} has no debug information", path), ""};
  TRY(const kernelinfo::Symbols* symbols, kernel.symbols());
  auto address_of = [&](const char* name) {
    const std::vector<kernelinfo::Symbol> found = symbols->named(name, "");
    return found.empty() ? uint64_t{0} : found[0].address;
  };
  const uint64_t text_begin = address_of("_stext"), text_end = address_of("_etext");
  if (text_begin == 0 || text_end <= text_begin)
    return Error{"the kernel hides its addresses, so its debug information can't be applied",
                 kernel.kptr_restrict() > 1 ? "as root: sysctl kernel.kptr_restrict=1" : "run as root"};
  image.text = {{text_begin, text_end}};
  // The linker script of the kernel begins the first segment with _text: arch/x86/kernel/vmlinux.lds.S. What lies below is of
  // each CPU.
  const auto& segments = image.module->segments();
  const auto first = std::ranges::find_if(segments, [](const debuginfo::Segment& segment) { return segment.executable; });
  const uint64_t start = address_of("_text");
  if (first == segments.end() || start == 0)
    return Error{fmt::format("{}: not an image of the kernel, or the kernel doesn't show where its code begins", path), ""};
  image.parts = {{first->address.value, ~uint64_t{0}, start - first->address.value}};
  return image;
}

Result<KernelImage> open_module(const kernelinfo::KernelInfo& kernel, const std::string& name) {
  if (!kernel.has_module(name))
    return Error{fmt::format("the module '{}' is not loaded: what its debug information says has no address yet", name),
                 fmt::format("load it first: modprobe {}", name)};
  TRY(kernelinfo::ModuleImage opened, kernel.module_image(name));
  KernelImage image;
  image.name = name;
  image.module = std::move(opened.object.module);
  image.file = std::move(opened.object.file);
  for (const kernelinfo::LoadedSection& section : opened.sections) {
    image.parts.push_back({section.begin.value, section.begin.value + section.size, section.address - section.begin.value});
    if (section.executable) image.text.emplace_back(section.address, section.address + section.size);
  }
  return image;
}

}  // namespace

std::optional<uint64_t> KernelImage::running(FileAddress address) const {
  for (const Part& part : parts) {
    if (address.value >= part.begin && address.value < part.end) return address.value + part.bias;
  }
  return std::nullopt;
}

std::optional<FileAddress> KernelImage::in_file(uint64_t address) const {
  for (const Part& part : parts) {
    if (address - part.bias >= part.begin && address - part.bias < part.end) return FileAddress(address - part.bias);
  }
  return std::nullopt;
}

bool KernelImage::is_text(uint64_t address) const {
  return std::ranges::any_of(text, [&](const auto& range) { return address >= range.first && address < range.second; });
}

Result<const KernelImage*> TracedWorld::kernel_image(const std::string& name) {
  auto known = kernel_images_.find(name);
  if (known == kernel_images_.end())
    known = kernel_images_.emplace(name, name.empty() ? open_kernel(kernel_) : open_module(kernel_, name)).first;
  if (!known->second.ok()) return known->second.error();
  return &*known->second;
}

void TracedWorld::save_answers() {
  for (auto& [name, image] : kernel_images_) {
    if (image.ok()) image->module->save_cache();
  }
  for (auto& [path, module] : modules_) module->save_cache();
}

Result<std::shared_ptr<debuginfo::Module>> TracedWorld::module(const std::string& path) {
  auto known = modules_.find(path);
  if (known != modules_.end()) return known->second;
  if (path.empty()) {
    return Error{"variables are not known here: process.allocator is about functions of any file",
                 "use int_arg(1), pointer_arg(2), returnval()"};
  }
  if (path.starts_with(kKernelImage)) {
    TRY(const KernelImage* image, kernel_image(path.substr(std::min(path.size(), sizeof kKernelImage))));
    return image->module;
  }
  debuginfo::OpenOptions options;
  if (const debuginfo::MappedFile* mapped = find_mapped(path)) {
    TRY(options, debuginfo::options_for(*mapped));
  } else if (process() != 0) {
    // Not loaded yet: the process would find it in its own root directory.
    std::string root = fmt::format("/proc/{}/root", process());
    struct stat ours, theirs;
    bool there = stat((root + path).c_str(), &theirs) == 0;
    bool same = there && stat(path.c_str(), &ours) == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
    if (there && !same) options.root = root;
  }
  options.servers = servers_;
  TRY(std::shared_ptr<debuginfo::Module> opened, debuginfo::Module::open(path, options));
  modules_.emplace(path, opened);
  std::string identity = elf_identity_of_file(options.place_of(path));
  module_files_[path] = {std::move(options), std::move(identity)};
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
  struct stat ours, theirs;
  bool differs = process() != 0 && stat(fmt::format("/proc/{}/root{}", process(), directory).c_str(), &theirs) == 0 &&
                 !(stat(directory.c_str(), &ours) == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino);
  if (directory.empty() || differs) return pattern;
  std::string real = real_path(directory);
  return real.empty() ? pattern : (real == "/" ? "" : real) + pattern.substr(slash);
}

Result<std::string> TracedWorld::find_executable(const std::string& name) const {
  std::string found;
  if (name.find('/') != std::string::npos) {
    PathInProcess theirs = path_in_process(name);
    if (!theirs.path.empty() && !theirs.is_ours) return theirs.path;
    found = theirs.path;
    if (found.empty() && is_file(name)) found = real_path(name);
    // Deleted since the process has mapped it.
    std::error_code ignored;
    std::string whole = std::filesystem::weakly_canonical(name, ignored);
    if (found.empty() && find_mapped(whole)) return whole;
    if (found.empty()) {
      struct stat info;
      bool exists = stat(name.c_str(), &info) == 0;
      return Error{fmt::format("process \"{}\": {}", name, exists ? "not a file" : strerror(errno)), ""};
    }
  } else {
    for (const std::string& directory : path_directories()) {
      std::string candidate = directory + "/" + name;
      PathInProcess theirs = found.empty() ? path_in_process(candidate) : PathInProcess();
      if (!theirs.path.empty() && !theirs.is_ours && theirs.is_executable) return theirs.path;
      if (theirs.is_executable) found = theirs.path;
      if (found.empty() && is_file(candidate) && access(candidate.c_str(), X_OK) == 0) found = real_path(candidate);
    }
    if (found.empty() && is_file(name)) found = real_path(name);
    if (found.empty()) {
      const bool is_number = name.find_first_not_of("0123456789") == std::string::npos;
      return Error{fmt::format("process \"{}\": not found in PATH, nor in the current directory{}", name,
                               name.find(".so") == std::string::npos ? "" : ", nor where the dynamic linker looks for libraries"),
                   is_number ? fmt::format("-x {} names a process by its number", name) : "give its path"};
    }
  }
  std::string interpreter = interpreter_of(found);
  return interpreter.empty() || interpreter == name ? Result<std::string>(found) : find_executable(interpreter);
}

bool TracedWorld::is_named(const std::string& library, const std::string& pattern) {
  if (glob_matches(pattern, std::filesystem::path(library).filename().string())) return true;
  Result<std::shared_ptr<debuginfo::Module>> opened = module(library);
  return opened.ok() && !(*opened)->soname().empty() && glob_matches(pattern, (*opened)->soname());
}

const std::vector<std::string>& TracedWorld::libraries(const std::string& program) {
  auto [known, added] = libraries_.try_emplace(program);
  if (!added) return known->second;
  std::vector<std::string>& paths = known->second;
  std::set<pid_t> running;
  for (const debuginfo::MappedFile& file : mapped_) {
    if (file.is_program && file.path == program) running.insert(file.pid);
  }
  if (running.empty()) {
    paths = linked_libraries(program);
    return paths;
  }
  for (const debuginfo::MappedFile& file : mapped_) {
    bool is_library = running.contains(file.pid) && file.path != program;
    if (is_library && std::find(paths.begin(), paths.end(), file.path) == paths.end()) paths.push_back(file.path);
  }
  return paths;
}

}  // namespace spile::probes
