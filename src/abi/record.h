#pragma once
// Records in an output ring, written by handlers in any domain, read by the controller, which must check every field of a ring
// that processes can write to. A record is aligned to 8 bytes, and never wraps: where it would, a kPad record fills the end, of
// which only size and kind are written, as less than a header may be left (and its size may be less than a header's).

#include <stdint.h>

namespace spile::abi {

enum RecordKind : uint16_t {
  kPad = 0,
  kPrintf = 1,     // id: index of the script's format table; payload: the arguments in order
  kError = 2,      // id: index of the script's error table (place and text); payload: the arguments in order
  kText = 3,       // payload: a string, to be written as it is
  kWarning = 4,    // payload: a string, to be written to standard error as "WARNING: ..."
  kHistogram = 5,  // id: index of the script's format table; payload: the aggregate (aggregate.h), then its buckets
  kExit = 6,       // exit() was called (kernel, controller; in processes ArenaHeader::exit_requested)
  kBacktrace =
      8,  // id: SymbolStyle; payload: a ModuleMap's offset in the arena, then run-time addresses, the innermost first, with
          // kExactAddress in each that is where the thread is rather than a return address
  kSymbols = 9,  // id: SymbolStyle; payload: a ModuleMap's offset, a string of addresses in hexadecimal with spaces between
  kKernelBacktrace = 10,  // id: SymbolStyle; payload: addresses in the kernel, the innermost first
  kKernelSymbols = 11,    // id: SymbolStyle; payload: a string of addresses in the kernel, in hexadecimal with spaces between
  kSystem = 12,  // system(); id: the command's index in the script's table of commands, or kCommandText: the payload is a string,
                 // the command
  kSwitchFile = 13,  // switch_file(): output goes on in the next file of -S
  kUserStack =
      14,  // id: SymbolStyle; payload: a process, its program counter, stack pointer and frame pointer, and a copy of its stack
           // from the stack pointer on
  kErrorText = 7,  // payload: a string: error("...") of a script
};

inline constexpr uint32_t kCommandText = ~uint32_t{0};

// The bit of a kind in a set of kinds, such as CompiledScript::target_records: the kinds that handlers of the script can write.
// The reader of a ring that processes can write to ignores others (session/output/record_queue.h). 0: not a kind.
constexpr uint32_t record_kind_bit(uint32_t kind) { return kind < 32 ? uint32_t{1} << kind : 0; }

// How an address is printed, on a line of its own.
enum SymbolStyle : uint32_t {
  kSymbolFull,   //  0x401136 : main+0x10/0x25 [/usr/bin/x]
  kSymbolBrief,  // main+0x10
};
inline constexpr uint64_t kExactAddress = uint64_t{1} << 63;

// Payloads: a long is 8 bytes; a string is a 4-byte length, then its bytes without NUL, padded so that both are a multiple of 8.
struct RecordHeader {
  uint32_t size;   // of header and payload together, a multiple of 8
  uint16_t kind;   // RecordKind
  uint16_t cpu;    // number of the CPU that the handler ran on
  uint32_t id;     // as RecordKind says; else 0
  uint32_t probe;  // index into Program::probes of the probe that wrote it
  uint64_t time;   // orders records between threads: time_counter() in processes, ktime ns in the kernel
};
static_assert(sizeof(RecordHeader) == 24);

// The end of all records of a session that says whose they are (codegen::ArenaLayout::record_owner_size), behind the payload, and
// of none of another: whose handler it was, on which thread; 0: not known, as of most handlers in spile.
struct RecordOwner {
  uint32_t process, thread;
};
static_assert(sizeof(RecordOwner) == 8);
// Both together, as their reader holds them.
struct OwnedHeader : RecordHeader {
  RecordOwner owner = {};
};
static_assert(sizeof(OwnedHeader) == 32);

}  // namespace spile::abi
