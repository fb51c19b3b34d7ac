#include "engine/process/refusal.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <optional>
#include <sstream>

#include "base/processes/proc.h"
#include "base/unique_fd.h"
#include "engine/process/process_status.h"

namespace spile::engine {
namespace {

std::string command_of(pid_t pid) {
  const std::string name = process_name(pid);
  return name.empty() ? "?" : name;
}

int yama_scope() {
  std::ifstream file("/proc/sys/kernel/yama/ptrace_scope");
  int scope = 0;
  file >> scope;
  return scope;
}

}  // namespace

bool is_32_bit(pid_t pid) {
  UniqueFd fd(open(fmt::format("/proc/{}/exe", pid).c_str(), O_RDONLY | O_CLOEXEC));
  unsigned char ident[EI_NIDENT] = {};
  return fd && read(fd.get(), ident, sizeof ident) == sizeof ident && ident[EI_CLASS] == ELFCLASS32;
}

bool lacks_file_rights(pid_t pid) {
  struct stat file;
  if (stat(fmt::format("/proc/{}/exe", pid).c_str(), &file) != 0) return false;
  // Real, effective, saved, file system.
  auto effective = [&](const char* field) {
    unsigned long real = 0, effective = 0;
    std::istringstream(process_status(pid, field)) >> real >> effective;
    return effective;
  };
  bool set_group = (file.st_mode & S_ISGID) && (file.st_mode & S_IXGRP);
  return ((file.st_mode & S_ISUID) && effective("Uid") != file.st_uid) || (set_group && effective("Gid") != file.st_gid);
}

// The kernel's own word, for the dynamic linker: AT_SECURE. Whose real user is root could have them before.
bool has_gained_rights(pid_t pid) {
  if (process_status(pid, "Uid").starts_with("0\t")) return false;
  UniqueFd fd(open(fmt::format("/proc/{}/auxv", pid).c_str(), O_RDONLY | O_CLOEXEC));
  unsigned char bytes[4096];
  ssize_t size = fd ? read(fd.get(), bytes, sizeof bytes) : -1;
  auto find = [&]<typename Word>(Word) -> std::optional<Word> {
    for (ssize_t at = 0; at + static_cast<ssize_t>(2 * sizeof(Word)) <= size; at += 2 * sizeof(Word)) {
      Word entry[2];
      memcpy(entry, bytes + at, sizeof entry);
      if (entry[0] == AT_SECURE) return entry[1];
    }
    return {};
  };
  if (is_32_bit(pid)) return find(uint32_t{}).value_or(1) != 0;
  return find(uint64_t{}).value_or(1) != 0;
}

// ended: set to whether the refusal is that the process has ended.
static Result<void> check_once(pid_t pid, bool& ended) {
  std::string group = process_status(pid, "Tgid");
  if (group.empty()) return explain_refusal(pid, ESRCH);
  if (group != std::to_string(pid)) {
    return Error{fmt::format("attach {}: this is a thread of process {}", pid, group), "attach to " + group};
  }
  if (pid == getpid()) return Error{fmt::format("attach {}: a process can't probe itself", pid), ""};
  std::string state = process_status(pid, "State");
  ended = state.starts_with("Z");
  if (ended) return Error{fmt::format("attach {}: the process has ended (zombie)", pid), ""};
  if (std::string tracer = process_status(pid, "TracerPid"); tracer != "0") {
    return Error{fmt::format("attach {}: already traced by process {} ({})", pid, tracer, command_of(atoi(tracer.c_str()))),
                 "a process can have one tracer at a time; end the other one first"};
  }
  UniqueFd fd(open(fmt::format("/proc/{}/exe", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) {
    // A process at its end has none either. Before Linux 6.10 status does not say which it is; threads of the kernel are
    // kthreadd's.
    int error = errno;
    std::string kernel = process_status(pid, "Kthread");
    if (error == ENOENT && (kernel == "1" || (kernel.empty() && (pid == 2 || process_status(pid, "PPid") == "2"))))
      return Error{fmt::format("attach {}: a kernel thread", pid), "probe the kernel with --runtime=bpf"};
    ended = error == ENOENT;
    if (ended) return Error{fmt::format("attach {}: the process has ended", pid), ""};
    return explain_refusal(pid, error == EACCES ? EPERM : error);
  }
  return {};
}

Result<void> check_attachable(pid_t pid) {
  Result<void> checked;
  look_past_exec(pid, [&] {
    bool ended = false;
    checked = check_once(pid, ended);
    return !ended;
  });
  return checked;
}

Error explain_refusal(pid_t pid, int errnum) {
  std::string what = fmt::format("attach {}", pid);
  if (errnum == ESRCH) return Error{what + ": no such process", ""};
  if (errnum != EPERM) return Error::from_errno(what, errnum);
  uid_t owner = static_cast<uid_t>(atoi(process_status(pid, "Uid").c_str()));
  if (owner != geteuid()) {
    return Error{fmt::format("{}: Operation not permitted (owned by uid {})", what, owner),
                 "run as root, or start the program with -c"};
  }
  if (int scope = yama_scope(); scope > 0) {
    return Error{fmt::format("{}: Operation not permitted (kernel.yama.ptrace_scope is {})", what, scope),
                 "run as root, start the program with -c, or set kernel.yama.ptrace_scope to 0"};
  }
  return Error{what + ": Operation not permitted",
               "the program is not dumpable (set-uid, or by prctl) or has more privileges: run as root"};
}

}  // namespace spile::engine
