#pragma once
// What clients ask for: places to probe, and handlers of system calls.

#include <cstdint>
#include <string>
#include <variant>

#include "abi/trampoline.h"
#include "base/address.h"

namespace spile::engine {

// What is probed at the address of a request. Each alternative names the handlers that its trampoline calls (abi/trampoline.h
// shows their signatures), as offsets into the client's code image; 0: no handler.

// The entry of a function: abi::SiteKind::kEntry.
struct EntryProbe {
  uint32_t enter = 0;
};

// The entry of a function and its returns: abi::SiteKind::kReturn.
struct ReturnProbe {
  uint32_t enter = 0;  // not 0, except with abi::kReturnsInPlace
  uint32_t exit = 0;
  uint32_t entry_alone = 0;   // `enter` of the EntryProbe that is armed instead where the returns can't be probed; 0: none is
  std::string obstacle = {};  // why the returns can't be probed; empty: the client knows no reason
};

// Any instruction: abi::SiteKind::kInstruction.
struct InstructionProbe {
  uint32_t enter = 0;
};

// All instructions by which the function ends, found by the engine and probed as instructions each. Unwinders end by a return, or
// by a transfer of control to a landing pad, elsewhere than at their caller.
struct FunctionEndsProbe {
  uint32_t before_return = 0;
  uint32_t before_transfer = 0;  // its fourth argument is the stack pointer that the transfer sets
};

// The alternatives from here on are made by the engine, never by clients.

// A system call instruction: abi::SiteKind::kSystemCall.
struct SystemCallProbe {
  uint32_t enter = 0, exit = 0;
};

// A return instruction: abi::SiteKind::kExit.
struct ReturnInstructionProbe {
  uint32_t exit = 0;
};

// Not a probe, but instructions that lead straight to a probed return instruction or system call instruction, whose bytes make
// room for its patch: abi::SiteKind::kRoom. SiteRequest::size counts up to the end of that instruction.
struct PatchRoom {};

using Probe = std::variant<EntryProbe, ReturnProbe, InstructionProbe, FunctionEndsProbe, SystemCallProbe, ReturnInstructionProbe,
                           PatchRoom>;
inline constexpr size_t kClientProbes = 4;  // alternatives of Probe that clients make: the first ones

// One place to probe, and what to call there. Several requests for one address are served in the order given, each once. A
// FileAddress of 0 is absent where that is said.
struct SiteRequest {
  uint32_t site_id = 0;              // at most 2^31-1; what handlers get and reports name
  std::string module_path;           // as /proc/PID/maps shows it (an absolute path without symbolic links), without " (deleted)"
  std::string module_identity =
      {};  // base/files/elf_identity.h: a module of that path that is another file is not touched; "": any is
  FileAddress address;               // of the first instruction that is probed, as the ELF file states it
  uint64_t size = 0;                 // from `address` to the function's end, in bytes; 0: unknown
  // The entry of the function (not of the inlined one) that has the instruction at `address`, where that is another address. 0:
  // unknown; an InstructionProbe then gets only patches that no branch can spoil.
  FileAddress function;
  Probe probe;
  uint32_t flags = 0;  // abi::SiteFlags
  // Of an SDT mark: the 16-bit counter that the program looks at before it comes to the mark. Raised by one in each
  // process while the site is armed there; children that are forked meanwhile count as armed. 0: none.
  FileAddress semaphore;
  // In a Go program: runtime.allgs, by which its goroutines are found. 0: unknown, and then the place where one was
  // interrupted may be patched over.
  FileAddress goroutine_list;
  bool enabled = true;   // with kSwitchable: false arms it switched off
  uint32_t touches = 0;  // with kTouchesStack: bytes below the stack pointer that handlers may write; the engine sets it
  // The handlers take pending return addresses of their client out of the stack, or put them back. Pending return addresses of
  // several clients may lie in one stack slot, one beneath the other: the handlers of these clients are called in turns, several
  // times each.
  bool moves_returns = false;

  template <typename Alternative>
  bool is() const {
    return std::holds_alternative<Alternative>(probe);
  }
  // Calls `visit` with the offset of each handler; not for 0.
  template <typename Visitor>
  void each_handler(Visitor visit) const;
  // Whether `address` is the entry of a function, as far as the client knows.
  bool is_at_entry() const { return is<EntryProbe>() || is<ReturnProbe>() || is<FunctionEndsProbe>(); }
};

template <typename Visitor>
void SiteRequest::each_handler(Visitor visit) const {
  auto all = [&](auto... offsets) { ((offsets != 0 ? visit(offsets) : void()), ...); };
  struct Alternatives {
    decltype(all)& give;
    void operator()(const EntryProbe& entry) { give(entry.enter); }
    void operator()(const ReturnProbe& returns) { give(returns.enter, returns.exit, returns.entry_alone); }
    void operator()(const InstructionProbe& instruction) { give(instruction.enter); }
    void operator()(const FunctionEndsProbe& ends) { give(ends.before_return, ends.before_transfer); }
    void operator()(const SystemCallProbe& call) { give(call.enter, call.exit); }
    void operator()(const ReturnInstructionProbe& instruction) { give(instruction.exit); }
    void operator()(const PatchRoom&) {}
  };
  std::visit(Alternatives{all}, probe);
}

// Handlers for all system calls of the processes, as in SystemCallProbe; calls/call_watch.h says where they run.
struct SystemCallHandlers {
  uint32_t site_id = 0;                        // as of a SiteRequest; reports don't name it
  uint32_t enter_offset = 0, exit_offset = 0;  // exit_offset 0: returns of calls are not reported
};

// How many of the client's probes on system calls are for a process. Handlers in the process report its calls only with kAll.
enum class CallProbes : uint8_t { kNone, kSome, kAll };

}  // namespace spile::engine
