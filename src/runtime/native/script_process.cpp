// The library's functions about the process that runs, beyond what context.cpp knows. They make system calls, some of
// them read files of /proc through a descriptor that is open for an instant; none where the process runs under a seccomp
// filter: the answer is then empty, or -1.

#include "runtime/native/script_functions.h"

namespace spile::rt {

namespace {

inline constexpr long kSysRead = 0, kSysClose = 3, kSysGetgid = 104, kSysGeteuid = 107, kSysGetegid = 108,
                      kSysGetppid = 110, kSysGetpgid = 121, kSysGetsid = 124, kSysOpenat = 257;
inline constexpr long kHere = -100;                  // AT_FDCWD
inline constexpr long kReadCloseOnExec = 02000000;   // O_RDONLY | O_CLOEXEC

SPILE_COLD int64_t ask_system(long number) {
  return may_call_system() ? system_call(number) : -1;
}

long system_call4(long number, long a, long b, long c, long d) {
  long result;
  register long r10 asm("r10") = d;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
  return result;
}

// A file of /proc, read from its start in pieces.
class ProcFile {
 public:
  explicit ProcFile(const char* path)
      : descriptor_(may_call_system()
                        ? system_call4(kSysOpenat, kHere, reinterpret_cast<long>(path), kReadCloseOnExec, 0)
                        : -1) {}
  ~ProcFile() {
    if (descriptor_ >= 0) system_call(kSysClose, descriptor_);
  }
  // 0 or less at its end, or where it can't be read.
  int64_t read(char* to, uint64_t size) {
    return descriptor_ < 0 ? -1 : system_call(kSysRead, descriptor_, reinterpret_cast<long>(to), static_cast<long>(size));
  }

 private:
  long descriptor_;
};

// "/proc/NUMBER/FILE" in 48 bytes.
struct ProcPath {
  char text[48];
  ProcPath(int64_t pid, const char* file) {
    copy_bytes(text, "/proc/", 6);
    char digits[20];
    uint32_t count = 0, at = 6;
    for (uint64_t rest = static_cast<uint64_t>(pid); rest || !count; rest /= 10) {
      digits[count++] = static_cast<char>('0' + rest % 10);
    }
    while (count) text[at++] = digits[--count];
    while (*file) text[at++] = *file++;
    text[at] = 0;
  }
};

// The parent of a process, or 0.
int64_t parent_of(int64_t pid) {
  if (pid <= 0) return 0;
  ProcPath path(pid, "/stat");
  char text[128];
  int64_t length = ProcFile(path.text).read(text, sizeof(text) - 1);
  if (length <= 0) return 0;
  text[length] = 0;
  // "PID (name) S PPID": the name may hold anything, but nothing after it holds a parenthesis.
  int64_t at = length;
  while (at > 0 && text[at - 1] != ')') --at;
  if (at == 0) return 0;
  at += 3;
  int64_t parent = 0;
  for (; at < length && text[at] >= '0' && text[at] <= '9'; ++at) parent = parent * 10 + (text[at] - '0');
  return parent;
}

// Words of a file in which each is ended by a NUL, one byte at a time.
class WordReader {
 public:
  explicit WordReader(const char* path) : file_(path) {}
  bool next(char* byte) {
    if (at_ == filled_) {
      filled_ = file_.read(buffer_, sizeof(buffer_));
      at_ = 0;
      if (filled_ <= 0) {
        filled_ = 0;
        return false;
      }
    }
    *byte = buffer_[at_++];
    return true;
  }

 private:
  ProcFile file_;
  int64_t at_ = 0, filled_ = 0;
  char buffer_[256];
};

}  // namespace

extern "C" {

SPILE_INLINE int64_t spile_fn_ppid(Context* context) {
  if (const abi::Subject* subject = subject_of(context)) return subject->ppid;
  return ask_system(kSysGetppid);
}
SPILE_INLINE int64_t spile_fn_euid(Context* context) {
  if (const abi::Subject* subject = subject_of(context)) return subject->euid;
  return ask_system(kSysGeteuid);
}
SPILE_INLINE int64_t spile_fn_gid(Context* context) {
  if (const abi::Subject* subject = subject_of(context)) return subject->gid;
  return ask_system(kSysGetgid);
}
SPILE_INLINE int64_t spile_fn_egid(Context* context) {
  if (const abi::Subject* subject = subject_of(context)) return subject->egid;
  return ask_system(kSysGetegid);
}
SPILE_INLINE int64_t spile_fn_pgrp(Context*) {
  return ask_system(kSysGetpgid);
}
SPILE_INLINE int64_t spile_fn_sid(Context*) {
  return ask_system(kSysGetsid);
}

// The name of a process, as execname() has it; "" where there is none.
[[gnu::noinline]] void spile_fn_pid2execname(Context*, int64_t pid, char* out) {
  ProcPath path(pid, "/comm");
  char name[17];
  int64_t length = pid > 0 ? ProcFile(path.text).read(name, 16) : 0;
  if (length > 0 && name[length - 1] == '\n') --length;
  name[length > 0 ? length : 0] = 0;
  spile_rt_string_copy(out, name);
}

[[gnu::noinline]] int64_t spile_fn___parent_of(Context*, int64_t pid) {
  return parent_of(pid);
}

// The n-th number, from 0, of /proc/PID/statm (file 0), or of what follows the name in /proc/PID/stat (file 1; the state
// counts as the number 0). PID 0: this process. 0 where there is none.
[[gnu::noinline]] int64_t spile_fn___process_number(Context*, int64_t pid, int64_t file, int64_t n) {
  if (pid < 0) return 0;
  ProcPath path(pid, file == 0 ? "/statm" : "/stat");
  char text[400];
  int64_t length =
      ProcFile(pid ? path.text : file == 0 ? "/proc/self/statm" : "/proc/self/stat").read(text, sizeof(text) - 1);
  if (length <= 0) return 0;
  text[length] = 0;
  int64_t at = 0;
  if (file != 0) {
    at = length;
    while (at > 0 && text[at - 1] != ')') --at;
    ++at;
  }
  for (; n > 0 && at < length; ++at) n -= text[at] == ' ';
  int64_t value = 0;
  for (; at < length && text[at] >= '0' && text[at] <= '9'; ++at) value = value * 10 + (text[at] - '0');
  return value;
}

// To the current thread.
[[gnu::noinline]] void spile_fn_raise(Context*, int64_t signal) {
  constexpr long kSysTgkill = 234;
  if (!may_call_system()) return;
  system_call(kSysTgkill, system_call(kSysGetpid), system_call(kSysGettid), signal);
}

// Words first to last (-1: all) of this process's command line, with a delimiter between them.
[[gnu::noinline]] void spile_fn_cmdline_args(Context*, int64_t first, int64_t last, const char* delimiter, char* out) {
  WordReader reader("/proc/self/cmdline");
  TextBuffer buffer = {out, 0};
  uint32_t delimiter_length = spile_rt_string_length(delimiter);
  int64_t word = 0;
  bool begins = true;
  for (char byte; reader.next(&byte) && (last < 0 || word <= last) && buffer.room();) {
    if (begins && word > first) buffer.put(delimiter, delimiter_length);
    begins = byte == 0;
    if (begins) {
      ++word;
    } else if (word >= first) {
      buffer.put(&byte, 1);
    }
  }
  buffer.end();
}

// The value of a variable in the environment that the process was started with.
[[gnu::noinline]] void spile_fn_env_var(Context*, const char* name, char* out) {
  WordReader reader("/proc/self/environ");
  TextBuffer buffer = {out, 0};
  uint32_t length = spile_rt_string_length(name), matched = 0;
  bool differs = false, found = false;
  for (char byte; reader.next(&byte);) {
    if (byte == 0) {
      if (found) break;
      matched = 0;
      differs = false;
    } else if (found) {
      buffer.put(&byte, 1);
    } else if (!differs && matched == length && byte == '=') {
      found = true;
    } else if (!differs) {
      differs = matched >= length || byte != name[matched];
      ++matched;
    }
  }
  buffer.end();
}

}  // extern "C"

}  // namespace spile::rt
