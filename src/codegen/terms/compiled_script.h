#pragma once
// What the compiler makes of a program (codegen.h), and how it is asked: the layout of the arena, machine code for each place
// where handlers run, and what records name by number.

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "abi/aggregate.h"
#include "abi/arena.h"
#include "abi/code_image.h"
#include "abi/kernel.h"
#include "abi/record.h"
#include "abi/trampoline.h"
#include "base/diagnostics.h"
#include "base/result.h"
#include "sema/terms/program.h"
#include "syntax/output_format.h"

namespace spile::codegen {

// Where everything lies in the arena (abi/arena.h); offsets in bytes.
struct ArenaLayout {
  uint64_t size = 0;
  uint64_t globals_offset = 0;
  uint64_t private_offset = 0;                      // up to the end of slot 0: spile's own, in memory that no process shares
  uint64_t exchange_offset = 0, exchange_size = 0;  // private: where session and the controller's code hand over elements
  uint64_t slots_offset = 0;
  uint64_t slot_stride = 0;
  uint32_t slot_count = 0;
  uint64_t frames_offset = 0;                             // calls of Go functions; 0: absent
  uint64_t entries_offset = 0;                            // abi::EntryRecord; 0: absent
  uint64_t tables_offset = 0, tables_size = 0;            // abi/stack_tables.h; 0: absent
  uint64_t kernel_code_offset = 0, kernel_code_size = 0;  // abi::KernelCodeTable and what it refers to; 0: absent
  uint64_t processes_offset = 0;                          // abi::ProcessMaps; 0: absent
  // From a slot's start, and bytes; shadow_capacity: frames, 0 where the script has no return probes.
  uint32_t shards_offset = 0;
  uint32_t shadow_offset = 0, shadow_stride = 0, shadow_capacity = 0;
  uint32_t scratch_offset = 0, scratch_size = 0;
  uint32_t ring_offset = 0, ring_size = 0;
  uint32_t calls_offset = 0, calls_capacity = 0;  // abi/call_history.h; 0: absent
  uint32_t kernel_frame_offset = 0;               // in slots of handlers in the kernel (abi/kernel.h); 0: absent
  uint64_t constants_offset = 0;                  // of eBPF code, behind all else; 0: absent
  // Where handlers in processes and in the kernel have an arena each: that of the latter begins here, in spile's memory, and the
  // pages of globals that both change lie over this arena's file. 0: absent.
  uint64_t kernel_offset = 0;
  uint64_t shared_offset = 0, shared_size = 0;
  uint32_t record_owner_size = 0;  // or sizeof(abi::RecordOwner): at the end of each record
  // of slots of handlers in the kernel: of a CPU's lowest level, and of others
  uint32_t kernel_ring_size = 0, kernel_small_ring_size = 0;
  uint32_t kernel_slots = 0;  // slots of handlers in the kernel, from abi::kFirstSlot on
};
// Bytes at the begin of the exchange: cursor, length (uint32_t each), and the value's address (uint64_t).
inline constexpr uint64_t kExchangeHead = 64;
struct LayoutOptions {
  uint32_t slot_count = abi::kMostSlots;  // at most; at least 8 where processes are traced
  uint64_t address_space = 1ull << 40;    // bytes that the slots may take: if slot_count of them need more, the arena has fewer
  uint32_t ring_size = 1 << 20;           // -s, bytes of one thread's ring. REQUIRES: a power of two
  bool owned_records = false;             // records say which process and thread they are of
  uint32_t kernel_ring = 32 << 20;        // bytes of a CPU's ring at most, where ring_size is 4 MiB. REQUIRES: a power of two
  // Where handlers in the kernel may work over a BPF arena: the CPUs that there may ever be, and how many bytes of memory their
  // slots may take (they take them whether they are used or not); scripts that need more work over kernel maps. 0: all work over
  // kernel maps.
  uint32_t kernel_cpus = 0;
  uint64_t kernel_memory = 0;
  uint32_t shadow_capacity = 16384;  // pending returns of one thread; memory that is never used costs nothing
};

using syntax::ErrorText;
using syntax::kSummaryPercents;
using syntax::OutputFormat;
using syntax::printf_format;
using syntax::SummaryPercent;

// Commands for system() of handlers. A record names a command that the script spells out by its index in `texts`, so that a
// traced process can't choose what is run.
struct SystemCommands {
  std::vector<std::string> texts;
  // The place in the script ("a.stp:3:5") that makes a command's text when a handler runs; empty: absent.
  std::string made_at;
};

// Offsets of a group's handlers in the image; 0: absent. entry: runs the entry probes alone, at a site of abi::SiteKind::kEntry,
// for a group with return probes where the function's returns can't be probed.
struct ImageEntry {
  uint32_t enter = 0, exit = 0, entry = 0;
  uint32_t flags = 0;
};  // flags: abi::SiteFlags

// Native code for traced processes.
struct TargetCode {
  abi::CodeImage image;
  std::vector<ImageEntry> groups;  // by index into Program::site_groups
  uint32_t unwind = 0;             // a handler, called as `enter` is, that restores all pending returns of the thread
  // Handlers that make those returns pending again that are still on the stack: where an unwinder returns; where it lands (the
  // stack pointer is the fourth argument); where an exception has been caught.
  uint32_t walked = 0, landing = 0, caught = 0;
  // The handlers of kReturn sites on functions that take one step of a walk.
  uint32_t step_enter = 0, step_exit = 0;
  // The handler of kEntry sites at SiteTable::kept_functions(); 0: no function keeps registers. And the flags of these sites.
  uint32_t keep_entry = 0, keep_entry_flags = 0;
  // The handlers of abi::SiteKind::kSystemCall. call_enter 0: the script probes no system calls in processes; call_exit 0: no
  // returns.
  uint32_t call_enter = 0, call_exit = 0;
};

// Native code for spile itself; offsets into its image, to be called as C functions, one at a time.
struct ControllerCode {
  abi::CodeImage image;
  uint32_t init = 0;             // void(): stores initial values and formats maps. REQUIRES: called once, first
  uint32_t merge = 0;            // uint64_t(uint32_t epoch): merges sharded maps and aggregates of that epoch, and all
                                 // sharded scalars, into the controller's copies; returns the number of elements
                                 // that found no room. REQUIRES: no handler of that epoch runs any more
  std::vector<uint32_t> probes;  // by index into Program::probes; void(); 0 for probes of other domains
  // by index into Program::probes; uint64_t(), whether its condition is true; 0: it is not `switched`
  std::vector<uint32_t> conditions;
  uint32_t walk_stack =
      0;  // uint32_t(uint64_t* addresses, uint32_t most): of the Subject; addresses: in the exchange (ArenaLayout).
          // Returns how many there are, each with kExactAddress as kBacktrace has it. 0: absent
  // For a back end whose globals live elsewhere (bpf): these fill and read the controller's copy. global: its index in
  // Program::globals. Keys are packed as runtime/interface.h says, in the native form; a value is a long, a string, or an
  // aggregate.
  uint32_t global_clear = 0;  // void(uint32_t global)
  uint32_t global_put = 0;    // bool(uint32_t global, const char* key, uint32_t length, const void* value)
  uint32_t global_add = 0;    // bool(uint32_t global, const char* key, uint32_t length, void* value): adds to a
                              // long, merges into an aggregate (and empties `value`); false: no room
  uint32_t global_next = 0;   // const char*(uint32_t global, uint32_t* cursor, uint32_t* length, void** value):
                              // elements one after another, null at the end; scalars: one with an empty key.
                              // *cursor: 0 at first, then left alone between calls
};

// eBPF for the kernel, as an ELF object for src/bpf to load.
struct KernelMap : abi::KernelMapShape {
  std::string symbol;  // the extern symbol that programs refer to
  int global = -1;     // index of the global that it holds, or -1
};
struct KernelProgram {
  std::string section;     // of the object
  int probe = -1;          // index into Program::probes
  bool exit_side = false;  // to be attached at the function's return (a uretprobe). A return probe with entry values
                           // has two programs: one at the entry, one at the return
  // Its context is the function's arguments (fentry, fexit) rather than struct pt_regs; the tracepoint's (raw) rather than its
  // record.
  bool by_arguments = false;
  bool reads_context = true;     // what the kernel gives the program for a tracepoint, or its cookie; false: neither
  std::vector<uint32_t> points;  // indexes into Probe::points, of those where it is attached; empty: all
  // The raw tracepoint, "raw_syscalls:sys_enter", where the program is attached once for all its points: it looks itself which of
  // them was hit, by the arguments that the kernel gives it. Empty: each point has an attachment.
  std::string raw_tracepoint;
  // It serves no probe: it keeps abi::kKernelLivesMap. REQUIRES: attached in the order of KernelCode::programs.
  bool keeps_lives = false;
};
// The attach cookie of a probe's `point`-th point, by which the handler distinguishes its points and computes the module's load
// bias: bits 48 to 63 the point, bits 0 to 47 the file address. REQUIRES: point < kMostKernelPoints.
inline constexpr size_t kMostKernelPoints = size_t{1} << 16;
inline constexpr int kCookieIndexShift = 48;
inline constexpr uint64_t kCookieAddressMask = (uint64_t{1} << kCookieIndexShift) - 1;
inline uint64_t kernel_cookie(const sema::Probe& probe, size_t point) {
  return static_cast<uint64_t>(point) << kCookieIndexShift | (probe.points[point].site.address.value & kCookieAddressMask);
}
struct KernelCode {
  std::vector<uint8_t> object;  // the ELF file
  // Handlers work over the arena, which must be a BPF arena (abi/kernel.h); `maps` has no globals then.
  bool over_arena = false;
  // Of the handlers' arena. Its bytes begin at CompiledScript::layout.kernel_offset; 0 there: both are the same arena.
  ArenaLayout arena;
  // What the arena of handlers in the kernel has a copy of: globals that change no more once handlers run. Offsets in spile's
  // arena.
  struct Copy {
    uint64_t from, to, size;
  };
  std::vector<Copy> copies;
  std::vector<KernelMap> maps;
  std::vector<KernelProgram> programs;
  std::vector<std::string> followed;  // paths of programs, in the order of abi::KernelPrograms
};

struct CompiledScript {
  ArenaLayout layout;
  std::vector<OutputFormat> formats;
  std::vector<ErrorText> errors;
  ControllerCode controller;  // always
  TargetCode target;          // empty image: no target probes
  KernelCode kernel;          // empty object: no kernel probes
  SystemCommands commands;
  // The kinds of records (abi::record_kind_bit) that handlers in processes can write; kExit: whether they can call exit().
  uint32_t target_records = 0;
  std::set<std::string, std::less<>> literals;  // strings that the script spells out
  uint32_t string_limit = 0;                    // bytes of the longest string, with its NUL
  // By index into Program::probes: where a thread counts the probe's hits in processes (uint64_t), in bytes from the start of its
  // slot; 0: not counted. A slot's counts stay when its thread ends.
  std::vector<uint32_t> hit_counters;
};

struct Options {
  LayoutOptions layout;
  // The runtime as LLVM bitcode (runtime/bitcode.h); must outlive the Translation. bpf: may be empty without kernel probes.
  // kernel: for handlers in the kernel over a BPF arena.
  std::span<const unsigned char> process_bitcode, kernel_maps_bitcode, kernel_bitcode;
  int optimization = 2;  // 0 to 3; 2: large native code, or code that runs rarely, is compiled quickly; eBPF: 2 at least
  // --print-after=NAME: prints IR after that step ("lower-target"), and uses no cache; empty: prints none
  std::string print_after;
  std::string cache_directory;  // of object_cache.h; empty: no cache
  // Why processes that are traced must not make the text of shell commands ("process 4711 is user 33's"); empty: they may.
  std::string untrusted_target;
  // Receives an error for each construct that translate() rejects in the first place (process, kernel, controller) that has any.
  // May be null. translate() returns the first of them in either case, and other errors (the layout's, embedded C's) only so.
  Diagnostics* diagnostics = nullptr;
};

}  // namespace spile::codegen
