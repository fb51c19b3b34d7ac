#pragma once
// The questions that elaboration asks about the traced world. probes implements them on debug information; tests fake them. One
// thread. Errors are for the script's author: elaboration reports them at the text that was asked about.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/location.h"
#include "base/result.h"
#include "sema/terms/probe_kind.h"
#include "syntax/tree.h"

namespace spile::sema {

// Where a handler runs: in spile, in a traced process, in the kernel.
enum class Domain : uint8_t { kController, kTarget, kKernel };

// An SDT mark, as its note describes it.
struct MarkInfo {
  std::string provider, name;
  std::string arguments;  // "-4@%eax 8@-8(%rbp)"
};

// A place in the kernel's code.
struct KernelFunction {
  std::string symbol;       // "vfs_read"; "": the address alone says where
  uint64_t address = 0;     // of the symbol, or of the place; 0: the kernel hides addresses
  uint64_t offset = 0;      // from the symbol, in bytes
  bool is_unique = true;    // no other code has the symbol's name
  bool of_pattern = false;  // one of those that a pattern stands for: where the kernel refuses it, it is left out
  // the function's number in vmlinux's type information, as bpf(2) takes it; 0: absent, or not for sure
  uint32_t description = 0;
  uint32_t arguments = 0;  // so described: parameters, each in a register of its own
};

// Most frames that decide whether a function was called by the right ones (Site::callers).
inline constexpr int kMostCallers = 16;

// One place in a program or kernel that a probe point stands for.
struct Site {
  // resolved path of the ELF file; "kernel" or "kernel:NAME of a module" where `kernel` or by_arguments is set; empty for other
  // kernel sites
  std::string module;
  FileAddress address;       // of the instruction: a function's first one, or for kStatement any. kDataAccess: of the variable
                             // (if module is empty, an address of the running process)
  uint64_t file_offset = 0;  // the same place in the file (uprobes)
  uint64_t size = 0;         // bytes from `address` to the end of the function; kDataAccess: watched bytes
  std::string function;      // "foo": what probefunc() says
  std::string source_file;   // may be empty
  int line = 0;              // 0: not known
  bool go = false;           // in a program made by Go's compiler
  std::string tracepoint;    // "sched:sched_switch"
  // Of a tracepoint: $variables are what the kernel's code gives it (TargetInfo::choose_variables), and handlers get these; else
  // the fields of the record that the kernel makes of it.
  bool by_arguments = false;
  // Of process.syscall("NAME"), and of the tracepoints syscalls:sys_enter_NAME and syscalls:sys_exit_NAME: the number of NAME;
  // -1: of all calls, or not known.
  int32_t system_call = -1;
  std::shared_ptr<const KernelFunction> kernel;  // of kernel.function and its kin; else null
  // kStatement:
  FileAddress around;                    // entry of the function that has the instruction; 0: unknown
  uint64_t scope = 0;                    // of an inlined call: what debuginfo finds its variables by
  FileAddress callee;                    // the instruction calls this function, whose variables are meant; 0: it doesn't matter
  bool tail_call = false;                // and it is a jump: the stack is already as the callee will find it
  FileAddress semaphore;                 // of a mark: a counter that is raised while armed; 0: none; see debuginfo::Mark
  uint64_t semaphore_offset = 0;         // the same counter in the file (uprobes)
  std::shared_ptr<const MarkInfo> mark;  // of a mark or (with an empty provider) a PLT entry; else null
  // The callers that the function, and in turn its callers, must have for a hit to count; null: any caller. A tree of words: the
  // most frames to look at; then nodes, each the number of its entries and these: a return address (in the file, ascending),
  // and the index of the node for the next frame (0: it is enough). The first node is word 1.
  std::shared_ptr<const std::vector<uint64_t>> callers;

  // Returns which result of the function "$return" or, in Go, "$r0", "$r1" ... names; -1: none.
  int result_number(const std::string& variable) const {
    if (variable == "$return") return 0;
    if (!go || variable.size() < 3 || variable.size() > 4 || !variable.starts_with("$r")) return -1;
    int number = 0;
    for (char c : variable.substr(2)) {
      if (c < '0' || c > '9') return -1;
      number = number * 10 + (c - '0');
    }
    return number;
  }
  bool same_place(const Site& other) const {
    return module == other.module && address == other.address && tracepoint == other.tracepoint;
  }
};

// The counter that @perf reads: a number that the kernel keeps for each thread.
// as abi::ThreadCounter
enum class PerfEvent : uint8_t { kTaskClock, kPageFaults, kContextSwitches, kMinorFaults, kMajorFaults };

// What perf_event_open(2) counts, and when a handler runs: after so many events, of clocks nanoseconds; with is_rate, so many
// times a second.
struct PerfSample {
  uint32_t type = 0;  // of struct perf_event_attr
  uint64_t config = 0;
  uint64_t period = 1;
  bool is_rate = false;
};

// Where packets pass: numbers of linux/netfilter.h.
struct PacketHook {
  uint32_t family = 0;   // NFPROTO_IPV4, NFPROTO_IPV6
  uint32_t hook = 0;     // NF_INET_LOCAL_IN
  int32_t priority = 0;  // hooks with lower numbers are first
};

// A probe point as it is after resolution: what, where, and how pp() names it.
struct ResolvedPoint {
  ProbeKind kind = ProbeKind::kNever;
  Domain domain = Domain::kController;
  Site site;                 // of kinds that have a place: kFunction*, kStatement, kTracepoint, kDataAccess
  std::string text;          // process("/usr/bin/redis-server").function("call@server.c:3324").return
  std::string name;          // as the script wrote it, or the alias that it used: what pn() says
  int64_t sequence = 0;      // begin(N), end(N), error(N)
  bool optional = false;     // the script has `?`: where it can't be armed, it is left out
  bool once = false;         // oneshot: the session ends when it has run
  int64_t interval_ns = 0;   // timers; timer.profile: 0 means the default rate
  int64_t randomize_ns = 0;  // timer.ms(N).randomize(M)
  std::string procfs_name;   // kProcfs*: the file
  int64_t procfs_umask = 0;
  int64_t procfs_maxsize = 0;  // bytes of one read or write; 0: not said
  pid_t process = 0;           // process(PID)
  // kProfile, kPerfSample and system calls of one name in the kernel: hits in the traced processes alone,
  bool of_processes = false;
  std::string program;                       // of kPerfSample: those that run this program; "": any
  std::shared_ptr<const PerfSample> sample;  // kPerfSample; else null
  std::shared_ptr<const PacketHook> packet;  // kPacket; else null
  std::string counter;                       // perf...counter("NAME"): the name, and what it counts
  PerfEvent counter_event = PerfEvent::kTaskClock;
};

// A type in a traced program, which is found again by this without any point: how `p->next` is understood when p is a
// script variable that $p was assigned to. Filled in by TargetInfo in a Binding whose value is a pointer, a struct, a
// union or an array (for these the value is its address); empty for plain numbers and strings. Opaque to elaboration,
// which only compares and carries it: through assignments, parameters, results of functions, elements of arrays, keys
// of foreach and @entry. A variable that gets values of two different types has none.
struct TargetType {
  std::string module;  // resolved path of the ELF file, "kernel", or "kernel:NAME of a module"
  std::string key;     // what finds the type there, for the TargetInfo that made it

  explicit operator bool() const { return !key.empty(); }
  bool operator==(const TargetType&) const = default;
};

// The replacement of $x$ or $x->y$$: a sprintf of literal texts and of values reached from $x by further steps.
struct PrettyPart {
  std::string literal;                 // printed first, as it is
  bool has_value = false;              // then this one:
  std::vector<syntax::PathStep> path;  // appended to the path of the variable (kMember, kElement; at the end kText where
                                       // the string itself is wanted: bind() then answers one)
  syntax::FormatPart format;           // its conversion
  uint32_t letters = 0;                // not 0: the string has no address, and consists of so many elements (at most 16)
  // Not empty: the whole value, `format` not used, is printed by this plan (abi/value_plan.h, without its header) from its
  // address, which is the value reached by the path, or with is_object that value's own place; with words, from its first `words`
  // words.
  std::string plan = {};
  bool is_object = false;
  uint32_t words = 0;
  bool names_code = false;  // the plan needs names of functions
};

// How to compute a value at a site. The target of an assignment (guru mode) is bound like a read; written_place.h derives the
// place from the operations.
struct Binding {
  location::Operations ops;
  ValueType type = ValueType::kLong;
  bool reads_kernel_memory = false;  // location::Deref reads memory of the kernel rather than of the process
  // kString: the value computed is the address of a C string (in an array: of at most `string_limit` bytes), or with
  // `string_in_context` its offset in the tracepoint's record, in bytes.
  bool string_in_context = false;
  uint32_t string_limit = 0;      // bytes; 0: up to the NUL
  TargetType target_type = {};    // of the value
  std::string other_module = {};  // path of the module of addresses with in_other_module
  // In a handler for points that have their variables in different places, `ops` is empty, and the place is found in the table of
  // the point that is hit (Probe::tables). kValue: one place; kVariables: the text of $$parms and the like.
  enum class ByPoint : uint8_t { kNo, kValue, kVariables } by_point = ByPoint::kNo;
  uint32_t slot = 0;  // of the point's table
  bool operator==(const Binding&) const = default;
};

// What a slot of a point's table stands for: a place (of kValue, with no text), or what $$parms and the like print, one variable
// after another.
struct PointVariable {
  std::string text;          // printed first: "a="
  location::Operations ops;  // empty: unknown, printed as "?"
  ValueType type = ValueType::kLong;
  uint32_t string_limit = 0;  // as Binding::string_limit
};
using PointSlot = std::vector<PointVariable>;

struct EnumConstant {
  std::string name;
  int64_t value;
};

class TargetInfo {
 public:
  virtual ~TargetInfo() = default;

  // Returns the places that one probe point stands for; aliases are expanded already, patterns are not. An error says what was
  // looked for and a did-you-mean in its hint. An unknown family of probe point (no such functor) too.
  virtual Result<std::vector<ResolvedPoint>> resolve(const syntax::ProbePoint& point) = 0;

  // Decides which of the two kinds of variables a tracepoint has, by the $variables that its handler reads (`read`), and notes it
  // in the point. Called once for each point, before any other question about its variables.
  virtual void choose_variables(ResolvedPoint& point, const std::vector<const syntax::TargetVariable*>& read) {}

  // Return how to compute $name with its path, $return, or @var/@cast at a point that resolve() returned. For kFunctionReturn
  // points everything but $return has been moved to the entry already: `at_entry` says at which side the expression runs.
  virtual Result<Binding> bind(const ResolvedPoint& point, bool at_entry, const syntax::TargetVariable& variable) = 0;
  virtual Result<Binding> bind(const ResolvedPoint& point, bool at_entry, const syntax::AtOperation& operation) = 0;

  // Returns how to compute p->next->value: a Dereference of a script value whose type is known. location::ScriptPointer in the
  // answer is the pointer. Needs no point: may stand in functions.
  virtual Result<Binding> bind_dereference(const TargetType& pointer, const syntax::Dereference& dereference) {
    return Error{"'->' on a script value is not available here", {}};
  }

  // Returns how to compute @cast, @var and @const in a function, which has no point: they name their module themselves.
  virtual Result<Binding> bind_without_point(const syntax::AtOperation& operation) {
    return Error{"'" + operation.name + "' in a function is not available here", {}};
  }

  // Returns the constants of the enumeration that @cast(VALUE, "type", "module") names, in the order of their declaration. point:
  // null outside of a point's handler.
  virtual Result<std::vector<EnumConstant>> constants(const ResolvedPoint* point, const syntax::AtOperation& cast) {
    return Error{"constants of enumerations are not available here", {}};
  }

  // Returns those of the enumeration that a TargetVariable, or an AtOperation with its path, has for its type. at_entry: as for
  // bind().
  virtual Result<std::vector<EnumConstant>> constants_of(const ResolvedPoint* point, bool at_entry,
                                                         const syntax::Expression& variable) {
    return Error{"constants of enumerations are not available here", {}};
  }

  // Returns what `expression` (a TargetVariable or AtOperation with its path, the last step kPretty or kPrettyDeep removed)
  // prints as. deep: that step was kPrettyDeep. pretty_dereference() does the same for a Dereference, and pretty_without_point()
  // for @cast and @var in a function.
  virtual Result<std::vector<PrettyPart>> pretty(const ResolvedPoint& point, bool at_entry, const syntax::Expression& expression,
                                                 bool deep) {
    return Error{"pretty-printing of structures is not available here", {}};
  }
  virtual Result<std::vector<PrettyPart>> pretty_dereference(const TargetType& pointer, const syntax::Dereference& dereference,
                                                             bool deep) {
    return Error{"pretty-printing of structures is not available here", {}};
  }

  virtual Result<std::vector<PrettyPart>> pretty_without_point(const syntax::AtOperation& operation, bool deep) {
    return Error{"pretty-printing of structures is not available here", {}};
  }

  // Returns the text of $$name, $$provider and whatever else a point has as a constant.
  virtual Result<std::string> constant_text(const ResolvedPoint& point, const std::string& name) {
    return Error{"unknown set of variables '" + name + "'", "there are $$vars, $$parms, $$locals and $$return"};
  }

  // Returns the variables that $$vars, $$parms, $$locals or $$return prints, as names ("$a", "$b"); empty: none, or not known.
  virtual std::vector<std::string> variables(const ResolvedPoint& point, const std::string& which) = 0;

  // Reports whether variables() can answer: false if the probed module has no debug information.
  virtual bool knows_variables(const ResolvedPoint& point) { return true; }
  // Returns `what` with the reason why debug information is missing (files of another build, servers without it), and a hint how
  // to have it, which ends with `instead`. REQUIRES: knows_variables() is false.
  virtual Error needs_debug_info(const ResolvedPoint& point, const std::string& what, const std::string& instead) {
    return Error{what, "install its debug symbols, or " + instead};
  }

  // Returns, for a hint, where else in the function a variable can be read that can't be read at the point; "": nowhere, or that
  // is not known.
  virtual std::string where_readable(const ResolvedPoint& point, const syntax::TargetVariable& variable) { return {}; }

  // Fills in facts that are only printed and cost time to find: the source line of a function, in site and text.
  virtual void describe(ResolvedPoint& point) {}

  // Returns the names that the component `index` may have behind those before it, for did-you-mean ("process.func" ->
  // "function"); 0: names of families.
  virtual std::vector<std::string> known_components(const syntax::ProbePoint& point, size_t index) = 0;
};

}  // namespace spile::sema
