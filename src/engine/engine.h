#pragma once
// The in-process engine: attaches to processes, maps the arena and compiled handlers into them, makes function entries
// jump to them, and takes everything out again. It knows nothing of scripts: it gets addresses, bytes and offsets.
//
// Nothing is loaded into a target as a library. System calls that the stopped target is made to perform map
//   - the arena (abi/arena.h), one shared memfd "spile-arena" for all processes;
//   - the ProcessTable, private and wiped on fork;
//   - code regions within 2 GiB of the probed modules: memfds "spile-code", executable in the target, writable only
//     in the controller (region.h shows the layout).
// A process stays traced by ptrace until detach() or suspend(), or until another program is about to trace it
// (Event::Kind::kReleased), so that children, exec'd programs and late libraries are armed before their first instruction. If the
// controller dies, the kernel lets the targets go and they run on: all that a handler uses is memory of theirs. The next Engine
// that attaches finds the journal in their code regions and cleans up.
//
// Threads: an Engine belongs to the thread that created it (ptrace's rule). Construction blocks SIGCHLD in that thread
// for the life of the Engine; threads that the program starts must block it too (those started later inherit that).
//
// Errors: a Result's error says what could not be done, in which process, and why.
//
// In the session's event loop: watch wait_fd() for readability and call poll().
//
//   auto engine = Engine::create({});
//   engine->set_image(image, geometry);             // then format engine->arena()
//   auto pid = engine->launch({.arguments = {...}}); // or attach(pid)
//   engine->modules(pid);                            // resolve symbols
//   engine->arm(requests);
//   engine->resume_all();                            // lets launched processes run
//   while (...) { auto events = engine->poll(100); ... }
//   engine->detach();

#include <memory>
#include <span>
#include <vector>

#include "abi/code_image.h"
#include "base/result.h"
#include "engine/terms/arm_report.h"
#include "engine/terms/event.h"
#include "engine/terms/module.h"
#include "engine/terms/options.h"
#include "engine/terms/site_request.h"

namespace spile::engine {

// Returns whether `code`, which lies at `at`, has a direct jump to `target`. Calls are not jumps.
bool jumps_to(std::span<const uint8_t> code, FileAddress at, FileAddress target);

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> create(EngineOptions options);
  // Detaches as detach() does, and ignores its error.
  virtual ~Engine() = default;

  // Takes the handlers and the arena's shape, and creates the arena, all zero. Without it nothing can be armed.
  // REQUIRES: called at most once, before launch() and attach().
  // memory: has a shared_fd if the geometry has shared pages, which only processes get; a process that another spile traces can't
  // be attached to then.
  virtual Result<void> set_image(abi::CodeImage image, const ArenaGeometry& geometry, const ArenaMemory& memory = {}) = 0;
  // Returns the controller's mapping of the arena, in whole pages, valid for the Engine's life. Empty before set_image().
  virtual std::span<uint8_t> arena() = 0;
  // Returns the memfd of the arena, which the Engine closes. -1 before set_image().
  virtual int arena_fd() const = 0;

  // Starts a program, stopped after exec, before its first instruction; resume_all() lets it go. With LaunchOptions::before_exec
  // it stops there at execute() only, which reports that it can't be executed; a program that is not found is an error of
  // launch().
  virtual Result<pid_t> launch(const LaunchOptions& options) = 0;
  virtual Result<void> execute() = 0;
  // Traces all threads of a running process, and of processes that run in its memory (vfork); they go on running. Removes what a
  // killed controller has left in it, then arms the sites that arm() was given. If another spile traces the process, that one
  // arms them for this one (share/guest_backend.h). May wait for as long as EngineOptions::sleep_patience_ms.
  virtual Result<void> attach(pid_t pid) = 0;
  // Attaches to the children that the traced processes have now, to the children's children, and so on. Processes that these fork
  // afterwards are traced from birth. A child is missed if its parent ends before the child is attached to.
  virtual Descendants attach_descendants() = 0;
  // Lets launched processes run that have not run yet.
  virtual void resume_all() = 0;

  // Returns the traced processes, by number.
  virtual std::vector<pid_t> processes() const = 0;
  // Returns what a traced process has mapped now. Fails if the process is not traced.
  virtual Result<std::vector<Module>> modules(pid_t pid) = 0;
  // Returns those of processes() that the freezer of their control group keeps still: detach() can't take the probes out of them.
  virtual std::vector<pid_t> frozen() const = 0;

  // Arms in all traced processes that have the module loaded now, and remembers the sites for those that load it
  // later. A site that can't be armed is an outcome, not an error; an error means that nothing was armed now. A process in which
  // all fails while others are armed is an Event::Kind::kTrouble. REQUIRES: set_image().
  virtual Result<ArmReport> arm(std::span<const SiteRequest> sites) = 0;
  // Has these handlers report system calls from the next arm() on, in processes where they see all calls
  // (Event::Kind::kCallsInProcess); EngineEvents::watch_threads reports them elsewhere (kCallsTraced). Each call is reported
  // once. watch_threads always reports the return of an execve. REQUIRES: EngineOptions::watch_system_calls.
  virtual void probe_system_calls(const SystemCallHandlers& handlers) = 0;
  // Switches sites that were requested with kSwitchable on or off, everywhere and from now on, while the targets run: a
  // store each. A hit of a switched-off site costs about a nanosecond. Ids of sites that are requested later count, too.
  virtual void switch_sites(std::span<const uint32_t> site_ids, bool on) = 0;
  // Takes all probes out of all processes, which stay traced, and forgets all requests: nothing is armed until the next arm(),
  // and resolve_module is not called any more. If another spile traces the processes, processes() is empty then, and only
  // detach() may follow.
  virtual Result<void> disarm() = 0;
  // Takes all probes out and lets all processes go, before this process is stopped (SIGTSTP), so that they run on meanwhile.
  // Keeps the requests. After an error some thread may still be traced, and would stand still with this process; call resume()
  // all the same.
  virtual Result<void> suspend() = 0;
  // Attaches again to the suspended processes that still run, attaches to children that they got meanwhile, and arms all requests
  // again. The next poll() reports which processes ended or were born meanwhile. REQUIRES: suspend() was called.
  virtual Result<void> resume() = 0;
  // Takes all probes out as disarm() does, and lets all processes go. Launched processes go on as ordinary children. After an
  // error, code may be left in a process; it does nothing, and the next Engine that attaches removes it.
  virtual Result<void> detach() = 0;

  // Returns a descriptor, the Engine's own, that becomes readable when something happens. Every other function may replace it:
  // ask again before each wait. It does not become readable for events that other functions have noted: after they return, call
  // poll(0).
  virtual int wait_fd() const = 0;
  // Handles what has happened, and returns the events in order. Waits up to timeout_ms (-1: for ever) for the first one, and not
  // at all if something is noted already. The handling (arming, stops) takes its own time, beside timeout_ms.
  virtual Result<std::vector<Event>> poll(int timeout_ms) = 0;
};

}  // namespace spile::engine
