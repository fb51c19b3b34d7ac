#pragma once
// The data that handlers in the kernel (eBPF), the code that loads them and the controller share. Freestanding: also
// compiled into the runtime's bitcode.
//
// A handler owns one *level* of its CPU while it runs: the kernel lets an interrupt's handler, or (uprobes) another
// task's, run on the same CPU before ours is done. Every sharded datum exists once per (CPU, level), so each has one
// writer and needs neither atomics nor locks:
//
//   scratch       per-CPU array, index = level
//   scalars       per-CPU array, index = shard
//   maps          per-CPU hash, the key's last 8 bytes = shard        shard = epoch * kKernelLevels + level
//
// As in processes (abi/arena.h) there are two epochs: the controller flips KernelControl::epoch, waits until every
// handler that may have seen the old one is done, and has that epoch's shards for itself.
//
// Data that can't be sharded is one plain array or hash under a lock of its own.

#include <stddef.h>
#include <stdint.h>

#include "abi/arena.h"

namespace spile::abi {

inline constexpr uint32_t kKernelLevels = 4;

// Where the arena is a BPF arena (Linux 6.12 and later; BPF_MAP_TYPE_ARENA), handlers in the kernel use it as handlers in
// processes do (abi/arena.h), with a slot for each level of each possible CPU in place of threads: slot kFirstSlot + CPU *
// kKernelLevels + level. The arena begins kKernelArenaBase above a multiple of 4 GiB in every process that maps it, and does not
// cross the next: the kernel looks at the low half of an address only. Behind scratch_offset + scratch_size of a kernel slot:
//
//   kernel_frame_offset   Context | State | variables of functions that have no place in registers     (kKernelFrameSize bytes)
// what eBPF code adds offsets to: not null, and sums fit into an instruction
inline constexpr uint64_t kKernelArenaBase = 64 << 10;
inline constexpr uint64_t kLargestKernelArena = (uint64_t{1} << 31) - kKernelArenaBase;
// Where a script has handlers in processes, too, the arena of those in the kernel is another one, which no process maps, as the
// kernel's data passes through it. Globals that both sides change lie in an array of the kernel's (kKernelSharedMap) that
// processes map over their arena. Handlers in the kernel know them by addresses from here on, which no arena reaches
// (runtime/kernel/shared.cpp).
inline constexpr uint64_t kKernelSharedBase = uint64_t{3} << 30;
inline constexpr uint64_t kLargestKernelShared = uint64_t{1} << 30;
// In a lock: what is added to the number of a handler's slot where the handler runs in the kernel.
inline constexpr uint32_t kKernelHolder = uint32_t{1} << 31;
// Holds a lock while spile copies an element under it. Handlers take such a lock away: spile may have been preempted by the very
// thread whose handler needs it. spile sees that when it gives the lock back, and copies again.
inline constexpr uint32_t kReadingHolder = uint32_t{1} << 30;
// of the table of pending returns (ArenaLayout::frames_offset), a power of two: 8,192 calls
inline constexpr uint32_t kKernelFrameSets = 512;
inline constexpr uint32_t kKernelFrameSize = 64 << 10;
inline constexpr uint32_t kKernelStateOffset = 96;   // in the frame: where codegen's State is
inline constexpr uint32_t kKernelPointOffset = 240;  // the probe's point that was hit, where the program has found it itself
inline constexpr uint32_t kKernelPassOffset = 248;   // a word by which pointers become numbers (codegen/ebpf/pointers.cpp)
// of a system call, which the program has read (KernelLayout::pt_regs_call_begin to _end)
inline constexpr uint32_t kKernelRegistersOffset = 256;
inline constexpr uint32_t kKernelVariablesOffset = 384;  // and the variables
// Behind the frame, where the script asks for the kernel's stack: the stack as it was when the running handler first asked.
struct KernelStack {
  uint32_t taken;  // 1: the other fields are the running handler's
  uint32_t first;  // frames before this one are those of tracing itself
  uint32_t count;  // with them
  uint32_t pad;
  // uint64_t addresses[]: of instructions, the innermost first
};
static_assert(sizeof(KernelStack) == 16);
// Of a process's stack that spile is to walk: the page that its stack pointer points to, and those above it.
inline constexpr uint32_t kUserStackPages = 5;
// Frames of tracing itself that a stack may have before the probed place's.
inline constexpr uint32_t kMostTracingFrames = 16;
constexpr uint32_t kernel_stack_size(uint32_t frames) {
  return static_cast<uint32_t>(sizeof(KernelStack)) + 8 * (frames + kMostTracingFrames);
}

inline constexpr uint32_t kKernelShards = 2 * kKernelLevels;
inline constexpr uint32_t kKernelScratchSize = 32768;  // bytes of a level: the largest value that per-CPU arrays have
inline constexpr uint32_t kKernelRecordSize = 8192;    // of them, at the end: the record being written
// and before it: what is left of MAXACTION, an int32_t
inline constexpr uint32_t kKernelActionsOffset = kKernelScratchSize - kKernelRecordSize - 16;
// Where a statement of a handler over maps visits an array's elements: bytes of where it stands, in scratch memory, and of an
// entry of its map before the key.
inline constexpr uint32_t kKernelVisit = 64;
inline constexpr uint32_t kKernelVisitEntry = 16;
inline constexpr uint32_t kDefaultKernelString = 128;  // bytes of strings of handlers in the kernel unless -D sets MAXSTRINGLEN

inline constexpr uint32_t kMaxKernelString = 512;        // bytes, whatever -D says
inline constexpr uint32_t kDefaultKernelRing = 8 << 20;  // bytes, for all CPUs together
// Calls whose return is pending, of a return probe that keeps values of the entry (runtime/kernel_maps/returns.cpp).
inline constexpr uint32_t kPendingWays = 8, kPendingSets = 512, kPendingHead = 16;
inline constexpr uint32_t kKernelLocks = 512;  // of globals that can't be sharded, by the global's index

// The type of a map in the kernel. Per-CPU values of one key become one value by KernelMapMerge when the controller reads them.
enum class KernelMapKind : uint8_t { kPerCpuArray, kArray, kPerCpuHash, kHash, kLruHash, kRing };
enum class KernelMapMerge : uint8_t { kNone, kSum, kAggregate };
// What a map is like, and how its elements are presented to the controller.
struct KernelMapShape {
  using Kind = KernelMapKind;
  using Merge = KernelMapMerge;
  Kind kind = Kind::kArray;
  uint32_t key_size = 0;    // bytes; arrays: 4
  uint32_t value_size = 0;  // bytes, a multiple of 8
  uint32_t entries = 0;     // elements at most; kRing: bytes, a power of two and whole pages

  // Values of one key on several CPUs become one value by `merge`. `sharded`: one element per (CPU, shard), for which hashes have
  // the number of the shard in the key's last 8 bytes, arrays in the index; visitors get keys without it, and merged values.
  Merge merge = Merge::kNone;
  bool sharded = false;
  // Parts of a hash's key: a long takes 8 bytes, a string string_size bytes. It is presented with a string as its bytes and a
  // NUL, padded to a multiple of 8, as runtime/interface.h packs native keys, and put and erased in that form, too.
  uint32_t key_count = 0;    // 0: the key is given as it is
  uint32_t string_keys = 0;  // bit n: part n is a string
  uint32_t string_size = 0;
  // Arrays that hold one element (sharded, or of one entry) present it under the empty key; others under the index.
};

// Symbols of the maps that the runtime refers to; codegen lists them in KernelCode::maps.
inline constexpr char kKernelStateMap[] = "spile_map_state";      // kPerCpuArray, 1 entry of KernelState
inline constexpr char kKernelScratchMap[] = "spile_map_scratch";  // kPerCpuArray, kKernelLevels of kKernelScratchSize
inline constexpr char kKernelRingMap[] = "spile_map_ring";        // kRing
// kArray: an element for each turn that a loop may take; only counted
inline constexpr char kKernelTurnsMap[] = "spile_map_turns";
inline constexpr char kKernelArenaMap[] = "spile_map_arena";  // the BPF arena
// kArray of one element, mapped by processes: globals of both sides
inline constexpr char kKernelSharedMap[] = "spile_map_shared";
// kHash: the numbers of traced processes, uint64_t, as spile sees them
inline constexpr char kKernelTargetsMap[] = "spile_map_targets";
inline constexpr uint32_t kMostKernelTargets = 16384;           // of them
inline constexpr char kKernelFramesMap[] = "spile_map_frames";  // kPerCpuArray, kKernelLevels of the addresses of a KernelStack
inline constexpr char kKernelCopyMap[] = "spile_map_copy";      // kPerCpuArray, kKernelLevels of kUserStackPages pages

// kHash: from a process (its number, or, where spile's PID namespace has no number for it, that of the initial one with bit 63
// set) to KernelLife.
inline constexpr char kKernelLivesMap[] = "spile_map_lives";

// Sections of an object whose handlers work over an arena, beside those of programs: "fn.3.name", a function of three numbers
// that is checked apart; "body.name", a function of a number and the program's argument, checked with its program; and what the
// arena has from ArenaLayout::constants_offset on.
inline constexpr char kKernelFunctionPrefix[] = "fn.";
inline constexpr char kKernelCallbackPrefix[] = "callback.";
inline constexpr char kKernelBodyPrefix[] = "body.";
inline constexpr char kKernelConstantsSection[] = ".spile.constants";

// Symbols of data in the object.
inline constexpr char kKernelConstantsSymbol[] = "spile_kernel_constants";  // KernelConstants, read-only, set at load
inline constexpr char kKernelProgramsSymbol[] = "spile_kernel_programs";    // KernelPrograms, read-only, set at load
inline constexpr char kKernelMembersSymbol[] = "spile_kernel_members";      // KernelMembers, read-only, set at load
inline constexpr char kKernelControlSymbol[] = "spile_kernel_control";      // KernelControl, shared with the controller
// uint32_t[kKernelLocks]: 1 + the CPU of the handler that uses the global; 0: no handler does.
inline constexpr char kKernelLocksSymbol[] = "spile_kernel_locks";

struct KernelState {     // per CPU
  uint64_t levels_busy;  // bit n: level n is owned by a running handler
  // By level: tid() of a running handler that uses arrays by its own thread's key without a lock; 0: no such handler.
  uint64_t threads[kKernelLevels];
  uint64_t owners[kKernelLevels];  // by level: the thread whose cells (thread_cells.h) a running handler uses; 0: it uses none
  uint64_t skipped[kSkipReasons];
  char sink[kMaxKernelString];  // strings are copied here to be measured; its contents are never read
};

struct KernelConstants {
  int64_t clock_offset_ns;  // CLOCK_REALTIME - CLOCK_MONOTONIC
  int64_t target_pid;       // target()
  // Device and inode of spile's PID namespace, for bpf_get_ns_current_pid_tgid(); 0: the initial one, for which a cheaper call
  // does.
  uint64_t pid_namespace_device;
  uint64_t pid_namespace_inode;
};

// Programs of whose processes a script wants to know, process("PATH").begin without -x and -c: by the inodes of their files,
// which spile keeps open meanwhile. Members of the kernel's structures are found by their offsets in bytes.
inline constexpr uint32_t kMostKernelPrograms = 64;
struct KernelPrograms {
  uint32_t task_mm, mm_file, file_inode;  // from a thread to the file that it executes
  uint32_t task_signal, signal_threads;   // and to the number of threads of its process
  uint32_t count;                         // of inodes
  uint64_t inodes[kMostKernelPrograms];   // addresses in the kernel
};
// Which of these programs a process executes: 1 + the index; 0: another one.
struct KernelLife {
  uint32_t program;
  uint32_t before;  // until its last exec
};

// Where the running kernel's structures have what the library's functions of the current process ask for: offsets of members in
// bytes.
struct KernelMembers {
  uint32_t known;  // 0: the kernel does not describe its types, and all others are 0
  // of task_struct; links: its place in a struct pid's list
  uint32_t task_parent, task_signal, task_thread_pid, task_cred, task_mm, task_name, task_links;
  uint32_t task_call_state;  // of task_struct: bits of its thread_info (KernelLayout::foreign_call)
  uint32_t signal_pids;      // of signal_struct: pointers to struct pid, by kind
  // of struct pid: its namespaces but the initial one, its lists of tasks, its numbers
  uint32_t pid_level, pid_tasks, pid_numbers;
  uint32_t number_size, number_value, number_space;  // of struct upid, a number in a namespace
  // of pid_namespace: its number, and the head of the tree from numbers to struct pid
  uint32_t space_inode, space_ids;
  uint32_t node_shift, node_slots;  // of xa_node, of which the tree consists
  uint32_t cred_euid, cred_egid;
  uint32_t mm_arguments, mm_arguments_end, mm_environment, mm_environment_end;
};

// A handler runs if, as it enters and again when it has its locks, `enabled` is 1 and `exit_requested` is 0: it reads both as one
// number.
struct alignas(8) KernelControl {
  uint32_t enabled;         // 1: handlers run. Written by the controller; handlers make it 0 after more errors than MAXERRORS
  uint32_t exit_requested;  // 1: a handler has called exit()
  uint32_t epoch;           // 0 or 1: whose shards handlers write; flipped by the controller
  uint32_t errors;          // of handlers, those whose record was lost included
  uint32_t interrupts;      // 1: a handler at a kprobe has run in an interrupt, so that others may miss hits; or nobody asks
  uint32_t unused;
};
static_assert(sizeof(KernelControl) == 24);
static_assert(offsetof(KernelControl, enabled) == 0 && offsetof(KernelControl, exit_requested) == 4);

}  // namespace spile::abi
