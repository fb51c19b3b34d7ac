#pragma once
// The elaborated program: pass 2 makes it, codegen and session read it.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "sema/terms/site_table.h"
#include "sema/terms/target_info.h"
#include "syntax/tree.h"

namespace spile::sema {

// How the memory of a global is shared between the handlers that use it (docs/architecture.md, "Pass 2"). Chosen by
// classify-globals from all uses in the whole script.
enum class Sharing : uint8_t {
  kUnused,
  kController,  // only handlers in the controller use it
  kReadOnly,    // set before arming (initial value, begin probes), only read in other domains
  kSharded,     // other domains only add to it (c++, a[k] += n, s <<< v): a shard per thread or CPU, merged on read
  kLocked,      // anything else: one copy under a lock
  // a number that each handler uses in one step, and no other global that needs a lock: one copy, changed by atomic instructions
  kAtomic,
  // an array that handlers in the kernel alone share with the controller, each using its own thread's elements: one copy
  kByThread,
  // as kByThread, of numbers, with tid() as the only key, and the controller uses none of it: a table without locks
  // (abi/thread_cells.h)
  kThreadCells,
  // an array of which handlers in processes, and in the kernel, use only their own thread's elements, and the controller none: an
  // array with a lock of its own for each of several groups of threads
  kStriped,
};
// Whether the global has a lock. Handlers take that of a kAtomic one over the kernel's maps alone, and that of a kByThread one
// there only in threads without a number of their own. Of a kThreadCells one there is nothing to take: handlers that interrupt
// one another are kept apart by their threads.
constexpr bool has_lock(Sharing sharing) {
  return sharing == Sharing::kLocked || sharing == Sharing::kAtomic || sharing == Sharing::kByThread ||
         sharing == Sharing::kThreadCells || sharing == Sharing::kStriped;
}
const char* to_string(Sharing sharing);

// Where handlers outside of spile use a global.
struct Sides {
  bool process = false;  // by jumps
  bool kernel = false;
};

// A global that a handler uses, and whether it changes it.
struct GlobalUse {
  syntax::Global* global;
  bool written;
};

// A probe body with everything that it needs to be compiled once; serves all its points.
struct Probe {
  SourceRange range;
  int index = -1;  // own index in Program::probes
  ProbeKind kind = ProbeKind::kNever;
  Domain domain = Domain::kController;
  std::vector<ResolvedPoint> points;  // at least one; same kind and domain; all bindings equal but for tables
  std::unique_ptr<syntax::Block> body;
  std::vector<std::unique_ptr<syntax::Local>> locals;
  std::vector<Binding> bindings;                   // of the body (TargetVariable::binding)
  std::vector<std::vector<PointSlot>> tables;      // by point, then by Binding::slot; empty: no binding is by_point
  std::vector<syntax::ExpressionPtr> entry_saves;  // kFunctionReturn: evaluated at the entry (EntryValue::index);
                                                   // their target variables use `bindings` too
  syntax::ExpressionPtr condition;                 // if (expr) of the probe point; may be null

  // analyze-uses
  std::vector<GlobalUse> uses;                   // kLocked globals to be locked for the body, ascending by index
  std::vector<syntax::Global*> condition_reads;  // what `condition` depends on: when none of these has changed, nor has it
  // kTarget: `condition` can't fail, and handlers in the controller alone change what it depends on. It is evaluated there
  // when one of them has run; handlers see the result, and sites that no probe wants then are switched off.
  bool switched = false;
  bool needs_site_id = false;    // ppfunc(), pp() and the like with more than one point
  bool needs_stack = false;      // walks the user-space stack, or reads its address
  bool needs_registers = false;  // more registers than those of arguments (or, at a return, of results)
  uint8_t returned_bytes = 8;    // of returnval() at these sites, as debug information says, and whether it has a sign
  bool returned_signed = false;
  int hit_counter = -1;           // count-hits: index of the global with the number of hits; -1: not counted
  bool is_report = false;         // made by spile, to print at the end: no MAXACTION
  bool only_accumulates = false;  // only additions to sharded scalars, conditions and arithmetic: no guard
};

// A process.syscall probe is compiled twice: for the controller, and this for the process itself where all of its system call
// instructions are known. Which one runs is decided for each process when it is armed.
inline bool is_call_in_target(const Probe& probe) { return probe.domain == Domain::kTarget && is_system_call(probe.kind); }

// Whether a probe is on system calls of some names, one for each of its points: its handler finds the point by the call's number.
inline bool is_for_some_calls(const Probe& probe) {
  return is_system_call(probe.kind) && !probe.points.empty() && probe.points.front().site.system_call >= 0;
}

// Probes that share their places: all places (SiteTable) at which exactly these probes are. Each place has a trampoline of its
// own; the group has one compiled handler for entries and one for returns.
struct SiteGroup {
  std::vector<int> entry_probes;   // indexes into Program::probes, in script order
  std::vector<int> return_probes;  // of kFunctionReturn
  bool go = false;                 // all of these sites are in Go programs: returns are probed where they happen
  bool inside_function = false;    // one of entry_probes is a kStatement: anything may be live there
  enum Call : uint8_t { kNoCall, kCall, kReturnOfCall } system_call = kNoCall;  // at every system call; its one site has no place
};

struct Limits {                           // SystemTap's names and defaults (-D)
  int64_t max_action = 1000;              // MAXACTION: loop turns and calls of one handler run
  int64_t max_action_interruptible = -1;  // MAXACTION_INTERRUPTIBLE: of one in the controller; -1: ten times as many
  int64_t max_nesting = 11;               // MAXNESTING: 10 calls of a recursive function in one
  int64_t max_string_length = 512;        // MAXSTRINGLEN: bytes, with the NUL
  bool chooses_string_length = false;     // -D says MAXSTRINGLEN: it holds for handlers in the kernel, too
  int64_t max_map_entries = 2048;         // MAXMAPENTRIES: elements of an array that does not name its size
  int64_t max_errors = 0;                 // MAXERRORS: errors that a session survives
  int64_t max_skipped = 100;              // MAXSKIPPED: skipped hits that a session survives; 0: any number
  int64_t max_backtrace = 128;            // MAXBACKTRACE: frames of a stack
  // MAXOWNHANDLERS: handlers that points of one probe have for themselves; those beyond share one, with tables
  int64_t max_own_handlers = 16;
  int64_t max_pretty_depth = 8;      // MAXPRETTYDEPTH: structures and containers within each other that $x$$ shows
  int64_t max_pretty_elements = 32;  // MAXPRETTYELEMENTS: of one array or container
  int64_t max_pretty_string = 200;   // MAXPRETTYSTRING: bytes of one text within a printed value; 0: as many as fit
  int64_t max_noted_calls = 131072;  // MAXNOTEDCALLS: of one thread; a power of two is made of it
  int64_t hist_elision = 2;          // HIST_ELISION: empty rows of a histogram shown beside a filled one; below 0: all
};

struct Program {
  std::vector<std::string> library_functions;  // all that the library has, for did-you-mean: most are not in scripts
  std::vector<syntax::Script> scripts;         // own the trees; [0] is the user's
  std::vector<syntax::Global*> globals;        // used ones, index = Global::index
  std::vector<Sharing> sharing;                // by global index
  std::vector<Sides> sides;                    // by global index
  // By global index: a sharded array of sums, whose elements also say how many updates they are of, for a report of losses.
  std::vector<bool> counts_updates;
  std::vector<syntax::Function*> functions;             // used ones, index = Function::index
  std::vector<std::vector<Binding>> function_bindings;  // by function index: the tables that bindings in their bodies index
  std::vector<Probe> probes;
  std::vector<SiteGroup> site_groups;  // Domain::kTarget
  SiteTable sites;                     // Domain::kTarget: what is armed, by id
  uint32_t needs = 0;                  // IntrinsicNeeds of all probes together
  Limits limits;
  bool guru = false;
  bool unoptimized = false;         // -u
  bool var_at_entry = false;        // --compatible=4.0 and before: in .return probes, @var is read at the function's entry
  bool skip_bad_variables = false;  // --skip-badvars: a $variable that can't be found is 0
  bool time_probes = false;         // -t: hits and times of every probe are printed at the end
  bool counts_hits = false;         // handlers in processes count how often they run, for `spile list`
  bool hide_globals = false;        // --no-global-var-display: globals that are never read are not printed at the end
  bool describe_points = false;     // find every point's source line, for -p2 (pp() has them anyway)
  // Says whether handlers in the kernel work over an arena, where they can read tables (point_tables.h); asked at most once for
  // each probe. Null: they don't.
  bool (*kernel_has_arena)() = nullptr;
  std::map<std::string, std::string> global_overrides;  // -G
  std::map<std::string, std::string> c_definitions;     // -D, for embedded C

  std::map<std::string, PerfEvent> perf_counters;  // what @perf("NAME") reads; refuse-unavailable
  std::vector<std::string> elided;                 // parts of the user's script that were left out, a line each, for -v
};

// Aggregate features that the whole script extracts from a stats global (@count, @hist_log ...).
struct AggregateUse {
  uint32_t statistics = 0;  // bit n: syntax::Statistic::Operator n
  bool log = false;         // @hist_log
  bool linear = false;      // @hist_linear(s, low, high, width)
  int64_t low = 0, high = 0, width = 0;
};
// Finds the features that the script extracts from a stats global. REQUIRES: pass 2 has resolved names.
AggregateUse aggregate_use(const Program& program, const syntax::Global& global);

struct PassTiming {
  std::string name;
  int64_t real_us;  // wall clock, microseconds
};

// Runs pass 2 on a program that has scripts, limits and options, and fills in the rest. Stops after the first sub-pass that
// reports an error; the program is then incomplete, and can only be destroyed. print_after: the sub-pass (elaborate.cpp) after
// which the program is printed to stdout; "" or another name: none. Returns the sub-passes that ran, in order.
std::vector<PassTiming> elaborate(Program& program, TargetInfo& target, Diagnostics& diagnostics,
                                  const std::string& print_after = {});

// Returns the elaborated program as text (-p2): globals with types, functions, probes with their resolved points.
std::string to_text(const Program& program);

}  // namespace spile::sema
