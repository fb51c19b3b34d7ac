#pragma once
// The in-process engine: attaches to processes, maps the arena and compiled handlers into them, makes function entries
// jump to them, and takes everything out again. It knows nothing of scripts: it gets addresses, bytes and offsets.
//
// Nothing is loaded into a target as a library. System calls that the stopped target is made to perform map
//   - the arena (abi/arena.h), one shared memfd "spile-arena" for all processes;
//   - the ProcessTable, private and wiped on fork;
//   - code regions within 2 GiB of the probed modules: memfds "spile-code", executable in the target, writable only
//     in the controller (region.h shows the layout).
// A process stays traced by ptrace until detach(), so that children, exec'd programs and late libraries are armed
// before their first instruction. If the controller dies, the kernel lets the targets go and they run on: all that a
// handler uses is memory of theirs. The next Engine that attaches finds the journal in their code regions and cleans
// up.
//
// Threads: an Engine belongs to the thread that created it (ptrace's rule). Construction blocks SIGCHLD in that thread
// for the life of the Engine; threads that the program starts must block it too (those started later inherit that).
//
// In the session's event loop: watch wait_fd() for readability and call poll(), which never blocks longer than asked.
//
//   auto engine = Engine::create({});
//   engine->set_image(image, geometry);             // then format engine->arena()
//   auto pid = engine->launch({.arguments = {...}}); // or attach(pid)
//   engine->modules(pid);                            // resolve symbols
//   engine->arm(requests);
//   engine->resume_all();                            // lets launched processes run
//   while (...) { auto events = engine->poll(100); ... }
//   engine->detach();

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "abi/code_image.h"
#include "abi/trampoline.h"
#include "base/address.h"
#include "base/result.h"
#include "engine/return_readers.h"

namespace spile::engine {

// One place to probe: a function's entry, its entry and return, or any instruction. Several requests for one address are
// served in the order given, each once.
struct SiteRequest {
  uint32_t site_id = 0;     // at most 2^31-1; what handlers get and reports name
  std::string module_path;  // as /proc/PID/maps shows it (an absolute path without symbolic links), without " (deleted)"
  std::string module_identity = {};  // base/elf_identity.h: a module of that path that is another file is not touched; "": any is
  FileAddress address;      // the function's entry, or (kInstruction) the instruction, as the ELF file states it
  uint64_t size = 0;        // from `address` to the function's end, in bytes; 0: unknown
  // kInstruction: the entry of the function (not of the inlined one) in which it lies. 0: unknown, and then only such
  // patches are made as no branch can spoil.
  FileAddress function;
  abi::SiteKind kind = abi::SiteKind::kEntry;
  std::string no_returns = {};  // kReturn: why the function's returns can't be probed; empty: they can, as far as it is known
  uint32_t flags = 0;         // abi::SiteFlags
  uint32_t enter_offset = 0;  // handlers: offsets into the image; 0: none (kReturnsInPlace)
  uint32_t exit_offset = 0;   // kReturn only
  uint32_t entry_offset = 0;  // kReturn: the handler of a kEntry site that it becomes where its returns can't be probed; 0: none
  // Not nothing: instead of `address`, all places where the function of that entry and size ends are probed, as
  // kInstruction sites: before its returns with the handler enter_offset, and with this one before it goes on elsewhere
  // than at its caller, as unwinders do; that handler's fourth argument is the stack pointer to be.
  uint32_t landing_offset = 0;
  // Of an SDT mark: the 16-bit counter that the program looks at before it comes to the mark. Raised by one in each
  // process while the site is armed there; children that are forked meanwhile count as armed. 0: none.
  FileAddress semaphore;
  // In a Go program: runtime.allgs, by which its goroutines are found. 0: unknown, and then the place where one was
  // interrupted may be patched over.
  FileAddress goroutine_list;
  bool enabled = true;  // with kSwitchable: false arms it switched off
  uint32_t touches = 0;  // with kTouchesStack: so far below the stack pointer; arming fills it in
  // Its handler takes `returned` addresses (abi/trampoline.h) of its client's out of the stack, or puts them back. Those of
  // several clients may lie in one stack slot, one beneath the other: their handlers are called in turn, again and again.
  bool in_turn = false;
};

// Handlers for all system calls of the processes (abi::SiteKind::kSystemCall); call_watch.h says where they run.
struct SystemCallHandlers {
  uint32_t site_id = 0;  // as of a SiteRequest; reports don't name it
  uint32_t enter_offset = 0, exit_offset = 0;  // exit 0: nobody wants to know of returns
};

// Of those that the handlers of probe_system_calls serve, and watch_threads.
enum class CallProbes : uint8_t { kNone, kSome, kAll };

// How a site was armed. ORDER MECHANISM (mechanism_name)
enum class Mechanism : uint8_t {
  kJump,       // 5-byte jump over displaced instructions
  kNop,        // 5-byte jump over a nop: nothing displaced
  kShortJump,  // 2-byte jump to a 5-byte jump nearby, in padding or in the place of displaced instructions
  kPunned,     // a jump whose displacement shares bytes with the following instructions
  kInt3,       // breakpoint
  kRefused,    // see SiteOutcome::reason
};
const char* mechanism_name(Mechanism mechanism);

struct SiteOutcome {
  uint32_t site_id = 0;
  pid_t pid = 0;
  Mechanism mechanism = Mechanism::kRefused;
  std::string reason;  // why refused; empty otherwise
  bool only_returns = false;  // kRefused: of the returns alone; another outcome says how its entry fares
};

struct ArmReport {
  std::vector<SiteOutcome> outcomes;  // one for each request and process that has its module loaded
  uint64_t prepare_ns = 0;            // while the targets ran: reading, decoding, building trampolines
  uint64_t pause_ns = 0;              // the longest time for which all threads of one process stood still
  uint64_t total_pause_ns = 0;

  size_t armed() const;
};

// What a process has mapped from one ELF file.
struct Module {
  std::string path;   // as in /proc/PID/maps when it was first met, without " (deleted)"
  uint64_t bias = 0;  // run-time address = file address + bias
  uint64_t inode = 0;
  uint64_t device = 0;
  struct Range {
    Address begin, end;
    uint64_t file_offset;
  };
  std::vector<Range> text;  // executable mappings, by address
  Address lowest, highest;  // of all its mappings
  bool main_executable = false;
  bool go = false;  // built by Go's compiler, whose runtime walks and moves stacks: no return address may be replaced
  Address goroutines;     // of such: its runtime.allgs; 0: unknown
  int32_t goroutine = 0;  // of such: where a thread keeps its goroutine, relative to its thread pointer; 0: not known yet
  bool is_vdso() const { return inode == 0; }
};

// Where things lie in the arena (abi/arena.h). The engine itself needs only its size and where pending returns are.
struct ArenaGeometry {
  uint64_t size = 0;  // of the whole arena; rounded up to pages
  uint64_t slots_offset = 0;
  uint64_t slot_stride = 0;
  uint32_t slot_count = 0;
  uint32_t first_slots = 0;  // that are mapped at first; threads then ring for more (abi::kSlotBell). 0: all
  uint64_t shadow_offset = 0;  // from a slot's start
  uint64_t shadow_stride = 0;
  uint32_t shadow_capacity = 0;  // 0: no return probes
};

struct LaunchOptions {
  std::vector<std::string> arguments;  // the first is looked up in PATH; for a shell command {"/bin/sh", "-c", command}
  std::optional<std::vector<std::string>> environment = {};  // "NAME=value"; the controller's if absent
  std::optional<uid_t> user = {};  // run as this user and its group (the controller must be root)
  std::optional<gid_t> group = {};
};

struct Event {
  enum class Kind {
    kProcessStarted,   // pid was forked by `parent`, and is traced (and armed as its parent is)
    kProcessExecuted,  // pid runs a new program, `path`; armed anew
    kProcessExited,    // status as of waitpid
    kModuleLoaded,     // path; after arming
    kModuleUnloaded,   // path
    kArmed,            // report: sites armed on behalf of an exec or a late module
    kOtherExited,      // a child of the controller that is none of the engine's: status as of waitpid
    kTrouble,          // message: something that went wrong for pid only
    kCallsInProcess,   // system calls of pid are told by handlers in it from now on
    kCallsTraced,      // they are told by watch_threads; message: why
    kReleased,         // pid is traced no longer, as something else is about to trace it; message: what
  };
  Kind kind;
  pid_t pid = 0;
  pid_t parent = 0;
  int status = 0;
  std::string path = {};
  std::string message = {};
  ArmReport report = {};
};

// Whether the code of a part of a function, which lies at `at`, jumps to `target` directly. Calls are no jumps.
bool jumps_to(std::span<const uint8_t> code, FileAddress at, FileAddress target);

// Asked for each module that appears in a traced process after attach or launch (exec, initial libraries, dlopen),
// while the process stands still before any code of the module has run. Returns sites to arm there (and in later
// processes), beside those already given to arm(). A module (device and inode) is asked about once.
using ModuleResolver = std::function<std::vector<SiteRequest>(pid_t pid, const Module& module)>;

// Asked when what a process has mapped is known or has changed, before any new code of it has run. The answer becomes its
// ProcessTable::module_map.
using ModuleDescriber = std::function<uint64_t(pid_t pid, std::span<const Module> modules)>;

// Why the returns of no function may be probed in a process that has the module; empty: they may, as far as this module is
// concerned. Asked about each module of processes for which there are return probes.
using StackOwnership = std::function<std::string(pid_t pid, const Module& module)>;

// Something in the life of a thread or process; the thread stands still while the watcher looks at it, but for the two
// that have ended.
struct ThreadChange {
  enum class Kind {
    kProcessBorn,   // by fork or vfork; it has run nothing yet
    kExecuted,      // the new program has run nothing yet
    kThreadBorn,
    kThreadEnding,  // of any thread, the first too; not told of those that are killed in some ways
    kThreadEnded,   // of threads but a process's first
    kProcessEnded,
    kSystemCall,        // before the call; only with watch_system_calls, and where no handlers in the process are told
    kSystemCallReturn,  // after it
  };
  Kind kind;
  pid_t pid = 0, tid = 0;
  abi::Registers registers{};  // of system calls; site_id is the call's number
};

using ThreadWatcher = std::function<void(const ThreadChange&)>;

// What became of the processes that descend from those attached to.
struct Descendants {
  std::vector<pid_t> traced;
  std::vector<Error> refused;  // one for each that can't be traced, and why
};

// Asked several times a second while the engine waits for a process whose threads can't be stopped now; `state` says why
// not. False: it gives up.
using KeepWaiting = std::function<bool(pid_t pid, const std::string& state)>;

struct EngineOptions {
  // Called from within the other functions, whenever such a thing happens. May be empty.
  ThreadWatcher watch_threads;
  bool watch_system_calls = false;  // not in a process that another engine traces
  // Which of the probes on system calls are for this process, for as long as it runs one program. May be empty: all.
  std::function<CallProbes(pid_t pid)> call_probes;
  ModuleResolver resolve_module;     // may be empty
  ModuleDescriber describe_modules;  // may be empty
  StackOwnership owns_stacks;        // may be empty
  ReturnReaderFinder return_readers;  // may be empty
  uint64_t stop_patience_ms = 2000;  // for a thread that doesn't stop (uninterruptible sleep)
  // For a process to be armed first, of which no thread can be stopped.
  uint64_t sleep_patience_ms = 10'000;
  KeepWaiting keep_waiting;  // may be empty: it waits
};

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> create(EngineOptions options);
  // Detaches as detach() does, without telling what went wrong.
  virtual ~Engine() = default;

  // The handlers, and the arena's shape: creates the arena, all zero. Once, before the first arm().
  virtual Result<void> set_image(abi::CodeImage image, const ArenaGeometry& geometry) = 0;
  // The controller's mapping of the arena, for the Engine's life; empty before set_image.
  virtual std::span<uint8_t> arena() = 0;
  virtual int arena_fd() const = 0;

  // Starts a program, stopped after exec, before its first instruction; resume_all() lets it go.
  virtual Result<pid_t> launch(const LaunchOptions& options) = 0;
  // Traces all threads of a running process and of nothing else; it goes on running. Cleans up what a killed
  // controller left in it.
  virtual Result<void> attach(pid_t pid) = 0;
  // Attaches to the children that the traced processes have now, theirs, and so on. What they fork from here on is traced from
  // its birth. A child whose parent ends before it is attached to is nobody's descendant any more.
  virtual Descendants attach_descendants() = 0;
  virtual void resume_all() = 0;

  virtual std::vector<pid_t> processes() const = 0;
  virtual Result<std::vector<Module>> modules(pid_t pid) = 0;
  // Of processes(), those that the freezer of their control group keeps still: detach() can't take all out of them.
  virtual std::vector<pid_t> frozen() const = 0;

  // Arms in all traced processes that have the module loaded now, and remembers the sites for those that load it
  // later. A site that can't be armed is an outcome, not an error; an error means that nothing was armed.
  virtual Result<ArmReport> arm(std::span<const SiteRequest> sites) = 0;
  // With watch_system_calls: from the next arm() on, calls are told by these handlers where that is exact, and by
  // watch_threads elsewhere, each once. An exec's return is always told by watch_threads.
  virtual void probe_system_calls(const SystemCallHandlers& handlers) = 0;
  // Switches sites that were requested with kSwitchable on or off, everywhere and from now on, while the targets run: a
  // store each. A hit of a switched-off site costs about a nanosecond. Ids that nothing is known of are remembered.
  virtual void switch_sites(std::span<const uint32_t> site_ids, bool on) = 0;
  // Takes all probes out of all processes, which stay traced; nothing is armed later either.
  virtual Result<void> disarm() = 0;
  // disarm(), and lets all processes go for the time in which this process stands still: they owe it nothing then. An error: some
  // thread can't be let go now, and would stand still too; resume() all the same.
  virtual Result<void> suspend() = 0;
  // Traces those that are left again, with the children that they have got meanwhile, and arms what was armed.
  virtual Result<void> resume() = 0;
  // disarm(), and lets all processes go. Launched ones go on as ordinary children.
  virtual Result<void> detach() = 0;

  // Becomes readable when poll() has something to do.
  virtual int wait_fd() const = 0;
  // Handles what has happened; waits up to timeout_ms (-1: for ever) for the first thing. Events in order.
  virtual Result<std::vector<Event>> poll(int timeout_ms) = 0;
};

}  // namespace spile::engine
