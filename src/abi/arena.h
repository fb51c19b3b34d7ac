#pragma once
// The arena: memory that the controller and every traced process share (one memfd, mapped MAP_SHARED; the address
// differs between processes, so nothing in it holds an absolute pointer). Freestanding: also compiled into the runtime's
// bitcode. All numbers little-endian, offsets in bytes from the arena's start.
//
//   0                     ArenaHeader                      (one page)
//   globals_offset        globals shared by all threads    (layout: codegen's ArenaLayout; locked or set before arming)
//   frames_offset         calls of Go functions             (only where return probes keep something of their entry)
//   entries_offset        registers of functions' entries    (only where a script asks for values that depend on them)
//   tables_offset         module maps and tables           (abi/stack_tables.h; only where a script asks for stacks)
//   private_offset        spile's own memory, to the end of slot 0: in spile alone, anonymous memory lies over the file here
//                         (layout: codegen's Layout), and what the file has at this place means nothing
//   slots_offset          thread slot 0
//                         thread slot 1 ...                (slot_count of slot_stride bytes; untouched ones cost nothing)
//
// The controller has all of it mapped. A process has only the first slots (InheritedState::slots), and more when its threads
// need them.
//
// A thread slot belongs to one thread of one traced process (or to the controller: slot 0):
//
//   0                     ThreadSlot
//   shards_offset         this thread's shards of sharded globals (two epochs of maps and aggregates)
//   shadow_offset         ShadowFrame[shadow_capacity], stride shadow_stride (return probes)
//   scratch_offset        scratch stack for strings and temporaries of handlers (scratch_size)
//   ring_offset           output ring, ring_size bytes, a power of two
//   calls_offset          CallRecord[] (call_history.h; only where a script notes calls)
//
// Slot 1 is the overflow slot: threads that found none free share it under its lock, without return probes.
// The reader of shared memory assumes that the other side may write anything: offsets and sizes are kept in the
// controller's own memory, never re-read from here.

#include <stdint.h>

#include "abi/machine.h"
#include "abi/questions.h"

namespace spile::abi {

inline constexpr uint64_t kArenaMagic = 0x656c697073ULL;  // "spile"
inline constexpr uint32_t kArenaVersion = 1;
inline constexpr uint32_t kPageSize = 4096;
inline constexpr uint32_t kMostSlots = 16384;
inline constexpr uint32_t kControllerSlot = 0, kOverflowSlot = 1, kFirstSlot = 2;

// Why a handler did not run, or ran and could not finish its work; counted in ThreadSlot::skipped, reported at the end.
// ORDER SKIP_REASON (session/arena/skips.cpp has the texts)
enum SkipReason : uint32_t {
  kSkipReentrant,       // hit while this thread was already in a handler
  kSkipLockTimeout,     // a lock (of a global, or the overflow slot) was not free in time
  kSkipNoSlot,          // return probe on a thread without a slot of its own
  kSkipShadowFull,      // recursion deeper than the shadow stack
  kSkipOutputFull,      // a record did not fit into the ring: lost output
  kSkipMapFull,         // an element did not fit into a shard: the update is lost
  kSkipControllerGone,  // handler refused to run: the controller has died
  kSkipUnwound,         // a pending return that an exception, longjmp or thread exit passed by
  kSkipReasons
};

// The thread that a handler in the controller is about (process.begin, process.syscall ...): pid(), execname() and $arg1 refer to
// it.
struct Subject {
  uint64_t active;  // 0: the handler is about nobody
  int64_t pid, tid, ppid, uid, euid, gid, egid;
  int64_t inner_pid, inner_tid;  // in its own namespace; 0: not known
  uint64_t is_past;              // 1: it has ended, or runs another program now, so /proc must not be asked about it
  char execname[16];
  uint64_t registers[kConvention.flags + 2];  // as Registers of trampoline.h; site_id is the system call's number
  uint64_t frame_kind;                        // FrameKind (stack_tables.h); kNoFrame: registers are not known
  // The stack from the run-time address stack_begin on as it was: stack_size bytes, at most kStackCopySize, are copied to the
  // area before the stray page. 0: read the process's own.
  uint64_t stack_begin, stack_size;
  uint64_t module_map;  // offset of the process's ModuleMap; 0: absent
  int64_t time_ns;      // since 1970, of a sample, whose handler runs later; 0: the handler reads the clock
};

inline constexpr uint32_t kTicksShift = 20;  // a distance of 2^42 ns (over an hour) still fits

// What handlers make times of: ns since the epoch = base_ns + ((time_counter() - base_tsc) * mult >> shift).
struct Clock {
  uint64_t mult;  // 0: not known yet
  uint64_t base_tsc;
  uint64_t base_ns;
  // CLOCK_MONOTONIC at base_tsc. Handlers in the kernel, which can't read the counter, have time_counter() = base_tsc +
  // ((CLOCK_MONOTONIC - base_monotonic) * ticks_mult >> kTicksShift).
  uint64_t base_monotonic;
  uint64_t ticks_mult;
  uint32_t shift;
  uint32_t reserved;
};
static_assert(sizeof(Clock) == 48);

struct ArenaHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t slot_count;
  uint64_t size;
  uint64_t slots_offset;
  uint64_t slot_stride;
  // A robust futex (pthread_mutex_t's first word) held by the controller for its life: the kernel sets
  // FUTEX_OWNER_DIED (0x40000000) in it when the controller dies, even by SIGKILL, before ptrace lets the target go.
  uint32_t controller_futex[16];
  // 1: a handler in a process or in spile has called exit(); the controller polls it. (Kernel: KernelControl::exit_requested.)
  uint32_t exit_requested;
  // Flipped by the controller before it merges sharded maps and aggregates; handlers of the old epoch are then waited for.
  uint32_t epoch;
  // Session state seen by handlers: 1 = run, 0 = return at once. Cleared by the controller at the end, and by the handler in a
  // process whose error is one more than MAXERRORS.
  uint32_t enabled;
  uint32_t errors;  // that handlers in processes have recorded
  // How often the controller has set the clock, before arming and some ten times a second. Handlers read clocks[clock_sequence %
  // 2]; the controller writes the other one, then counts: no handler waits for it, however long the kernel lets it stand amid
  // that.
  uint32_t clock_sequence;
  uint32_t reserved;
  Clock clocks[2];
  int64_t target_pid;    // target()
  uint64_t zero;         // always 0: loops in the kernel add it (codegen/ebpf/loops.cpp)
  uint64_t calls_until;  // call_history.h
  // Bit n: slot n has an owner. A hint for the search of a free slot: ThreadSlot::owner decides, which is set first and cleared
  // last.
  uint64_t taken[kMostSlots / 64];
};
static_assert(sizeof(ArenaHeader) <= kPageSize);

// State that the controller's own handlers read besides globals. At the begin of the page before slot 0, which is private to
// spile.
struct ControllerState {
  // Run-time address: the handlers that run now may access their stack below it.
  uint64_t stack_end;
  uint64_t image_size;  // bytes of the image from ImageCells on, rounded up to whole pages, as text is read by words
  // Offset of the ModuleMap (abi/stack_tables.h) by which handlers without a Subject name addresses; 0: absent.
  uint64_t module_map;
  // Descriptor of the program that reads the kernel's memory (kernel_read.h), plus 1; 0: handlers can't read it.
  uint64_t kernel_reader;
  Subject subject;
};
static_assert(sizeof(ControllerState) <= kPageSize);
// Before that page: a page to which accesses outside the arena are led (runtime/process/confine.cpp), and the copy of a sampled
// stack, of which perf_event_open(2) gives at most 64 KiB.
inline constexpr uint32_t kStrayPageSize = kPageSize;
inline constexpr uint32_t kStackCopySize = 64 << 10;

// A system call that has been reported and has not returned yet, found again by the stack pointer that it was made with.
struct PendingCall {
  uint64_t stack_pointer;  // 0: free
  uint64_t number;
};
inline constexpr uint32_t kPendingCalls = 4;
// The handler of a call of watched_calls.h stops for the controller by a load from this plus the address of the call's Registers,
// a kernel address: the load always faults.
inline constexpr uint64_t kCallBell = 0xffff'8000'0000'0000;
// A thread that finds no slot stops for the controller, which maps more, by a load from this address.
inline constexpr uint64_t kSlotBell = 0xffff'f000'0000'0000;

// Written by the owning thread, read by the controller, which also writes ring_tail, and `owner` when the owner has ended.
struct ThreadSlot {
  uint64_t owner;           // 0: free; else pid << 32 | tid as the claimer's process sees them; claimed by compare-and-swap
  uint64_t thread_pointer;  // thread_table_key() of the owner; 0: the slot was never used
  uint32_t busy;            // 1 + epoch while the owner runs a handler; 0 otherwise
  uint32_t shared;          // 1: the overflow slot; `lock` guards it
  uint32_t lock;
  uint32_t shadow_depth;           // frames in use
  uint64_t ring_head;              // bytes ever written; published with release
  uint64_t ring_tail;              // bytes ever consumed; written by the controller
  uint64_t scratch_top;            // bytes of scratch in use
  uint64_t skipped[kSkipReasons];  // counts, of all owners that the slot has had
  // 1 + the number of the owner's ThreadIdentity; 0: the controller must be asked. Kernel: whose cells (thread_cells.h) the
  // handler uses
  uint64_t identity;
  uint64_t ring_waited;              // 1 + ring_tail at which the owner has waited for the reader in vain
  PendingCall calls[kPendingCalls];  // a call, and those of signal handlers that interrupt it
  uint32_t spill_wait;               // spilling found no room: the number of calls to let pass before the next attempt
  uint32_t spilling;                 // 1: the owner is moving frames from its stack of frames to the SpilledFrames
  uint32_t ring_size;                // of slots of handlers in the kernel: bytes; the controller writes it
  uint32_t given_up;  // 1 + the place of the first SpilledFrame whose real return address an unwinder was given; 0: none
  uint64_t noted_calls, first_noted, noted_owner;  // call_history.h
  uint64_t walk;       // where on the stack the handler ran that began the walk which is under way; 0: none is known to be
  uint64_t heap_call;  // where the return address of the outermost call of an allocator is; 0: none is under way
};
static_assert(sizeof(ThreadSlot) <= 256);
inline constexpr uint32_t kThreadSlotSize = 256;

// A pending return of call-in-place (trampoline.h). A frame is free where stack_slot is 0; it is live as long as the
// word at stack_slot is a `returned` address of ours. Frames need not be left in the order in which they were entered
// (coroutines, longjmp, throw), nor by the thread that entered them.
struct ShadowFrame {
  uint64_t stack_slot;      // address of the return address on the thread's stack
  uint64_t return_address;  // the real one
  uint64_t site_id;
  uint64_t reserved;  // free: 1: a hole below the top; live: the `returned` address that an unwinder made it give up, or 0
  // followed by the saved entry values of the site's probes (shadow_stride - 32 bytes)
};
static_assert(sizeof(ShadowFrame) == 32);

// Calls of Go functions whose return is pending (runtime/process/goroutines.cpp): sets of tags, then ShadowFrames with their
// entry values; stack_slot is the depth in the goroutine's stack, return_address the goroutine, reserved the process.
inline constexpr uint32_t kGoroutineWays = 16;
inline constexpr uint32_t kGoroutineSets = 8192;  // a power of two; untouched ones cost nothing
constexpr uint64_t goroutine_set_stride(uint32_t shadow_stride) {
  return (kGoroutineWays * (8 + uint64_t{shadow_stride}) + 63) / 64 * 64;
}

// The values that registers had when a call of a function began, for handlers further on in the function
// (runtime/process/entry_values.cpp): sets of tags, then records, of all processes. A tag of 0: the record is free; odd: it is
// being filled.
struct EntryRecord {
  uint64_t cfa;
  uint64_t life;  // ProcessTable::life of its process: records of other processes, and of times before it was armed, don't match
  uint64_t return_address;
  uint64_t site_id;  // of the function's entry
  // followed by the registers, in the order of sema's SiteTable::kept_registers()
};
static_assert(sizeof(EntryRecord) == 32);
inline constexpr uint32_t kEntryWays = 16;
inline constexpr uint32_t kEntrySets = 16384;  // a power of two; untouched ones cost nothing
// Frames that lie close together have sets that do, too: a stack of 8 MiB fits whole if its frames have 32 bytes or more.
constexpr uint64_t entry_set_index(uint64_t cfa, uint64_t life) {
  uint64_t stack = (cfa >> 23 ^ life << 32) * 0x9e3779b97f4a7c15ULL;
  return ((cfa >> 4) + (stack >> 40)) & (kEntrySets - 1);
}
constexpr uint64_t entry_record_size(uint32_t registers) { return sizeof(EntryRecord) + 8 * uint64_t{registers}; }
constexpr uint64_t entry_set_stride(uint32_t registers) {
  return (kEntryWays * (8 + entry_record_size(registers)) + 63) / 64 * 64;
}

// Memory private to one process, anonymous and MADV_WIPEONFORK (so a forked child starts with an empty one and its
// threads claim slots of their own): finds a thread's slot by its thread pointer.
//   index = (thread pointer >> 12 ^ thread pointer >> 6) & (kThreadTableEntries - 1), then linear probing.
// All zero is an empty table. The process's own threads write `entries` (runtime/process/thread.cpp), spills_returns,
// self_pointers, tsc_faults, `values` and what is about them; the controller marks entries as gone, and writes all else.
inline constexpr uint32_t kThreadTableEntries = 32768;
constexpr uint64_t thread_table_index(uint64_t thread_pointer) {
  return (thread_pointer >> 12 ^ thread_pointer >> 6) & (kThreadTableEntries - 1);
}
struct ThreadTableEntry {
  uint64_t thread_pointer;  // thread_table_key(); 0: empty; 1: being filled; kGoneEntry
  uint64_t slot_offset;     // from the arena's start
};
// A thread whose thread pointer is 0 (its C library has not set it up yet) has a key too.
constexpr uint64_t thread_table_key(uint64_t thread_pointer) { return thread_pointer ? thread_pointer + 1 : 2; }
inline constexpr uint64_t kOverflowEntry = uint64_t{1} << 63;  // added to the key of a thread that found no slot of its own
// The key of a thread that has ended: another one may take the entry. Only the controller writes it.
inline constexpr uint64_t kGoneEntry = kOverflowEntry | 1;
// The number of a thread, so that handlers need not ask for it. The controller writes it while the thread stands still: when
// sites are armed, and when a thread is born. Found by linear probing, as above, but for the last one (kFirstThread): that of the
// process's first thread, in case that its thread pointer was set after its birth.
struct ThreadIdentity {
  uint64_t thread_pointer;  // thread_table_key(); 0: empty; kGoneEntry
  uint64_t tid;             // 0: several threads have this thread pointer
};
inline constexpr uint32_t kFirstThread = kThreadTableEntries;
struct ProcessTable {
  ThreadTableEntry entries[kThreadTableEntries];
  ThreadIdentity identities[kThreadTableEntries + 1];
  ThreadValues values[kThreadTableEntries + 1];  // of the thread with that identity, when it last asked; it writes them
  uint64_t pid;                                  // as the controller sees it; 0: not known
  uint64_t borrowers;  // number of other processes that run in this memory now (vfork); not 0: the controller must be asked
  // How often functions were called that may change ThreadValues (engine/value_changes.h), which their entries count, and up to
  // which count a handler has noticed that, and when, in ns since 1970.
  uint64_t changes, noticed_changes;
  int64_t noticed_ns;
  uint64_t keeps_nothing;   // 1: not all of these functions can be counted, so every handler asks. The controller writes it.
  uint32_t spills_returns;  // copy of InheritedState::spills_returns, quicker to read
  uint32_t self_pointers;   // 0: not known; 1: thread pointers point to themselves, as the psABI says; 2: some thread's does not
  // Offset of the process's ModuleMap (abi/stack_tables.h) in the arena; 0: absent. The controller writes it.
  uint64_t module_map;
  uint64_t tsc_faults;  // how often a thread could not read the time counter
  // 1: the controller reports system calls, by ptrace; handlers of system calls do not. The controller writes it.
  uint32_t calls_are_traced;
  uint32_t pad;
  uint64_t life;  // a new number each time that the process, or a forked child, is armed; 0: nothing is recorded for it
  uint32_t more_pad[2];
};

// Where the InheritedState begins, from the ProcessTable.
inline constexpr uint64_t kInheritedOffset = (sizeof(ProcessTable) + 256 + kPageSize - 1) / kPageSize * kPageSize;

// The image's first bytes; the engine (in spile itself: session) fills them for each process before a handler runs. Read-only to
// the process, read by handlers relative to the program counter (symbol spile_cells, section .spile.cells).
struct ImageCells {
  uint64_t arena;          // run-time address of the arena in this process
  uint64_t process_table;  // run-time address of the ProcessTable
  uint64_t host_context;   // controller only: the argument of host_drain; 0 in targets
  uint64_t host_drain;     // controller only: void (*)(void* context), called when the ring is full; 0 in targets
  uint64_t load_bias;      // of the module that this copy of the image serves: run-time minus file address
  // run-time [begin, end): the code region of this copy, in which `returned` addresses (trampoline.h) lie
  uint64_t returned_begin;
  uint64_t returned_end;
  uint64_t code_regions;  // run-time address of a CodeRegionList; 0: this is the only region
  uint64_t goroutine;     // where a thread of a Go program keeps its goroutine: thread pointer plus this; 0: no Go program
  uint64_t pad[7];
};
static_assert(sizeof(ImageCells) == 128);

inline constexpr uint64_t kRegionMagic = 0x36646f632d6c7073;  // "spl-cod6"

// The first bytes of a code region (engine/space/region.h): what a handler of another controller needs to find the pending
// returns that this one has, and a handler of signals where to go on. Offsets count from the region's
// start unless the field says otherwise; offsets, sizes and strides are in bytes.
struct RegionHeader {
  uint64_t magic;
  uint64_t size;
  uint64_t controller_pid;
  uint64_t journal_offset;
  uint64_t journal_count;
  uint64_t journal_capacity;
  uint64_t image_offset;
  uint64_t image_size;
  uint64_t code_offset;
  uint64_t arena;  // run-time address in the target
  uint64_t arena_size;
  uint64_t process_table;  // run-time address
  uint64_t shadow_offset;  // from a slot's start
  uint64_t shadow_stride;
  uint64_t shadow_capacity;
  uint64_t slots_offset;  // from the arena's start
  uint64_t slot_stride;
  uint64_t slot_count;
  uint64_t fixups_offset;  // FaultFixup[] (code_image.h) of the image, from the region's start
  uint64_t fixup_count;
};

// All code regions of a process (one for each probed module), in which the `returned` addresses on its stacks lie. Read-only to
// the process; the controller appends.
inline constexpr uint32_t kMaxCodeRegions = 191;
// bit of a range's `begin`: another controller's region, with shadow stacks of its own
inline constexpr uint64_t kForeignRegion = 1;
struct CodeRegionList {
  uint64_t count;  // published with release; ranges beyond the capacity are not listed
  uint64_t reserved;
  struct {
    uint64_t begin, end;  // run-time addresses; end is behind the last byte
  } ranges[kMaxCodeRegions];
};
static_assert(sizeof(CodeRegionList) == 3072);

}  // namespace spile::abi
