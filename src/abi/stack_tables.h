#pragma once
// Tables by which handlers walk a user-space stack and name addresses, prepared by the controller in the arena at
// ArenaLayout::tables_offset. Freestanding. Every offset called "table" or "map" counts from the arena's start, those inside a
// ModuleTable from the table's start.
//
//   ModuleMap      the modules that one process image has mapped: StackModule[count], ascending by `begin`.
//                  ProcessTable::module_map says which one a process uses; maps and tables are never changed once they are
//                  published, nor removed.
//   ModuleTable    one ELF file, shared by all processes that map it:
//
//     ModuleTable | pages: uint32_t[page_count + 1] | pcs: uint32_t[row_count] | rules: UnwindRule[row_count]
//                 | symbols: TableSymbol[symbol_count] | lines: TableLine[line_count] | text: NUL-terminated strings
//
// pcs are offsets from text_begin, ascending; rule n holds from pcs[n] up to pcs[n + 1]. pages[p] is the last row that
// begins at or before offset p << kTablePageShift, so that few rows are left to look at. Rules are what .eh_frame
// (DWARF 5 §6.4) says, reduced to what compilers emit, as the kernel's ORC does.

#include <stdint.h>

namespace spile::abi {

enum UnwindKind : uint8_t {
  kUnwindUnknown,    // no rule: the walk ends here, unless frame pointers lead on
  kUnwindEnd,        // the outermost frame
  kUnwindStack,      // CFA = stack pointer + offset
  kUnwindFrame,      // CFA = frame pointer + offset
  kUnwindStackLoad,  // CFA = [stack pointer + offset] + addend
  kUnwindFrameLoad,  // CFA = [frame pointer + offset] + addend
  kUnwindPlt,        // x86-64: CFA = stack pointer + 8, and 8 more where the pc is at byte `offset` of a 16-byte entry or behind
  kUnwindSignal,     // a signal handler's return: the caller's registers are in the kernel's ucontext at the stack pointer
};
enum UnwindFrame : uint8_t {
  kFrameSame,     // the frame pointer is the caller's
  kFrameAtCfa,    // the caller's frame pointer is at [CFA + frame_offset]
  kFrameAtFrame,  // the caller's frame pointer is at [frame pointer + frame_offset]
};

// The return address is at [CFA + Convention::return_slot], but for kUnwindSignal. Offsets and `addend` are in bytes.
struct UnwindRule {
  UnwindKind kind;
  UnwindFrame frame;
  int16_t frame_offset;
  int16_t offset;
  int16_t addend;
};
static_assert(sizeof(UnwindRule) == 8);

struct TableSymbol {
  uint32_t begin;  // offset from text_begin
  uint32_t size;
  uint32_t name;  // offset into the text
};
struct TableLine {
  uint32_t begin;  // offset from text_begin
  uint32_t line;   // 0: from here on nothing is known
  uint32_t file;   // offset into the text
};

inline constexpr uint32_t kTablePageShift = 8;

struct ModuleTable {
  uint64_t text_begin;  // file address
  uint64_t text_size;   // bytes
  uint32_t row_count, page_count, symbol_count, line_count;
  uint64_t pages, pcs, rules, symbols, lines, text;  // offsets from the table's start
  uint32_t path, name;                               // offsets into the text: the file, and its name without directories
  uint32_t build_id;                                 // offset into the text: hexadecimal, "" for none
};

struct StackModule {
  uint64_t begin, end;  // run-time addresses of its executable memory
  uint64_t bias;        // run-time minus file address
  uint64_t base;        // run-time address of the whole module's begin
  uint64_t size;        // of the whole module in memory
  uint64_t table;       // offset of its ModuleTable
};
struct ModuleMap {
  uint64_t count;
  // StackModule[count]
};

// The processes whose stacks handlers in the kernel walk, at ArenaLayout::processes_offset: a hash by the process's number, with
// linear probing of kProcessSteps steps at most. The controller alone writes `maps`, of which no entry becomes free again;
// handlers write the rest.
inline constexpr uint32_t kProcessMaps = 4096;  // a power of two
inline constexpr uint32_t kProcessSteps = 32;
inline constexpr uint32_t kWantedProcesses = 64;  // a power of two
struct ProcessMap {
  uint64_t process;     // as spile sees it; 0: free
  uint64_t module_map;  // offset in the arena
  uint64_t slots;       // run-time address of slot kFirstSlot of the arena that the process itself has; 0: it has none
  uint64_t owner;       // the process as it sees itself, as in ThreadSlot::owner
};
// Where the ShadowFrames of processes with handlers of their own lie in their slots.
struct ShadowPlaces {
  uint64_t slot_count, slot_stride;
  uint64_t first, stride;  // of the frames in a slot
  uint64_t capacity;       // of a slot; 0: no handler replaces return addresses
};
struct ProcessMaps {
  uint64_t wanted_count;  // of processes that handlers have asked for, ever
  uint64_t cut_stacks;    // that handlers could not walk to the end because a map was not there yet, or lacked a module
  uint64_t wanted[kWantedProcesses];  // the last of them; number n is at n % kWantedProcesses
  ShadowPlaces shadows;
  ProcessMap maps[kProcessMaps];
};
// Where the search for a process begins.
constexpr uint32_t process_place(uint64_t process) { return static_cast<uint32_t>(process * 0x9e3779b1u >> 8) % kProcessMaps; }

// What is known of the kernel's code, at ArenaLayout::kernel_code_offset. CodeRange[range_count] follows, ascending: the
// functions by which the kernel calls handlers, with which the stack of a tracepoint begins.
struct KernelCodeTable {
  uint64_t
      // offset in the arena of the ModuleMap by which addresses in the kernel have names; 0: the script asks for none
      module_map;
  uint64_t range_count;
};
struct CodeRange {
  uint64_t begin, end;
};

// Most frames of one walk, whatever MAXBACKTRACE says.
inline constexpr uint32_t kMostFrames = 1024;

// The place in its function that Context::user_pc or a Subject's program counter is.
enum FrameKind : uint32_t {
  kNoFrame,      // the handler has no registers: nothing to walk
  kFrameEntry,   // at a function's first instruction: the CFA is at Convention::entry_cfa above the stack pointer
  kFrameInside,  // anywhere else
};

}  // namespace spile::abi
