#pragma once
// A place where handlers run: a traced process, spile itself, or the kernel. The runtime's functions (runtime/interface.h) hide
// most of what differs between places. The lowering asks a Place for the rest: how to reach globals, registers and the
// data of an event, and what handlers there are able to do. The lowering never asks which place it is.
//
// Where an ability is missing, the lowering rejects the construct that needs it with an error, or emits the other code
// that the ability's comment names. A Place keeps no state of the code that is emitted; one object serves one module.
//
// To add a place (ebpf/arena_place.h was the last one):
//   1. implement this interface;
//   2. compile the runtime for it (src/runtime/CMakeLists.txt);
//   3. emit the functions that enter and leave its handlers (lower_target.cpp, ebpf/lower_arena.cpp), and call that
//      from compile.cpp.

#include <string>

#include "codegen/terms/llvm.h"
#include "sema/terms/program.h"

namespace spile::codegen {

class Body;

class Place {
 public:
  virtual ~Place() = default;

  // -- Data. Each emits code at the body's builder, and returns the value, an i64 unless it says otherwise. A null
  // llvm::Value*: this body can't have it.

  // Returns the runtime's Handle of a global's storage, as handlers of this place read and write it.
  virtual llvm::Value* global(Body& body, const syntax::Global& global) = 0;
  // Register `number` in DWARF's numbering, as it was at the probed place (at a return: those of
  // Convention::result_registers are the returned values); null where it isn't known.
  virtual llvm::Value* machine_register(Body& body, int64_t number) = 0;
  // The flags, as they were there; null where they are not known.
  virtual llvm::Value* machine_flags(Body&) { return nullptr; }
  // All registers of the probed place, a pointer to abi::Registers that is null at run time where they are not known.
  // REQUIRES: chooses_registers().
  virtual llvm::Value* all_registers(Body& body) = 0;
  // The canonical frame address of the probed function; null where it isn't known.
  virtual llvm::Value* cfa(Body& body) = 0;
  // What is added to a file address of the probed module to get its address in memory; null where it isn't known.
  virtual llvm::Value* load_bias(Body& body) = 0;
  // The thread pointer; null where handlers can't know it.
  virtual llvm::Value* thread_pointer(Body&) { return nullptr; }
  // At a system call: its number; null where the place has none.
  virtual llvm::Value* call_number(Body&) { return nullptr; }
  // Of a tracepoint's record: the address of the byte at `offset`, a pointer; null: the probe is not a tracepoint.
  virtual llvm::Value* context_address(Body& body, int64_t offset) = 0;
  // The string of pp(), probefunc() and the like, by these names without (), where the place has a way of its own; else null.
  virtual llvm::Value* site_text(Body&, const std::string&) { return nullptr; }

  // The map that holds the elements which the statement visits of an array. REQUIRES: !globals_are_memory().
  virtual llvm::Value* visits(Body&, const syntax::Global&, SourceRange) { return nullptr; }

  // Has the kernel's stack kept for the library's functions, as it is now; returns an i1, false at run time: it can't be walked.
  // Null: functions know it without that (outside of the kernel), or from the handler that called this script function.
  virtual llvm::Value* keep_kernel_stack(Body&) { return nullptr; }

  // -- Abilities of handlers

  // A global's Handle is the address of its value. False: it refers to a map of the kernel, and an aggregate has to be
  // looked up before it is written.
  virtual bool globals_are_memory() const = 0;
  // Additions to a sharded global go to a shard that only this thread (or CPU) writes. False: there is one copy.
  virtual bool has_shards() const = 0;
  // Handlers stop by themselves, by flags that they share with spile, after exit() or more errors than MAXERRORS. False: spile,
  // which reads their records, stops them.
  virtual bool stops_itself() const = 0;
  // A function can keep its caller's registers (LLVM's preserve_most), so that a call of it on a cold path costs the hot one
  // nothing.
  virtual bool has_preserve_most() const = 0;
  // Keys that are execname() alone are two numbers: spile_rt_map_find_name and _insert_name.
  virtual bool has_name_keys() const { return false; }
  // Keys that are a text of Unit::site_tables() alone need no copy: spile_rt_map_find_text and _insert_text.
  virtual bool has_text_keys() const { return false; }
  // Handlers remember what the last =~ matched, for matched(). False: they only know whether it did.
  virtual bool remembers_matches() const = 0;
  // Handlers make strings of histograms.
  virtual bool formats_histograms() const = 0;
  // Handlers copy memory whose size is only known when they run, for %m and %M.
  virtual bool copies_memory() const = 0;
  // Handlers call embedded C.
  virtual bool runs_embedded_c() const = 0;
  // Handlers run when and where the probe is hit: arguments and returned values are those of the registers.
  virtual bool runs_at_probe() const = 0;
  // Arguments and registers can be chosen by a number or name that the handler computes, and by script functions (through
  // State, body.h). False: the script names them by constants, and functions are inlined into their probe's handler.
  virtual bool chooses_registers() const = 0;
  // Handlers run on the thread that they are about: thread-local variables, the callers on its stack and values of function
  // entries are there.
  virtual bool runs_on_thread() const = 0;
  // Handlers read what the kernel counts for the thread (@perf).
  virtual bool reads_perf_counters() const = 0;
  // Loops become functions that the kernel calls for each turn (kernel_loops.h): variables that they change lie in memory, not in
  // registers.
  virtual bool repeats_by_calls() const { return false; }
  // Handlers write to variables and registers of traced programs (guru mode).
  virtual bool may_write() const = 0;
  // Handlers find the load bias of modules other than the probed one.
  virtual bool finds_modules() const = 0;
  // user_mode() returns true.
  virtual bool is_user_mode() const = 0;
  // Nobody but the script writes the handlers' memory and records. False: spile believes only records that handlers of the script
  // can write, and commands for system() that the script spells out.
  virtual bool is_trusted() const = 0;
  // Handlers run in spile itself: the runtime folds to the controller's variant.
  virtual bool is_controller() const = 0;
  // Alignment in bytes, a power of two, of the stack on which handlers are entered; 0: that of the machine's ABI.
  virtual unsigned stack_alignment() const { return 0; }
};

}  // namespace spile::codegen
