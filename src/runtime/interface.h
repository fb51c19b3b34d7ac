#pragma once
// The runtime interface: all that compiled scripts need from the place where they run. sema's typed tree is lowered
// once, to calls of these functions. clang compiles the folders below to LLVM bitcode, one module for each place; codegen links a
// place's module into the script's and inlines it:
//
//   core/         for every place with an arena: maps, aggregates, strings, records, walks of stacks. All is reached as arena
//                 plus offset
//   process/      traced processes and spile (the constant spile_rt_in_controller says which; code for the other folds away)
//   kernel/       the kernel, from Linux 6.12 on, over a BPF arena. It lacks what is marked "in targets" below
//   kernel_maps/  the kernel before: helpers and maps of the kernel. It lacks what is marked "arena" below, and counting the
//                 elements of maps; it visits them by functions of its own (kernel_maps/iterate.cpp). codegen rejects scripts
//                 that need the rest there (codegen/module/place.h, codegen/kernel/refuse_for_kernel.cpp)
//
// Where places differ, "arena:" says what holds for those with an arena, and "maps:" for kernel_maps/.
//
// Any thread, and any signal handler of it, may run handlers; one Context belongs to one run of one handler. REQUIRES, for every
// function with a Context but the enter functions: an enter function has filled it in. "Counted" means: added to the count of
// skips under its reason (abi::SkipReason).
//
// Freestanding C++20 without exceptions, RTTI, static constructors, writable statics or libc. General registers only.
// Failures are values, never jumps: the lowering emits the branch to the script's catch block or to the handler's end.
//
// Strings are NUL-terminated, at most spile_rt_string_size bytes with the NUL, and never null. A function that makes a
// string writes into `out`, a buffer of spile_rt_string_size bytes, truncating. Addresses of type uint64_t are those of the
// traced process at run time.

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

// Where a global's storage is. arena: its address (of a shard, or of the one copy). maps: the map of an array, and for other
// globals the element that a lookup has found, or null, which reads as 0 or "" and is not written.
using Handle = void*;

struct MapElement;  // arena: an entry of a map; keys and value are reached by the functions below
struct Iteration;   // a snapshot of a map's elements, in scratch memory: gone when a mark before it is released

extern "C" {

// Constants that codegen defines in the module, so that they fold. Offsets, strides and sizes are in bytes; pages, in pages of
// abi::kPageSize from the arena's start.
extern const uint32_t spile_rt_string_size;    // MAXSTRINGLEN; buffers are rounded up to 8 (maps: it is rounded up)
extern const uint32_t spile_rt_in_controller;  // 1: the code runs in spile; 0: in a traced process
extern const uint32_t spile_rt_arena_pages;    // its size
extern const uint32_t spile_rt_slots_page;     // of the arena, where the slots begin
extern const uint32_t spile_rt_slot_stride;
extern const uint32_t spile_rt_slot_count;
extern const uint32_t spile_rt_shards_offset;    // within a slot
extern const uint32_t spile_rt_epoch_stride;     // bytes between the two epochs' shards of maps and aggregates
extern const uint32_t spile_rt_shadow_offset;    // within a slot: the stack of ShadowFrames
extern const uint32_t spile_rt_shadow_stride;    // of a frame with its saved entry values
extern const uint32_t spile_rt_shadow_capacity;  // frames; 0: the script has no return probes
extern const uint32_t spile_rt_frames_page;      // of the arena, where calls of Go functions begin
extern const uint32_t spile_rt_entries_page;     // of the arena, where EntryRecords begin
extern const uint32_t spile_rt_entry_registers;  // how many registers each EntryRecord has
extern const uint32_t spile_rt_scratch_offset;   // within a slot
extern const uint32_t spile_rt_scratch_size;
extern const uint32_t spile_rt_ring_offset;          // within a slot
extern const uint32_t spile_rt_ring_size;            // a power of two
extern const uint32_t spile_rt_record_owner_size;    // 0, or sizeof(abi::RecordOwner)
extern const uint32_t spile_rt_calls_offset;         // within a slot: abi::CallRecord[]
extern const uint32_t spile_rt_calls_capacity;       // a power of two; 0: the script notes no calls
extern const uint32_t spile_rt_kernel_frame_offset;  // within a slot of handlers in the kernel (abi/kernel.h)
extern const uint32_t spile_rt_shared_size;          // bytes of the globals that handlers in processes and in the kernel share
extern const uint32_t spile_rt_kernel_code_page;     // of the arena: abi::KernelCodeTable; 0: absent
extern const uint32_t spile_rt_processes_page;       // of the arena: abi::ProcessMaps; 0: absent
extern const uint32_t spile_rt_max_backtrace;        // MAXBACKTRACE: frames

// -- handler life. enter: finds the thread's slot and marks it busy; after true, the handler ends with leave. False: the session
// is not enabled (not counted), or (counted) a handler runs in the slot already, the controller has died, or the overflow slot's
// lock timed out; arena: the context's arena and slot are valid even then, for return_exit. maps: handlers may nest four deep on
// a CPU.
bool spile_rt_enter(Context*);
void spile_rt_leave(Context*);
// enter_light: for a handler that only adds to sharded scalars, which needs the slot and no guard. False: the session is not
// enabled (not counted), or the overflow slot's lock timed out (counted). leave_light gives that lock back, and may also be
// called after false.
bool spile_rt_enter_light(Context*);
void spile_rt_leave_light(Context*);
// Locks of globals that need one. lock_offset: bytes into the arena (arena), the lock's number (maps). False: timed out, or the
// controller has died (both counted). REQUIRES: entered by spile_rt_enter or call_enter, as a lock whose holder is not busy is
// taken over; locks are taken in ascending order, none twice, and given back before the handler leaves.
bool spile_rt_lock(Context*, uint64_t lock_offset);
void spile_rt_unlock(Context*, uint64_t lock_offset);
// process, in spile: the lock for reading only, which handlers may take away (abi::kReadingHolder). attempt: how often it has
// been; after some, it is taken as by spile_rt_lock. unlock_read: false: it was taken away, so what was read may not be whole.
bool spile_rt_lock_to_read(Context*, uint64_t lock_offset, uint32_t attempt);
bool spile_rt_unlock_read(Context*, uint64_t lock_offset);
// maps: of an array of which handlers use only elements with their thread's number as a key (sema::Sharing::kByThread).
// lock_thread: also false (counted) where a handler of the same thread, which this one interrupts, uses such arrays.
// unlock_thread: gives all of the handler's arrays back.
bool spile_rt_lock_thread(Context*, uint64_t lock_offset);
void spile_rt_unlock_thread(Context*, uint64_t lock_offset);
// kernel, maps: of an array whose elements are cells of threads (sema::Sharing::kThreadCells). begin_own: returns what names the
// running thread; 0: a handler of the same thread, which this one interrupts, uses such arrays (counted). end_own: lets others
// use them. own_thread: returns the name again.
uint64_t spile_rt_begin_own(Context*);
void spile_rt_end_own(Context*);
uint64_t spile_rt_own_thread(Context*);
// Scratch memory for strings and keys, not zeroed. mark: how much is in use. frame: takes `bytes`, aligned to 16; null: not so
// many are left. release: gives back all that was taken after the mark.
uint64_t spile_rt_frame_mark(Context*);
void* spile_rt_frame(Context*, uint32_t bytes);
void spile_rt_frame_release(Context*, uint64_t mark);

// -- system calls (in targets). Enter as spile_rt_enter does, at a system call and behind it, and set the context's
// call_number; spile_rt_leave ends the handler. registers: abi::Registers of the thread there. call_enter: also false where
// ProcessTable::calls_are_traced is set. call_exit: also false where no call is pending, as in a child that a call has made.
bool spile_rt_call_enter(Context*, const void* registers);
bool spile_rt_call_exit(Context*, const void* registers);

// -- return probes (in targets). cfa: of the function's frame, from which the stack slot of the return address follows.
// enter: makes a frame for that stack slot, and returns the place for its saved entry values; null: no frame is free, or the
// thread has only the overflow slot (counted). The frame is pending from `entered` on, which REQUIRES what enter returned. push:
// makes a frame without entry values, pending at once; false: as null of enter. find: returns the frame's entry values on the way
// out; nobody else finds the frame from then on. REQUIRES: the return address has led to our code; where no frame is found, the
// program is ended by a trap. exit: frees the frame that find returned and stores the real return address into the stack slot.
uint64_t* spile_rt_return_enter(Context*, uint64_t cfa, uint64_t site_id);
bool spile_rt_return_push(Context*, uint64_t cfa, uint64_t site_id);
void spile_rt_return_entered(Context*, uint64_t cfa, uint64_t* saves);
uint64_t* spile_rt_return_find(Context*, uint64_t cfa);  // sets context->site_id
void spile_rt_return_exit(Context*, uint64_t cfa, uint64_t* saves);
// -- return probes of Go functions (in targets), for their entry values only. enter: returns the place for them; null: none
// is free, or the goroutine can't be read (counted). find: returns that place on the way out; null: the call has none of this
// site. exit: frees what find returned.
uint64_t* spile_rt_goroutine_enter(Context*, uint64_t cfa, uint64_t site_id);
uint64_t* spile_rt_goroutine_find(Context*, uint64_t cfa, uint64_t site_id);
void spile_rt_goroutine_exit(Context*, uint64_t* saves);
// -- registers of a function's entry (in targets), for handlers within it. keep: stores spile_rt_entry_registers values at the
// entry, before the function has run; needs no thread's slot. value: reads number `index` (from 0) of those that the call with
// this frame has kept at the site (with abi::kEntryHasReturned: the call that had it, which has just returned); false: it has
// kept none, or another call has taken its record since (*value is 0).
void spile_rt_entry_keep(uint64_t cfa, uint64_t site_id, const uint64_t* values);
bool spile_rt_entry_value(Context*, uint64_t cfa, uint64_t site_id, uint32_t index, uint64_t* value);
// Restores every pending return address of the calling thread: run when an unwinder starts (codegen exports it as a
// handler of its own, image entry "unwind"), and before one step (entry "step.enter"). program, here and below: the lowest
// address of the stack that is the program's, rather than the handler's.
void spile_rt_unwind(Context*, uint64_t program);
void spile_rt_unwind_step(Context*, uint64_t program);
// Undoes spile_rt_unwind for the frames that are still on the stack. Where an unwinder returns to its caller, all are (image
// entry "walked"); where it is about to land in one of them with the stack pointer `landing`, those behind it (entry "landing").
void spile_rt_rewind(Context*, uint64_t program, uint64_t landing);
// Undoes spile_rt_unwind_step (entry "step.exit"). Steps of an unwinder that has started leave to its end what they find.
void spile_rt_rewind_step(Context*, uint64_t program);
// Undoes spile_rt_unwind where an exception has been caught by an unwinder whose ends are not known (entry "caught").
void spile_rt_rewind_caught(Context*, uint64_t program);

// -- storage. offset: bytes from the arena's start (shared), or from the start of a slot's shards. Reading and writing take no
// lock. A string that string_get returns is the global itself: it changes when the global does.
Handle spile_rt_shared(Context*, uint64_t offset);       // arena: arena + offset
Handle spile_rt_shard(Context*, uint64_t offset);        // arena: this thread's shard (scalars: no epoch)
Handle spile_rt_epoch_shard(Context*, uint64_t offset);  // arena: of the epoch in which this handler entered
int64_t spile_rt_long_get(Context*, Handle);
void spile_rt_long_set(Context*, Handle, int64_t);
void spile_rt_long_add(Context*, Handle, int64_t);  // one instruction: safe against signals
const char* spile_rt_string_get(Context*, Handle);
void spile_rt_string_set(Context*, Handle, const char*);
// null: without values (arena), no element (maps: empty ones are returned)
abi::Aggregate* spile_rt_aggregate_get(Context*, Handle);
void spile_rt_aggregate_add(abi::Aggregate*, const AggregateShape*, int64_t value);
void spile_rt_aggregate_clear(abi::Aggregate*, const AggregateShape*);
int64_t spile_rt_aggregate_variance(const abi::Aggregate*, const AggregateShape*);  // of fewer than two values: 0

// Returns what at least percent / scale percent of the values do not exceed, within 1/128 of it. REQUIRES: an aggregate with
// values and a sketch; 0 <= percent <= 100 * scale, 1 <= scale <= 1000.
int64_t spile_rt_aggregate_percentile(const abi::Aggregate*, const AggregateShape*, int64_t percent, int64_t scale);

// -- packed keys: longs take 8 bytes; strings their bytes and NUL padded with zeros to 8 (arena), or string_size (maps). key:
// aligned to 8, with room for MapShape::key_size bytes. at: bytes from its start, a multiple of 8.
uint32_t spile_rt_key_put_long(char* key, uint32_t at, int64_t);  // the next position
uint32_t spile_rt_key_put_string(char* key, uint32_t at, const char*);
int64_t spile_rt_key_get_long(const char* key, uint32_t at);
const char* spile_rt_key_get_string(const char* key, uint32_t at);
uint32_t spile_rt_key_skip_string(const char* key, uint32_t at);  // the next position

// -- maps. Values: pointers to value_size bytes in the map, valid until their element is removed. find: null where the key is
// absent. insert finds or makes (zeroed); null when full (counted where a handler's own shard is), while a shape that wraps drops
// its oldest element instead. length: of the packed key, in bytes (maps: unused, as key_size says it). REQUIRES: the thread's own
// shard, or the map's lock; the _long functions: a shape whose key is one long.
void* spile_rt_map_find(Context*, Handle, const MapShape*, const char* key, uint32_t length);
void* spile_rt_map_insert(Context*, Handle, const MapShape*, const char* key, uint32_t length);
void* spile_rt_map_find_long(Context*, Handle, const MapShape*, int64_t key);  // inlined: the common case
void* spile_rt_map_insert_long(Context*, Handle, const MapShape*, int64_t key);
// process: of a shape whose key is one string, with a constant text as the key, before which an abi::KeyTextHead stands.
void* spile_rt_map_find_text(Context*, Handle, const MapShape*, const char* text);
void* spile_rt_map_insert_text(Context*, Handle, const MapShape*, const char* text);
// kernel: of a shape whose key is one string, with the name of the running thread as the key: its 16 bytes, filled up with NULs.
void* spile_rt_map_find_name(Context*, Handle, const MapShape*, uint64_t first, uint64_t second);
void* spile_rt_map_insert_name(Context*, Handle, const MapShape*, uint64_t first, uint64_t second);
// maps: stores a number in one step, where the element is likely to be missing. False: the map is full.
bool spile_rt_map_set_long(Context*, Handle, const MapShape*, int64_t key, int64_t value);
void spile_rt_map_remove(Context*, Handle, const MapShape*, const char* key, uint32_t length);
void spile_rt_map_clear(Context*, Handle, const MapShape*);
int64_t spile_rt_map_size(Context*, Handle, const MapShape*);  // elements
// kernel, maps: the running thread's element of an array of cells. As the functions of maps with these names; a value is valid
// until its element is removed. thread: spile_rt_own_thread(). REQUIRES: begin_own has returned it.
int64_t* spile_rt_cell_find(Context*, Handle, const MapShape*, uint64_t thread);
int64_t* spile_rt_cell_insert(Context*, Handle, const MapShape*, uint64_t thread);
void spile_rt_cell_remove(Context*, Handle, const MapShape*, uint64_t thread);
// Iteration in insertion order, or sorted. column: 0 by value, n by the n-th key; direction +1, -1, or 0 unsorted; statistic:
// abi::SortStatistic, for aggregates by value. Null: no scratch left. next: passes over elements removed since; null at the end.
Iteration* spile_rt_iterate(Context*, Handle, const MapShape*, uint32_t column, int32_t direction, uint32_t statistic,
                            int64_t limit);  // at most so many elements; below 0: all
MapElement* spile_rt_iterate_next(Iteration*);
const char* spile_rt_element_key(MapElement*, const MapShape*);
void* spile_rt_element_value(MapElement*, const MapShape*);

// -- output (abi/record.h). begin: room for a record with at most `payload` bytes, or null (lost, counted); it may first wait for
// the ring's reader, but not without bounds. The put functions return the next position; a string takes 4 + length bytes, padded
// to 8. end publishes what was put. REQUIRES: one record at a time; `end` is at most `payload` bytes behind what begin returned.
char* spile_rt_record_begin(Context*, uint32_t kind, uint32_t id, uint32_t payload);
char* spile_rt_record_put_long(char* at, int64_t);
char* spile_rt_record_put_string(char* at, const char*, uint32_t length);
char* spile_rt_record_put_bytes(char* at, const void*, uint32_t length);  // length a multiple of 8
void spile_rt_record_end(Context*, char* record, char* end);              // record: what begin returned
// exit(): asks the controller to end the session; handlers go on until it does (maps: handlers that enter from here on do
// nothing)
void spile_rt_exit_session(Context*);
// an error was recorded; stops all handlers in traced processes (maps: the kernel) after more than `most`
void spile_rt_note_error(Context*, uint64_t most);
// Whether exit() was called or more than `most` errors were recorded (maps: or handlers were stopped); for handlers that have
// their locks too.
bool spile_rt_exiting(Context*, uint64_t most);

// -- strings. length: in bytes, without the NUL. compare: by unsigned bytes; -1, 0 or 1.
uint32_t spile_rt_string_length(const char*);
void spile_rt_string_copy(char* out, const char*);
void spile_rt_string_concatenate(char* out, const char* a, const char* b);  // out may be a
int32_t spile_rt_string_compare(const char* a, const char* b);
// sprintf, part by part: each writes at position `at` (0 at first) and returns the position after it, at most string_size - 1;
// format_end puts the NUL. conversion: abi::FormatConversion; flags: abi::FormatFlags; width, precision: below 0: none
// (format.h).
uint32_t spile_rt_format_literal(char* out, uint32_t at, const char* text, uint32_t length);
uint32_t spile_rt_format_long(char* out, uint32_t at, int64_t, uint32_t conversion, uint32_t flags, int32_t width,
                              int32_t precision);
uint32_t spile_rt_format_string(char* out, uint32_t at, const char*, uint32_t flags, int32_t width, int32_t precision);
// arena: writes `length` bytes of memory, as they are (%m) or in hexadecimal (%M).
uint32_t spile_rt_format_memory(char* out, uint32_t at, const char* bytes, uint32_t length, bool hex, uint32_t flags,
                                int32_t width);
void spile_rt_format_end(char* out, uint32_t at);
// Writes a histogram's rows (runtime/histogram.h), as far as they fit, from out[0] on; returns the position after them, where the
// caller puts the NUL (arena). elision: HIST_ELISION. low, width: of a linear one.
uint32_t spile_rt_histogram_text(char* out, const uint64_t* buckets, uint32_t count, bool is_log, int64_t low, int64_t width,
                                 int32_t elision);

// -- regular expressions (maps: test alone). table, program: regex/program.h; table null: it would be too large, and only the
// program is used. memory: what the handler remembers of the last match for matched() and ngroups(); null: the handler calls
// neither. Its size is 136 bytes and a string (core/regex.cpp); clear comes before all else. test: whether the text matches;
// REQUIRES a table. search: 1 matched, 0 did not, -1 no scratch memory is left.
struct MatchMemory;
void spile_rt_match_clear(MatchMemory*);
bool spile_rt_regex_test(const void* table, const char* text);
int32_t spile_rt_regex_search(Context*, const void* table, const void* program, const char* text, MatchMemory*);
int64_t spile_rt_match_groups(const MatchMemory*);  // with the whole match; 0: the last search failed, or memory is null
// Copies a group's text; "" where the group took no part in the match. REQUIRES: 0 <= group < spile_rt_match_groups().
void spile_rt_match_text(const MatchMemory*, int64_t group, char* out);

// -- traced memory. In the controller: that of the process that the handler is about; where the handler is about no process, no
// address can be read. False: the address can't be read (value 0). size: 1, 2, 4 or 8 bytes.
bool spile_rt_load(Context*, uint64_t address, uint32_t size, bool is_signed, int64_t* value);
// arena, guru mode: writes the low `size` bytes. False: they can't be written.
bool spile_rt_store(Context*, uint64_t address, uint32_t size, int64_t value);
// arena: the bits of the float that is nearest to a double, from the bits of that.
int64_t spile_rt_narrow_float(int64_t value);
// arena: copies `count` bytes, whatever they are. False: not all can be read, and `out` may have some of them.
bool spile_rt_load_bytes(Context*, uint64_t address, char* out, uint32_t count);
// Copies a C string, cut off at `limit` (at most string_size), and a NUL; returns its length in bytes, or -1, with "" in `out`,
// if it can't be read. `limit` is without the NUL, unless it is string_size.
int64_t spile_rt_load_string(Context*, uint64_t address, char* out, uint32_t limit);

// -- variables of a point whose handler serves many (in targets; abi/point_tables.h). values: kPointValues words. point_value:
// runs a place; false: the value can't be read (*value is the address of what was to be read) or is not known. point_variables:
// writes the text of a list; scratch: memory for a string.
bool spile_rt_point_value(Context*, const uint64_t* values, const uint64_t* place, int64_t* value);
void spile_rt_point_variables(Context*, const uint64_t* values, const uint32_t* list, const uint64_t* places, const char* texts,
                              char* out, char* scratch);

// -- thread-local variables (in targets). Returns the thread pointer of the calling thread.
uint64_t spile_rt_thread_pointer();
// Returns the address of the thread's block of thread-local variables of the module whose number is in the word at address
// `slot`, in a program with glibc; 0: it is not allocated yet.
uint64_t spile_rt_thread_block(Context*, uint64_t slot);

// -- modules (arena). Reads the load bias of the module with this path; name: the part of it behind the last '/'. False: the
// process has not loaded it (*bias is unchanged).
bool spile_rt_module_bias(Context*, const char* path, const char* name, uint64_t* bias);

// -- stacks (arena). Walks the stack of the handler's thread or subject: runtime/core/unwind.h.
uint32_t spile_rt_walk_stack(Context*, uint64_t* addresses, uint32_t most);
// Whether the stack is as `callers` says (its first word: how deep it looks; sema::Site::callers), of a module
// with that load bias.
bool spile_rt_called_from(Context*, const uint64_t* callers, uint64_t bias);

// -- registers of the probed place: abi::Registers. subject: those of the process that a handler of the controller is
// about, or null. register: reads one by its name, with or without '%'; false: no register has this name (*value is 0).
const uint64_t* spile_rt_subject_registers(Context*);
bool spile_rt_register(const uint64_t* registers, const char* name, bool is_signed, int64_t* value);

// -- what the kernel counts for the calling thread (in targets; the controller is asked): events, or ns of kCountTaskClock.
// event: abi::ThreadCounter. Below 0: not known.
int64_t spile_rt_perf_counter(Context*, uint32_t event);

// -- context: of the calling thread, and in the controller of the process that the handler is about. arena: pid, tid and uid may
// be -1, and execname "", when the controller has died.
int64_t spile_rt_clock_ns(Context*);  // since 1970; arena: 0 where the clock can't be read
int64_t spile_rt_cycles(Context*);    // arena: the counter of time (rdtsc); maps: ns
// In targets. Notes a call that has ended (abi/call_history.h). begun: what spile_rt_cycles() returned at its entry.
void spile_rt_call_history_add(Context*, int64_t begun);
// Stops the noting of calls that begin from now on. False: it was stopped already.
bool spile_rt_call_history_stop(Context*);
int64_t spile_rt_pid(Context*);
int64_t spile_rt_tid(Context*);
void spile_rt_record_owner(Context*, abi::RecordOwner* owner);  // as far as they are known without a question
int64_t spile_rt_cpu(Context*);
int64_t spile_rt_uid(Context*);
int64_t spile_rt_target(Context*);  // target(): the PID of -x or -c; 0: none
void spile_rt_execname(Context*, char* out);

// Script functions that are runtime code are found by name: spile_fn_NAME(Context*, arguments..., [char* out]).
// See sema/terms/intrinsics.h for the table.

// -- what the controller's code may reach (process/confine.cpp). Returns `place`, if all its `size` bytes may be read (or
// written); else the stray page, whose content nobody uses.
void* spile_rt_confine(const void* place, uint64_t size, bool writes);

// -- the controller's own (process/, linked into its image; functions of codegen::ControllerCode call them, and session calls
// these) Makes an empty map of memory that is zero.
void spile_rt_map_init(Handle, const MapShape*);
// Adds the content of a shard to the controller's copy and empties the shard; trusts nothing in the shard. Aggregate shape null:
// the values are longs; of kCountedLong bytes, or sums of ones. REQUIRES: no handler of the shard's epoch runs any more. Returns
// how many updates were lost with elements for which the copy has no room.
uint64_t spile_rt_map_merge(Context*, Handle to, Handle shard, const MapShape*, const AggregateShape*);
// Returns the element after the one that *cursor says (0: none yet), in order of insertion, and moves the cursor to it; null at
// the end. REQUIRES: the map is not changed in between.
MapElement* spile_rt_map_next(Handle, const MapShape*, uint32_t* cursor);
// Adds `shard` to `to` and empties the shard. REQUIRES: as spile_rt_map_merge.
void spile_rt_aggregate_merge(abi::Aggregate* to, abi::Aggregate* shard, const AggregateShape*);
}

}  // namespace spile::rt
