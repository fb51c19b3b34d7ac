#pragma once
// What a handler in a process can't know by itself: who runs it, and what the kernel counts for that. Handlers make no system
// calls, since a seccomp filter might end the process for one. They ask the controller, which traces the process: a load from
// kQuestionBell plus the address of a Question stops the thread by SIGSEGV, the controller fills in the answer, and moves the
// thread on behind the load.

#include <stdint.h>

namespace spile::abi {

// A kernel address, whatever is added: the load always faults. Its lowest bits tell it from the bells of arena.h: a Question is
// aligned to 8.
inline constexpr uint64_t kQuestionBell = 0xffff'8000'0000'0001;

// How a thread is called and whose it is: what changes seldom, by the program's own calls.
struct ThreadValues {
  int64_t asked_ns;  // when the controller was asked, in ns since 1970; 0: never
  char name[16];     // as /proc/PID/task/TID/comm, without the newline; ends with a NUL
  int32_t pid, tid;  // as spile sees them
  uint32_t uid, euid, gid, egid;
};
static_assert(sizeof(ThreadValues) == 48);

struct Question {
  enum What : uint64_t {
    kThread,     // values
    kParent,     // of the process: as spile sees it; 0: outside of its PID namespace
    kGroup,      // the process group's number
    kSession,    // the session's number
    kNamespace,  // argument: a NamespaceNumber: the number as the process itself sees it
    kMemory,     // ranges: where the command line and the environment lie in the process's memory
    kNameOf,     // argument: a process: values.name; "": the process does not exist
    // argument: a process or thread, 0: the thread's process; file, field: as __process_number() of script_process
    kProcessNumber,
    kUsage,  // argument: a ThreadCounter of script_codes.h: what the kernel has counted for the thread
    kTime,   // argument: CLOCK_REALTIME or CLOCK_MONOTONIC: what the time is, in ns
    kRaise,  // argument: a signal, which the thread is sent; the answer is 0 if it was
  };
  uint64_t what;
  int64_t argument, file, field;
  uint64_t answered;  // 1: the controller has filled in the answer
  int64_t number;     // the answer; -1: not known
  union {
    ThreadValues values;
    struct {
      uint64_t arguments, arguments_end, environment, environment_end;
    } ranges;
  };
};
static_assert(sizeof(Question) == 96);

// Numbers of a process or thread in its own namespaces.
enum NamespaceNumber : int64_t {
  kPid,
  kTid,
  kParentPid,
  kProcessGroup,
  kSessionId,
  kUser,
  kEffectiveUser,
  kUserGroup,
  kEffectiveGroup
};

}  // namespace spile::abi
