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

// Whether `code`, a piece of a function that lies at `at`, has a direct jump to `target`. Calls are not jumps.
bool jumps_to(std::span<const uint8_t> code, FileAddress at, FileAddress target);

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> create(EngineOptions options);
  // Detaches as detach() does, without reporting what went wrong.
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
  // With watch_system_calls: from the next arm() on, these handlers report calls where that is exact, and watch_threads elsewhere, each
  // once. watch_threads always reports the return of an execve.
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
