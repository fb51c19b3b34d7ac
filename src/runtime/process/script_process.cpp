// The library's functions about the process that runs, beyond what context.cpp knows. "The process" is the one that runs the
// handler or, in the controller, the one that the handler is about. A handler in a process asks the controller
// (abi/questions.h); one in the controller reads files of /proc. What can't be known of a process is a script error: one that has
// ended has no memory any more, nor a command line.

#include "abi/system_calls.h"
#include "runtime/core/script_functions.h"

namespace spile::rt {

namespace {

inline constexpr long kHere = -100;                 // AT_FDCWD
inline constexpr long kReadCloseOnExec = 02000000;  // O_RDONLY | O_CLOEXEC

// A file of /proc, read from its start in pieces.
class ProcFile {
 public:
  explicit ProcFile(const char* path)
      : descriptor_(may_call_system() ? system_call(__NR_openat, kHere, reinterpret_cast<long>(path), kReadCloseOnExec, 0) : -1) {
  }
  ~ProcFile() {
    if (descriptor_ >= 0) system_call(__NR_close, descriptor_);
  }
  // 0 or less at its end, or where it can't be read.
  int64_t read(char* to, uint64_t size) {
    return descriptor_ < 0 ? -1 : system_call(__NR_read, descriptor_, reinterpret_cast<long>(to), static_cast<long>(size));
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

// Words of a file in which each is ended by a NUL, one byte at a time.
class FileReader {
 public:
  explicit FileReader(const char* path) : file_(path) {}
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

// The same words where the kernel reads them: in the process's own memory.
class MemoryReader {
 public:
  MemoryReader(uint64_t begin, uint64_t end) : at_(begin), end_(end) {}
  bool next(char* byte) {
    uint64_t word;
    if (at_ >= end_ || controller_gone(arena_header()) || !load_word<1>(at_, &word)) return false;
    *byte = static_cast<char>(word);
    ++at_;
    return true;
  }

 private:
  uint64_t at_, end_;
};

// Of a process or thread of the subject's; a path that leads nowhere when that is past.
ProcPath path_of(const abi::Subject* subject, int64_t pid, const char* file) {
  return ProcPath(subject->is_past ? 0 : pid, file);
}

// A file of the process that a handler of the controller is about, or else of spile.
struct OwnPath : ProcPath {
  OwnPath(Context* context, const char* file) : ProcPath(0, "") {
    if (const abi::Subject* subject = subject_of(context)) {
      *static_cast<ProcPath*>(this) = path_of(subject, subject->pid, file);
      return;
    }
    copy_bytes(text, "/proc/self", 10);
    uint32_t at = 10;
    while (*file) text[at++] = *file++;
    text[at] = 0;
  }
};

// The n-th number of a text, from 0; -1: it is shorter.
int64_t number_in(const char* text, int64_t length, int64_t n) {
  int64_t at = 0;
  for (; n > 0 && at < length; ++at) n -= text[at] == ' ';
  if (at >= length || text[at] < '0' || text[at] > '9') return -1;
  int64_t value = 0;
  for (; at < length && text[at] >= '0' && text[at] <= '9'; ++at) value = value * 10 + (text[at] - '0');
  return value;
}

// What follows the name in a text like /proc/PID/stat: the state is the number 0. The name may hold anything, but nothing
// after it holds a parenthesis.
const char* behind_name(const char* text, int64_t* length) {
  int64_t at = *length;
  while (at > 0 && text[at - 1] != ')') --at;
  if (at == 0 || at + 1 >= *length) return nullptr;
  *length -= at + 1;
  return text + at + 1;
}

// The n-th number of statm (file 0), or of what follows the name in stat (file 1); -1: not known. Of a process that has
// ended but is still listed, statm says 0.
int64_t number_of(const char* path, int64_t file, int64_t n) {
  char text[512];
  int64_t length = ProcFile(path).read(text, sizeof(text) - 1);
  if (length <= 0) return -1;
  if (file == 0) return number_in(text, length, 0) > 0 ? number_in(text, length, n) : -1;
  const char* rest = behind_name(text, &length);
  return rest ? number_in(rest, length, n) : -1;
}

bool has_memory(Context* context) { return number_of(OwnPath(context, "/statm").text, 0, 0) > 0; }

// The last number in the line `name` of a status file: those that are per namespace end with the process's own. count: how
// many numbers there are; which: not nothing, the number of that place instead. -1: not known.
int64_t number_in_status(const char* path, const char* name, int64_t* count, int64_t which = -1) {
  FileReader reader(path);
  *count = 0;
  int64_t value = -1, chosen = -1;
  uint32_t matched = 0;
  bool at_name = true, in_line = false, in_number = false;
  for (char byte; reader.next(&byte);) {
    if (byte == '\n') {
      if (in_line) break;
      matched = 0;
      at_name = true;
      in_line = false;
    } else if (at_name) {
      if (name[matched] == 0 && byte == ':') in_line = true;
      at_name = !in_line && name[matched] != 0 && byte == name[matched];
      ++matched;
    } else if (in_line && byte >= '0' && byte <= '9') {
      if (!in_number) ++*count;
      value = (in_number ? value * 10 : 0) + (byte - '0');
      if (which < 0 || *count == which + 1) chosen = value;
      in_number = true;
      continue;
    }
    in_number = false;
  }
  return chosen;
}

// Returns the number that a user namespace has for the user or group `outside`, by /proc/PID/uid_map: lines "INSIDE OUTSIDE
// COUNT"; nobody's number if the map does not list it.
int64_t name_inside(const char* path, int64_t outside) {
  constexpr int64_t kNobody = 65534;
  FileReader reader(path);
  int64_t numbers[3] = {}, n = -1, found = -1;
  bool in_number = false, any = false;
  for (char byte; reader.next(&byte);) {
    bool digit = byte >= '0' && byte <= '9';
    if (digit && !in_number) numbers[++n < 3 ? n : 2] = 0;
    if (digit && n >= 0 && n < 3) numbers[n] = numbers[n] * 10 + (byte - '0');
    in_number = digit;
    if (byte != '\n') continue;
    any = true;
    if (n == 2 && outside >= numbers[1] && outside - numbers[1] < numbers[2]) found = numbers[0] + outside - numbers[1];
    n = -1;
  }
  return found >= 0 ? found : any ? kNobody : -1;
}

int64_t subjects_number(const abi::Subject* subject, int64_t what) {
  ProcPath status = path_of(subject, subject->pid, "/status");
  int64_t levels = 0, parents_levels = 0;
  switch (what) {
    case abi::kPid: return subject->inner_pid > 0 ? subject->inner_pid : -1;
    case abi::kTid: return subject->inner_tid > 0 ? subject->inner_tid : -1;
    case abi::kProcessGroup: return number_in_status(status.text, "NSpgid", &levels);
    case abi::kSessionId: return number_in_status(status.text, "NSsid", &levels);
    case abi::kParentPid: {
      if (number_in_status(status.text, "NSpid", &levels) < 0) return -1;
      // One outside has no number.
      int64_t number = subject->ppid == 0
                           ? 0
                           : number_in_status(ProcPath(subject->ppid, "/status").text, "NSpid", &parents_levels, levels - 1);
      return parents_levels >= levels ? number : 0;
    }
    case abi::kUser: return name_inside(path_of(subject, subject->pid, "/uid_map").text, subject->uid);
    case abi::kEffectiveUser: return name_inside(path_of(subject, subject->pid, "/uid_map").text, subject->euid);
    case abi::kUserGroup: return name_inside(path_of(subject, subject->pid, "/gid_map").text, subject->gid);
    case abi::kEffectiveGroup: return name_inside(path_of(subject, subject->pid, "/gid_map").text, subject->egid);
    default: return -1;
  }
}

bool ask_for_memory(abi::Question* question) {
  question->what = abi::Question::kMemory;
  return ask_controller(question);
}

// Writes words first to last (-1: all). False: the list of words is empty.
template <typename Reader>
SPILE_INLINE inline bool put_words(Reader&& reader, int64_t first, int64_t last, const char* delimiter, char* out) {
  TextBuffer buffer = {out, 0};
  uint32_t delimiter_length = spile_rt_string_length(delimiter);
  int64_t word = 0;
  bool begins = true, any = false;
  for (char byte; reader.next(&byte) && (any = true) && (last < 0 || word <= last) && buffer.room();) {
    if (begins && word > first) buffer.put(delimiter, delimiter_length);
    begins = byte == 0;
    if (begins) {
      ++word;
    } else if (word >= first) {
      buffer.put(&byte, 1);
    }
  }
  buffer.end();
  return any;
}

// Writes the value of the word `name=VALUE`. False: the list of words is empty.
template <typename Reader>
SPILE_INLINE inline bool put_variable(Reader&& reader, const char* name, char* out) {
  TextBuffer buffer = {out, 0};
  uint32_t length = spile_rt_string_length(name), matched = 0;
  bool differs = false, found = false, any = false;
  for (char byte; reader.next(&byte);) {
    any = true;
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
  return any;
}

}  // namespace

// Where its thread runs, or ran last; -1: not known.
int64_t processor_of(const abi::Subject* subject) {
  constexpr int64_t kProcessor = 36;
  return number_of(path_of(subject, subject->tid, "/stat").text, 1, kProcessor);
}

extern "C" {

SPILE_INLINE int64_t spile_fn___in_kernel(Context*) { return 0; }
// Bytes of a word that arguments of the system call point to: its registers say whether it is one of 32-bit code.
SPILE_INLINE int64_t spile_fn___call_word(Context* context) {
  const abi::Subject* subject = subject_of(context);
  return subject && (subject->registers[abi::kConvention.flags] & abi::kForeignCallFlag) ? 4 : 8;
}
SPILE_INLINE int64_t spile_fn___known_call(Context*, int64_t number) { return number; }
// What only handlers in the kernel know.
SPILE_INLINE int64_t spile_fn___task_of(Context*, int64_t) { return 0; }
SPILE_INLINE int64_t spile_fn___memory_bound(Context*, int64_t) { return 0; }

// In the controller, without a subject: of spile itself.
[[gnu::noinline]] int64_t spile_fn_ppid(Context* context) {
  if (const abi::Subject* subject = subject_of(context)) return subject->ppid;
  return may_call_system() ? system_call(__NR_getppid) : ask_number(abi::Question::kParent);
}
#define SPILE_USER_NUMBER(NAME, MEMBER, CALL)                                      \
  [[gnu::noinline]] int64_t spile_fn_##NAME(Context* context) {                    \
    if (const abi::Subject* subject = subject_of(context)) return subject->MEMBER; \
    if (may_call_system()) return system_call(CALL);                               \
    abi::Question question;                                                        \
    const abi::ThreadValues* values = values_of_thread(context, &question);        \
    return values ? int64_t{values->MEMBER} : -1;                                  \
  }
SPILE_USER_NUMBER(euid, euid, __NR_geteuid)
SPILE_USER_NUMBER(gid, gid, __NR_getgid)
SPILE_USER_NUMBER(egid, egid, __NR_getegid)
#undef SPILE_USER_NUMBER
// -1: not known.
[[gnu::noinline]] int64_t spile_fn___pgrp(Context* context) {
  if (const abi::Subject* subject = subject_of(context)) return number_of(path_of(subject, subject->pid, "/stat").text, 1, 2);
  return may_call_system() ? system_call(__NR_getpgid) : ask_number(abi::Question::kGroup);
}
[[gnu::noinline]] int64_t spile_fn___sid(Context* context) {
  if (const abi::Subject* subject = subject_of(context)) return number_of(path_of(subject, subject->pid, "/stat").text, 1, 3);
  return may_call_system() ? system_call(__NR_getsid) : ask_number(abi::Question::kSession);
}
// What the process is called in its own namespaces. -1: not known.
#define SPILE_NAMESPACE_NUMBER(NAME, WHAT, CALL)                                                       \
  [[gnu::noinline]] int64_t spile_fn___ns_##NAME(Context* context) {                                   \
    if (const abi::Subject* subject = subject_of(context)) return subjects_number(subject, abi::WHAT); \
    return may_call_system() ? system_call(CALL) : ask_number(abi::Question::kNamespace, abi::WHAT);   \
  }
SPILE_NAMESPACE_NUMBER(pid, kPid, __NR_getpid)
SPILE_NAMESPACE_NUMBER(tid, kTid, __NR_gettid)
SPILE_NAMESPACE_NUMBER(ppid, kParentPid, __NR_getppid)
SPILE_NAMESPACE_NUMBER(pgrp, kProcessGroup, __NR_getpgid)
SPILE_NAMESPACE_NUMBER(sid, kSessionId, __NR_getsid)
SPILE_NAMESPACE_NUMBER(uid, kUser, __NR_getuid)
SPILE_NAMESPACE_NUMBER(euid, kEffectiveUser, __NR_geteuid)
SPILE_NAMESPACE_NUMBER(gid, kUserGroup, __NR_getgid)
SPILE_NAMESPACE_NUMBER(egid, kEffectiveGroup, __NR_getegid)
#undef SPILE_NAMESPACE_NUMBER

// The name of a process, as execname() has it; "": no process has this number.
[[gnu::noinline]] void spile_fn_pid2execname(Context*, int64_t pid, char* out) {
  if (!may_call_system()) {
    abi::Question question;
    question.what = abi::Question::kNameOf;
    question.argument = pid;
    if (!ask_controller(&question)) question.values.name[0] = 0;
    question.values.name[sizeof question.values.name - 1] = 0;
    return spile_rt_string_copy(out, question.values.name);
  }
  ProcPath path(pid, "/comm");
  char name[17];
  int64_t length = pid > 0 ? ProcFile(path.text).read(name, 16) : 0;
  if (length > 0 && name[length - 1] == '\n') --length;
  name[length > 0 ? length : 0] = 0;
  spile_rt_string_copy(out, name);
}

// The n-th number, from 0, of /proc/PID/statm (file 0), or of what follows the name in /proc/PID/stat (file 1; the state
// counts as the number 0). PID 0: this process. -1: not known.
[[gnu::noinline]] int64_t spile_fn___process_number(Context* context, int64_t pid, int64_t file, int64_t n) {
  if (pid < 0) return -1;
  if (!may_call_system()) {
    abi::Question question;
    question.what = abi::Question::kProcessNumber;
    question.argument = pid;
    question.file = file;
    question.field = n;
    return ask_controller(&question) ? question.number : -1;
  }
  const char* name = file == 0 ? "/statm" : "/stat";
  return pid == 0 ? number_of(OwnPath(context, name).text, file, n) : number_of(ProcPath(pid, name).text, file, n);
}

[[gnu::noinline]] int64_t spile_fn___parent_of(Context* context, int64_t pid) {
  if (pid <= 0) return 0;
  const int64_t parent = spile_fn___process_number(context, pid, 1, 1);
  return parent > 0 ? parent : 0;
}

// To the current thread. fault: the signal was not sent.
[[gnu::noinline]] void spile_fn_raise(Context* context, int64_t signal, bool* fault) {
  *fault = true;
  if (!may_call_system()) {
    *fault = ask_number(abi::Question::kRaise, signal) != 0;
    return;
  }
  if (const abi::Subject* subject = subject_of(context)) {
    *fault = subject->is_past || system_call(__NR_tgkill, subject->pid, subject->tid, signal) != 0;
    return;
  }
  *fault = system_call(__NR_tgkill, system_call(__NR_getpid), system_call(__NR_gettid), signal) != 0;
}

// Words first to last (-1: all) of this process's command line, with a delimiter between them.
[[gnu::noinline]] void spile_fn___cmdline_args(Context* context, int64_t first, int64_t last, const char* delimiter, char* out,
                                               bool* fault) {
  if (may_call_system()) {
    *fault = !put_words(FileReader(OwnPath(context, "/cmdline").text), first, last, delimiter, out) && !has_memory(context);
    return;
  }
  abi::Question question;
  *fault = !ask_for_memory(&question);
  if (*fault) question.ranges.arguments = question.ranges.arguments_end = 0;
  put_words(MemoryReader(question.ranges.arguments, question.ranges.arguments_end), first, last, delimiter, out);
}

// The value of a variable in the environment that the process was started with.
[[gnu::noinline]] void spile_fn___env_var(Context* context, const char* name, char* out, bool* fault) {
  if (may_call_system()) {
    *fault = !put_variable(FileReader(OwnPath(context, "/environ").text), name, out) && !has_memory(context);
    return;
  }
  abi::Question question;
  *fault = !ask_for_memory(&question);
  if (*fault) question.ranges.environment = question.ranges.environment_end = 0;
  put_variable(MemoryReader(question.ranges.environment, question.ranges.environment_end), name, out);
}

}  // extern "C"

}  // namespace spile::rt
