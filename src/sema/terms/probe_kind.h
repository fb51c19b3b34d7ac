#pragma once
// The kinds of probes and their properties: a new kind is one row of the table.
//
// A place in a process's code needs no kind of its own: families of such places (marks, labels, PLT entries, callees) resolve to
// kFunctionEntry, kFunctionReturn or kStatement.
//
// To add a kind:
//   1. here: the enumerator and its row of kProbeKinds
//   2. src/probes/FAMILY.cpp: resolve() makes points of the kind (a new family is one line in registry.cpp: see family.h)
//   3. where it happens: the file that Source names; a Source of its own is a line here and a call in session/live/script_run.cpp
//   4. src/probes/world.cpp: only if it has $variables that no other kind has (a new Variables)
//   5. tests/e2e/NAME.py
// As for everything that users see, docs/man/spile.1 and CHANGELOG.md get their lines.

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace spile::sema {

// ORDER PROBE_KIND (kProbeKinds)
enum class ProbeKind : uint8_t {
  kBegin,
  kEnd,
  kError,
  kNever,
  kTimer,  // in the controller
  kProcfsRead,
  kProcfsWrite,
  kFunctionEntry,
  kFunctionReturn,  // process.*: in the process, or a uprobe in the kernel
  kStatement,       // any instruction in a process: statements, inlined functions, marks, labels, calls of callees
  kTracepoint,      // kernel.trace("system:event")
  kProfile,         // timer.profile
  kPerfSample,      // perf.*: in the kernel, when an event has been counted so many times
  kPacket,          // netfilter.*: in the kernel, for each packet that passes a hook
  kProcessBegin,    // in the controller, while the process stands still
  kProcessEnd,
  kThreadBegin,
  kThreadEnd,
  kSystemCall,
  kSystemCallReturn,
  // process.data: controller, a little after it; kernel.data: kernel; size bytes at address; sequence: 1 where reads count too
  kDataAccess,
};

// Who notices that it happens, and runs the handlers or has them run.
enum class Source : uint8_t {
  kNobody,
  kSession,  // session/live/script_run.cpp
  kClock,    // session/live/timers.cpp
  kFile,     // session/serve/procfs_files.cpp, http_files.cpp: somebody reads or writes it
  // a place in a process, armed by engine (sema/sharing/group_sites.cpp); session/places/attach_plan.cpp where it is a uprobe
  kCode,
  kKernel,  // session/places/attach_plan.cpp: an attached eBPF program
  // session/stacks/thread_sampler.cpp: perf events of threads; session/places/attach_plan.cpp where the domain is the kernel
  kSampler,
  kWatch,  // session/places/process_watch.cpp: engine reports what threads do
};

// Whose $variables a handler can read.
enum class Variables : uint8_t {
  kNone,
  kFunction,    // of the function that the thread is in, by debug information
  kRecord,      // of a tracepoint's record, or of what a hook of netfilter gets
  kSystemCall,  // $syscall, $arg1 ... $return
};

struct ProbeKindInfo {
  const char* article;  // "a timer": for errors about "a timer probe"; "this" where the kind has no short name
  Source source;
  Variables variables;
  bool in_function;    // a thread of a program is in one of its functions
  bool at_return;      // of a function or a system call
  bool has_subject;    // it is about a process or thread, though the handler may run in the controller
  bool reads_subject;  // that process stands still, or has just stood: its memory can be read from the controller
  bool reads_late;     // the handler runs some time after it happened, when memory may have changed

  constexpr bool has_variables() const { return variables != Variables::kNone; }
};

// ORDER PROBE_KIND
inline constexpr ProbeKindInfo kProbeKinds[] = {
    // article           source            variables               function return subject reads  late
    {"a begin", Source::kSession, Variables::kNone, false, false, false, false, false},        // kBegin
    {"an end", Source::kSession, Variables::kNone, false, false, false, false, false},         // kEnd
    {"an error", Source::kSession, Variables::kNone, false, false, false, false, false},       // kError
    {"a never", Source::kNobody, Variables::kNone, false, false, false, false, false},         // kNever
    {"a timer", Source::kClock, Variables::kNone, false, false, false, false, false},          // kTimer
    {"this", Source::kFile, Variables::kNone, false, false, false, false, false},              // kProcfsRead
    {"this", Source::kFile, Variables::kNone, false, false, false, false, false},              // kProcfsWrite
    {"this", Source::kCode, Variables::kFunction, true, false, true, false, false},            // kFunctionEntry
    {"this", Source::kCode, Variables::kFunction, true, true, true, false, false},             // kFunctionReturn
    {"this", Source::kCode, Variables::kFunction, true, false, true, false, false},            // kStatement
    {"this", Source::kKernel, Variables::kRecord, false, false, true, false, false},           // kTracepoint
    {"a timer.profile", Source::kSampler, Variables::kNone, false, false, true, true, false},  // kProfile
    {"a perf", Source::kSampler, Variables::kNone, false, false, true, false, false},          // kPerfSample
    {"a netfilter", Source::kKernel, Variables::kRecord, false, false, false, false, false},   // kPacket
    {"this", Source::kWatch, Variables::kNone, false, false, true, true, false},               // kProcessBegin
    {"this", Source::kWatch, Variables::kNone, false, false, true, true, false},               // kProcessEnd
    {"this", Source::kWatch, Variables::kNone, false, false, true, true, false},               // kThreadBegin
    {"this", Source::kWatch, Variables::kNone, false, false, true, true, false},               // kThreadEnd
    {"this", Source::kWatch, Variables::kSystemCall, false, false, true, true, false},         // kSystemCall
    {"this", Source::kWatch, Variables::kSystemCall, false, true, true, true, false},          // kSystemCallReturn
    {"this", Source::kSampler, Variables::kNone, false, false, true, true, true},              // kDataAccess
};
static_assert(std::size(kProbeKinds) == static_cast<size_t>(ProbeKind::kDataAccess) + 1);

inline constexpr const ProbeKindInfo& info(ProbeKind kind) { return kProbeKinds[static_cast<size_t>(kind)]; }
inline constexpr bool is_system_call(ProbeKind kind) {
  return kind == ProbeKind::kSystemCall || kind == ProbeKind::kSystemCallReturn;
}

}  // namespace spile::sema
