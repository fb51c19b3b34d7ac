#pragma once
// The runtime interface: all that compiled scripts need from the place where they run. sema's typed tree is lowered
// once, to calls of these functions. Each has an implementation in one or both of two folders, which clang compiles to LLVM bitcode;
// codegen links it into the script's module and inlines it:
//
//   native/  traced processes and spile (the constant spile_rt_in_controller says which; code for the other folds away)
//   bpf/     the kernel: helpers and maps of the kernel. It lacks what is marked "native" below, iteration and the formatting of
//            strings; codegen rejects scripts that need it there (codegen/place.h, codegen/refuse_for_kernel.cpp)
//
// Freestanding C++20 without exceptions, RTTI, static constructors, writable statics or libc. General registers only.
// Failures are values, never jumps: the lowering emits the branch to the script's catch block or to the handler's end.
//
// Strings are NUL-terminated, at most spile_rt_string_size bytes with the NUL, and never null. A function that makes a
// string writes into `out`, a buffer of spile_rt_string_size bytes, truncating.

#include <stdint.h>

#include "abi/aggregate.h"
#include "abi/arena.h"
#include "abi/handler.h"
#include "abi/record.h"

namespace spile::rt {

// Shared with the lowering: abi/handler.h.
using abi::AggregateShape;
using abi::Context;
using abi::MapShape;

// Where a global's storage is. native: its address (of a shard, or of the one copy). bpf: the map of an array, and for other
// globals the element that a lookup has found.
using Handle = void*;

struct MapElement;  // native: an entry of a map; keys and value are reached by the functions below
struct Iteration;   // a sorted snapshot of a map's elements, in scratch memory

extern "C" {

// Constants that codegen defines in the module, so that they fold.
extern const uint32_t spile_rt_string_size;  // MAXSTRINGLEN; buffers are rounded up to 8 (bpf: it is rounded up)
extern const uint32_t spile_rt_in_controller;
extern const uint32_t spile_rt_arena_pages;     // its size
extern const uint32_t spile_rt_slots_page;      // of the arena, where the slots begin
extern const uint32_t spile_rt_slot_stride;
extern const uint32_t spile_rt_slot_count;
extern const uint32_t spile_rt_shards_offset;  // within a slot
extern const uint32_t spile_rt_epoch_stride;   // bytes between the two epochs' shards of maps and aggregates
extern const uint32_t spile_rt_shadow_offset;
extern const uint32_t spile_rt_shadow_stride;
extern const uint32_t spile_rt_shadow_capacity;
extern const uint32_t spile_rt_frames_page;  // of the arena, where calls of Go functions begin
extern const uint32_t spile_rt_entries_page;     // of the arena, where EntryRecords begin
extern const uint32_t spile_rt_entry_registers;  // that they have
extern const uint32_t spile_rt_scratch_offset;
extern const uint32_t spile_rt_scratch_size;
extern const uint32_t spile_rt_ring_offset;
extern const uint32_t spile_rt_ring_size;
extern const uint32_t spile_rt_max_backtrace;  // MAXBACKTRACE: frames

// -- handler life. enter: finds the thread's slot. False, counted as skipped: a handler runs there already; the context's arena
// and slot are valid even then, for return_exit.
bool spile_rt_enter(Context*);
void spile_rt_leave(Context*);
// enter_light: for a handler that only adds to sharded scalars, which needs the slot and no guard. False: it has no slot,
// counted as skipped. It takes the lock of the overflow slot; leave_light gives it back, and may also be called after false.
bool spile_rt_enter_light(Context*);
void spile_rt_leave_light(Context*);
// Locks of globals that need one, taken in ascending order of their index. False: timed out (counted).
bool spile_rt_lock(Context*, uint64_t lock_offset);
void spile_rt_unlock(Context*, uint64_t lock_offset);
// Scratch memory for strings and keys. mark: how much is in use. frame: takes `bytes`, aligned to 16; null: not so many are left.
// release: gives back all that was taken after the mark.
uint64_t spile_rt_frame_mark(Context*);
void* spile_rt_frame(Context*, uint32_t bytes);
void spile_rt_frame_release(Context*, uint64_t mark);

// -- system calls (native). Like spile_rt_enter, at a system call and behind it, and set the context's call_number. call_exit: also
// false where no call is pending, as in a child that a call has made.
bool spile_rt_call_enter(Context*, const void* registers);
bool spile_rt_call_exit(Context*, const void* registers);

// -- return probes (native). enter: makes a frame for the stack slot of the return address (that of the function with this CFA), and
// returns the place for its saved entry values; null: no frame is free, counted. The frame is pending from entered on. push: makes
// a frame without entry values, pending at once; false: none is free, counted. find: returns that frame's entry values on the way out,
// never null while the slot holds our address; nobody else finds the frame from then on. exit: frees the frame and stores the
// real return address into the slot.
uint64_t* spile_rt_return_enter(Context*, uint64_t cfa, uint64_t site_id);
bool spile_rt_return_push(Context*, uint64_t cfa, uint64_t site_id);
void spile_rt_return_entered(Context*, uint64_t cfa, uint64_t* saves);
uint64_t* spile_rt_return_find(Context*, uint64_t cfa);  // sets context->site_id
void spile_rt_return_exit(Context*, uint64_t cfa, uint64_t* saves);
// -- return probes of Go functions (native), for their entry values only. enter: returns the place for them; null: none is free,
// counted. find: returns that place on the way out; null: the call has none. exit: frees it.
uint64_t* spile_rt_goroutine_enter(Context*, uint64_t cfa, uint64_t site_id);
uint64_t* spile_rt_goroutine_find(Context*, uint64_t cfa, uint64_t site_id);
void spile_rt_goroutine_exit(Context*, uint64_t* saves);
// -- registers of a function's entry (native), for handlers within it. keep: stores them at the entry, before the function has run;
// needs no thread's slot. value: reads number `index` of those that the call with this frame has kept at the site; false: it has
// kept none.
void spile_rt_entry_keep(uint64_t cfa, uint64_t site_id, const uint64_t* values);
bool spile_rt_entry_value(Context*, uint64_t cfa, uint64_t site_id, uint32_t index, uint64_t* value);
// Restores every pending return address of the calling thread: run when an unwinder starts (codegen exports it as a
// handler of its own, image entry "unwind").
void spile_rt_unwind(Context*);
// Undoes that for the frames that are still on the stack. Where an unwinder returns to its caller, all are (entry
// "walked"); where it is about to land in one of them with the stack pointer `landing`, those behind it (entry "landing").
void spile_rt_rewind(Context*, uint64_t landing);
// Undoes it where an exception has been caught by an unwinder whose ends are not known (entry "caught").
void spile_rt_rewind_caught(Context*);

// -- storage
Handle spile_rt_shared(Context*, uint64_t offset);       // native: arena + offset
Handle spile_rt_shard(Context*, uint64_t offset);        // native: this thread's shard (scalars: no epoch)
Handle spile_rt_epoch_shard(Context*, uint64_t offset);  // native: of the epoch in which this handler entered
int64_t spile_rt_long_get(Context*, Handle);
void spile_rt_long_set(Context*, Handle, int64_t);
void spile_rt_long_add(Context*, Handle, int64_t);  // one instruction: safe against signals
const char* spile_rt_string_get(Context*, Handle);
void spile_rt_string_set(Context*, Handle, const char*);
abi::Aggregate* spile_rt_aggregate_get(Context*, Handle);  // null: none there
void spile_rt_aggregate_add(abi::Aggregate*, const AggregateShape*, int64_t value);
void spile_rt_aggregate_clear(abi::Aggregate*, const AggregateShape*);
int64_t spile_rt_aggregate_variance(const abi::Aggregate*, const AggregateShape*);

// -- packed keys: longs take 8 bytes; strings their bytes and NUL padded to 8 (native), or string_size (bpf).
uint32_t spile_rt_key_put_long(char* key, uint32_t at, int64_t);  // the next position
uint32_t spile_rt_key_put_string(char* key, uint32_t at, const char*);
int64_t spile_rt_key_get_long(const char* key, uint32_t at);
const char* spile_rt_key_get_string(const char* key, uint32_t at);
uint32_t spile_rt_key_skip_string(const char* key, uint32_t at);  // the next position

// -- maps. Values: pointers to value_size bytes. insert finds or makes (zeroed); null when full.
void* spile_rt_map_find(Context*, Handle, const MapShape*, const char* key, uint32_t length);
void* spile_rt_map_insert(Context*, Handle, const MapShape*, const char* key, uint32_t length);
void* spile_rt_map_find_long(Context*, Handle, const MapShape*, int64_t key);  // inlined: the common case
void* spile_rt_map_insert_long(Context*, Handle, const MapShape*, int64_t key);
void spile_rt_map_remove(Context*, Handle, const MapShape*, const char* key, uint32_t length);
void spile_rt_map_clear(Context*, Handle, const MapShape*);
int64_t spile_rt_map_size(Context*, Handle, const MapShape*);
// Iteration in insertion order, or sorted. column: 0 by value, n by the n-th key; direction +1, -1, or 0 unsorted;
// statistic: syntax::Statistic::Operator for aggregates. Null: no scratch left. next: null at the end.
Iteration* spile_rt_iterate(Context*, Handle, const MapShape*, uint32_t column, int32_t direction, uint32_t statistic,
                            int64_t limit);  // limit < 0: none; only a hint for partial sorting
MapElement* spile_rt_iterate_next(Iteration*);
const char* spile_rt_element_key(MapElement*, const MapShape*);
void* spile_rt_element_value(MapElement*, const MapShape*);

// -- output. begin: room for a record with at most `payload` bytes, or null (lost, counted). The put functions return
// the next position; end publishes what was put.
char* spile_rt_record_begin(Context*, uint32_t kind, uint32_t id, uint32_t payload);
char* spile_rt_record_put_long(char* at, int64_t);
char* spile_rt_record_put_string(char* at, const char*, uint32_t length);
char* spile_rt_record_put_bytes(char* at, const void*, uint32_t length);  // length a multiple of 8
void spile_rt_record_end(Context*, char* record, char* end);              // record: what begin returned
void spile_rt_exit_session(Context*);                                     // exit()
void spile_rt_note_error(Context*, uint64_t most);  // native: an error was recorded; stops all handlers of processes after more than `most`
bool spile_rt_exiting(Context*);                                              // native: whether exit() was called

// -- strings
uint32_t spile_rt_string_length(const char*);
void spile_rt_string_copy(char* out, const char*);
void spile_rt_string_concatenate(char* out, const char* a, const char* b);  // out may be a
int32_t spile_rt_string_compare(const char* a, const char* b);
// sprintf, part by part; the position after it. conversion: syntax::FormatPart::Kind; flags: FormatFlags of format.h
uint32_t spile_rt_format_literal(char* out, uint32_t at, const char* text, uint32_t length);
uint32_t spile_rt_format_long(char* out, uint32_t at, int64_t, uint32_t conversion, uint32_t flags, int32_t width,
                              int32_t precision);
uint32_t spile_rt_format_string(char* out, uint32_t at, const char*, uint32_t flags, int32_t width, int32_t precision);
// %m, %M (hex): bytes with their number
uint32_t spile_rt_format_memory(char* out, uint32_t at, const char* bytes, uint32_t length, bool hex, uint32_t flags,
                                int32_t width);
void spile_rt_format_end(char* out, uint32_t at);
// A histogram's rows (runtime/histogram.h), as far as they fit; the position after them. elision: HIST_ELISION (native)
uint32_t spile_rt_histogram_text(char* out, const uint64_t* buckets, uint32_t count, bool is_log, int64_t low, int64_t width,
                                 int32_t elision);

// -- regular expressions (native). table, program: regex/program.h; table null: too large. memory (null: nothing is
// asked of it): what the handler remembers of the last match. search: 1 matched, 0 did not, -1 no scratch memory is left.
struct MatchMemory;
void spile_rt_match_clear(MatchMemory*);
bool spile_rt_regex_test(const void* table, const char* text);
int32_t spile_rt_regex_search(Context*, const void* table, const void* program, const char* text, MatchMemory*);
int64_t spile_rt_match_groups(const MatchMemory*);  // with the whole match; 0: the last search failed
void spile_rt_match_text(const MatchMemory*, int64_t group, char* out);

// -- traced memory. False: the address can't be read (value 0). size 1, 2, 4, 8.
bool spile_rt_load(Context*, uint64_t address, uint32_t size, bool is_signed, int64_t* value);
// native, guru mode: writes the low `size` bytes. False: they can't be written.
bool spile_rt_store(Context*, uint64_t address, uint32_t size, int64_t value);
// native: the bits of the float that is nearest to a double, from the bits of that.
int64_t spile_rt_narrow_float(int64_t value);
// native: copies `count` bytes, whatever they are. False: not all can be read.
bool spile_rt_load_bytes(Context*, uint64_t address, char* out, uint32_t count);
// Copies a C string of at most `limit` bytes (limit <= string_size); its length, or -1 if the address can't be read.
int64_t spile_rt_load_string(Context*, uint64_t address, char* out, uint32_t limit);

// -- thread-local variables (native, in targets). The thread pointer of the calling thread.
uint64_t spile_rt_thread_pointer();
// Where the thread has those of the module whose number is at `slot`, in a program with glibc; 0: nowhere yet.
uint64_t spile_rt_thread_block(Context*, uint64_t slot);

// -- modules (native). The load bias of the module with this path; name: the part of it behind the last '/'. False: the
// process has not loaded it.
bool spile_rt_module_bias(Context*, const char* path, const char* name, uint64_t* bias);

// -- stacks (native). Whether the stack is as `callers` says (sema::Site::callers), of a module with that load bias.
bool spile_rt_called_from(Context*, const uint64_t* callers, uint64_t bias);

// -- registers of the probed place: abi::Registers. subject: those of the process that a handler of the controller is
// about, or null. register: reads one by its name; false: no register has this name.
const uint64_t* spile_rt_subject_registers(Context*);
bool spile_rt_register(const uint64_t* registers, const char* name, bool is_signed, int64_t* value);

// -- what the kernel counts for the calling thread (native, in targets; a system call). event: sema::PerfEvent. Below 0: it
// may make none.
int64_t spile_rt_perf_counter(Context*, uint32_t event);

// -- context
int64_t spile_rt_clock_ns(Context*);  // since the epoch
int64_t spile_rt_cycles(Context*);
int64_t spile_rt_pid(Context*);
int64_t spile_rt_tid(Context*);
int64_t spile_rt_cpu(Context*);
int64_t spile_rt_uid(Context*);
int64_t spile_rt_target(Context*);
void spile_rt_execname(Context*, char* out);

// Script functions that are runtime code are found by name: spile_fn_NAME(Context*, arguments..., [char* out]).
// See sema/intrinsics.h for the table.

// -- what the controller's code may reach (native/confine.cpp). The place, if all of it may be; else the stray page.
void* spile_rt_confine(const void* place, uint64_t size, bool writes);

// -- the controller's own (native/, linked into its image; functions of codegen::ControllerCode call them, and session calls these)
// Makes an empty map or aggregate of memory that is zero, which it may be already.
void spile_rt_map_init(Handle, const MapShape*);
// Adds the content of a shard to the controller's copy and empties the shard. Called when no handler of the shard's
// epoch runs any more. False: the map overflowed.
bool spile_rt_map_merge(Context*, Handle to, Handle shard, const MapShape*, const AggregateShape*);
// The element after the one that *cursor says (0: none yet), in order of insertion; null at the end.
MapElement* spile_rt_map_next(Handle, const MapShape*, uint32_t* cursor);
void spile_rt_aggregate_merge(abi::Aggregate* to, abi::Aggregate* shard, const AggregateShape*);
}

}  // namespace spile::rt
