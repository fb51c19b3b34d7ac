#pragma once
// Names of code that processes make while they run (node, Java, LuaJIT ...), as they write them for perf: /tmp/perf-PID.map,
// lines "BEGIN SIZE NAME" in hexadecimal, and jitdump (tools/perf/Documentation/jitdump-specification.txt of the kernel), whose
// file the process has mapped as jit-PID.dump. Thread rule: one thread.
//
// Both files are the process's own, and hostile. They are opened below the process's root without following links, must be
// regular files of the process's user (or of root), and are read as they grow, with bounds on bytes, entries and names. Lines and
// records that make no sense are skipped and counted.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"

namespace spile::session {

// The code of one process: what was made later hides what was there before.
class JitCode {
 public:
  void add(uint64_t begin, uint64_t size, std::string_view name);
  // Moves code that begins at `from`; does nothing where none does.
  void move(uint64_t from, uint64_t to, uint64_t size);
  // Returns the name of the code at an address; "": there is none.
  std::string_view name_at(uint64_t address) const;
  // Returns entries that are not kept, as there are too many.
  uint64_t lost() const { return lost_; }

  static constexpr size_t kMostEntries = 1'000'000, kLongestName = 1024;

 private:
  struct Range {
    uint64_t end;
    std::string name;
  };
  std::map<uint64_t, Range> ranges_;  // by begin; they do not overlap
  uint64_t lost_ = 0;
};

// Take the whole lines, or records, of a text that is a part of the file; return the number of bytes taken. malformed: those that
// make no sense are added. A jitdump begins with its header where `is_begin`; ~0: it is not one, or its end can't be found any
// more.
size_t read_perf_map(std::string_view text, JitCode& code, uint64_t& malformed);
size_t read_jitdump(std::string_view bytes, bool is_begin, JitCode& code, uint64_t& malformed);

class JitNames {
 public:
  // Returns the name of the code at an address of a process; "": not known. Reads what its files have got since the last call, at
  // most once in 20 ms for addresses that are not known, also after the process has ended if it was asked for before.
  std::string_view name_at(pid_t pid, uint64_t address);
  // Returns warnings about files that were not believed or are damaged.
  std::vector<std::string> losses() const;

 private:
  struct File {
    UniqueFd fd;
    uint64_t read = 0;  // bytes
    bool is_jitdump = false, ended = false;
  };
  struct Process {
    std::vector<File> files;
    JitCode code;
    bool has_map = false, has_dump = false;
    int64_t next_look = 0;  // monotonic ns
  };
  void look_for_files(pid_t pid, Process& process);
  void add_file(pid_t pid, Process& process, const std::string& path, bool is_jitdump);
  void read_more(Process& process);

  std::map<pid_t, Process> processes_;
  std::vector<std::string> refused_;
  uint64_t malformed_ = 0;
};

}  // namespace spile::session
