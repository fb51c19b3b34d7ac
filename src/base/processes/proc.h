#pragma once
// Reads facts about processes from /proc/PID (proc(5)), for several folders.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace spile {

// A line of /proc/PID/maps.
struct Mapping {
  uint64_t begin = 0, end = 0;  // run-time addresses, [begin, end)
  bool readable = false, writable = false, executable = false, shared = false;
  uint64_t offset = 0;             // of `begin` in the file, in bytes
  uint64_t device = 0, inode = 0;  // of the file, as stat(2) gives them; 0: no file
  std::string path;                // "[heap]", "/memfd:spile-code (deleted)", ""

  uint64_t size() const { return end - begin; }
};

// Returns the mappings in the order of the file, which is that of addresses. pid 0: this process. Error: the process has ended,
// or belongs to another user.
Result<std::vector<Mapping>> read_mappings(pid_t pid);
// Parses the text of a maps file. Never fails: fields that are not there are 0, false or "".
std::vector<Mapping> parse_mappings(std::string_view text);

// Returns the IDs of the processes, other than this one, whose program has that name, ascending: the file's last component, or
// the kernel's name of the process (15 bytes of it), as pidof(1) has it. Empty: there is none that this user may look at.
std::vector<pid_t> processes_named(const std::string& name);

// /proc/PID/status of a process or thread.
class ProcessStatus {
 public:
  // text: of a status file.
  explicit ProcessStatus(std::string text) : text_(std::move(text)) {}
  // Reads the file. Has no fields if no thread has this number.
  static ProcessStatus read(pid_t tid);
  // Reads that of this process, whatever its number is in /proc.
  static ProcessStatus of_self();

  // The value of the field `name` ("Uid", "TracerPid", "Tgid", "State"), without the blanks before it; empty if the thread or
  // this kernel has none. Names of processes can't make lines of their own: the kernel escapes ends of lines there.
  std::string field(std::string_view name) const;
  // Whether the thread has a seccomp filter or mode.
  bool has_seccomp_filter() const;

 private:
  std::string text_;
};
// Reads one field of the file as it is now.
inline std::string process_status(pid_t tid, std::string_view name) { return ProcessStatus::read(tid).field(name); }

// Returns a field of /proc/PID/stat, as proc(5) counts them from 1, from the third on, without the end of the line; "": no such
// process or field.
std::string stat_field(pid_t pid, int number);
// The same in the text of the file, whose second field, a name in brackets, may have blanks and brackets itself.
std::string_view stat_field_in(std::string_view text, int number);

// Return the kernel's name of a process, or of a thread of it: at most 15 bytes of any kind, up to the first end of a line. "":
// it has ended.
std::string process_name(pid_t pid);
std::string thread_name(pid_t pid, pid_t tid);

// Returns the path of the program that a process runs, as the kernel has it (" (deleted)" behind it, if it is). "": it can't be
// read, and errno says why: ENOENT also for a kernel thread, a zombie, and, for an instant, while a thread other than the first
// executes a program.
std::string program_of(pid_t pid);

// Returns the IDs of the threads that the process has now, in no order; empty for one that has ended. REQUIRES: pid is not 0.
std::vector<pid_t> threads_of(pid_t pid);
// Calls `look` once in a millisecond until it returns true, for a second at most, and for 20 ms where the process has one thread.
// While a thread other than the first executes a program, the first one has ended, and what /proc has of the process is missing,
// until the kernel gives its number to that thread.
void look_past_exec(pid_t pid, const std::function<bool()>& look);

}  // namespace spile
