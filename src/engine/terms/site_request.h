#pragma once
// What clients ask for: places to probe, and handlers of system calls.

#include <cstdint>
#include <string>

#include "abi/trampoline.h"
#include "base/address.h"

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

}  // namespace spile::engine
