#pragma once
// The kinds of probes and their properties: a new kind is one row of the table.

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
  kProcessBegin,    // in the controller, while the process stands still
  kProcessEnd,
  kThreadBegin,
  kThreadEnd,
  kSystemCall,
  kSystemCallReturn,
  kDataAccess,  // process.data: controller, a little after it; size bytes at address; sequence: 1 where reads count too
};

struct ProbeKindInfo {
  const char* article;   // "a timer": for errors about "a timer probe"; "this" where the kind has no short name
  bool has_variables;    // $variables can exist
  bool in_function;      // a thread of a program is in one of its functions
  bool at_return;        // of a function or a system call
  bool has_subject;      // it is about a process or thread, though the handler may run in the controller
  bool reads_subject;    // that process stands still, or has just stood: its memory can be read from the controller
  bool is_procfs;
};

// ORDER PROBE_KIND
inline constexpr ProbeKindInfo kProbeKinds[] = {
    // article           variables function return subject reads  procfs
    {"a begin",          false,    false,   false, false,  false, false},  // kBegin
    {"an end",           false,    false,   false, false,  false, false},  // kEnd
    {"an error",         false,    false,   false, false,  false, false},  // kError
    {"a never",          false,    false,   false, false,  false, false},  // kNever
    {"a timer",          false,    false,   false, false,  false, false},  // kTimer
    {"this",             false,    false,   false, false,  false, true},   // kProcfsRead
    {"this",             false,    false,   false, false,  false, true},   // kProcfsWrite
    {"this",             true,     true,    false, true,   false, false},  // kFunctionEntry
    {"this",             true,     true,    true,  true,   false, false},  // kFunctionReturn
    {"this",             true,     true,    false, true,   false, false},  // kStatement
    {"this",             true,     false,   false, true,   false, false},  // kTracepoint
    {"a timer.profile",  false,    false,   false, true,   true,  false},  // kProfile
    {"this",             false,    false,   false, true,   true,  false},  // kProcessBegin
    {"this",             false,    false,   false, true,   true,  false},  // kProcessEnd
    {"this",             false,    false,   false, true,   true,  false},  // kThreadBegin
    {"this",             false,    false,   false, true,   true,  false},  // kThreadEnd
    {"this",             true,     false,   false, true,   true,  false},  // kSystemCall
    {"this",             true,     false,   true,  true,   true,  false},  // kSystemCallReturn
    {"this",             false,    false,   false, true,   true,  false},  // kDataAccess
};
static_assert(std::size(kProbeKinds) == static_cast<size_t>(ProbeKind::kDataAccess) + 1);

inline constexpr const ProbeKindInfo& info(ProbeKind kind) { return kProbeKinds[static_cast<size_t>(kind)]; }
inline constexpr bool is_system_call(ProbeKind kind) { return kind == ProbeKind::kSystemCall || kind == ProbeKind::kSystemCallReturn; }

}  // namespace spile::sema
