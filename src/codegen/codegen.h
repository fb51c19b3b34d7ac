#pragma once
// Pass 3, translate(): the elaborated program becomes LLVM IR, with the runtime's bitcode linked in. Pass 4, Translation::build():
// optimized machine code is made of it, or taken from the cache. LLVM stays inside this folder. Thread rule: one translation at a time.

#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "abi/aggregate.h"
#include "abi/arena.h"
#include "abi/code_image.h"
#include "abi/kernel.h"
#include "abi/trampoline.h"
#include "base/diagnostics.h"
#include "base/result.h"
#include "sema/program.h"

namespace spile::codegen {

// Where everything lies in the arena (abi/arena.h); offsets in bytes.
struct ArenaLayout {
  uint64_t size = 0;
  uint64_t globals_offset = 0;
  uint64_t private_offset = 0;   // up to the end of slot 0: spile's own, in memory that no process shares
  uint64_t exchange_offset = 0, exchange_size = 0;  // private: where session and the controller's code hand over elements
  uint64_t slots_offset = 0;
  uint64_t slot_stride = 0;
  uint32_t slot_count = 0;
  uint64_t frames_offset = 0;   // calls of Go functions; 0: absent
  uint64_t entries_offset = 0;  // abi::EntryRecord; 0: absent
  uint64_t tables_offset = 0, tables_size = 0;  // abi/stack_tables.h; 0: absent
  // within a slot
  uint32_t shards_offset = 0;
  uint32_t shadow_offset = 0, shadow_stride = 0, shadow_capacity = 0;
  uint32_t scratch_offset = 0, scratch_size = 0;
  uint32_t ring_offset = 0, ring_size = 0;
};
// At the begin of the exchange: cursor, length (uint32_t each), and the value's address (uint64_t).
inline constexpr uint64_t kExchangeHead = 64;
struct LayoutOptions {
  uint32_t slot_count = abi::kMostSlots;    // at most
  uint64_t address_space = 1ull << 40;      // bytes that the arena may take; it has fewer slots then
  uint32_t ring_size = 1 << 20;      // -s
  uint32_t shadow_capacity = 16384;  // pending returns of one thread; memory that is never used costs nothing
};

// A printf, or a histogram: how the controller turns a record into text.
struct OutputFormat {
  enum class Kind { kPrintf, kHistogram } kind;
  std::vector<syntax::FormatPart> parts;      // kPrintf
  std::vector<ValueType> arguments;           // kPrintf: of the payload, in order (with those for `*`)
  bool is_log = false;                        // kHistogram
  int64_t low = 0, high = 0, width = 0;
  std::vector<bool> own;                      // kPrintf: of `arguments`, whether they are text of the script itself (sema/own_text.h)
  int32_t elision = 2;                        // HIST_ELISION
};

inline OutputFormat printf_format(std::vector<syntax::FormatPart> parts, std::vector<ValueType> arguments, std::vector<bool> own = {}) {
  OutputFormat format{};
  format.kind = OutputFormat::Kind::kPrintf;
  format.parts = std::move(parts);
  format.arguments = std::move(arguments);
  format.own = std::move(own);
  return format;
}

// A script error that a handler can raise: "division by 0 near operator '/' at a.stp:3:5"; %d %s %p take the record's
// arguments in order.
struct ErrorText {
  std::string text;
  std::string place;  // "a.stp:3:5"
};

// system() of handlers in processes: a command that the script spells out is named by its index, so that nothing but the
// script says what is run.
struct SystemCommands {
  std::vector<std::string> texts;
  // The place in the script ("a.stp:3:5") that makes a command's text when a handler runs; empty: absent.
  std::string made_at;
};

// Offsets of handlers; 0: none. entry: of a group with return probes, what its entry probes are when the function's
// returns can't be probed (abi::SiteKind::kEntry).
struct ImageEntry { uint32_t enter = 0, exit = 0, entry = 0; uint32_t flags = 0; };  // flags: abi::SiteFlags

// Native code for traced processes.
struct TargetCode {
  abi::CodeImage image;
  std::vector<ImageEntry> groups;  // by index into Program::site_groups
  uint32_t unwind = 0;             // an enter-style handler that restores all pending returns of the thread
  // Others that make those pending again which are still on the stack: where an unwinder returns; where it lands, the
  // stack pointer being the fourth argument; where an exception has been caught.
  uint32_t walked = 0, landing = 0, caught = 0;
  // The handlers of kReturn sites on functions that take one step of a walk.
  uint32_t step_enter = 0, step_exit = 0;
  // The handler of kEntry sites at SiteTable::kept_functions(), and the flags of these sites; 0: no function keeps registers.
  uint32_t keep_entry = 0, keep_entry_flags = 0;
  // The handlers of abi::SiteKind::kSystemCall. call_enter 0: the script probes no system calls in processes; call_exit 0: no returns.
  uint32_t call_enter = 0, call_exit = 0;
};

// Native code for spile itself; offsets into its image, to be called as C functions.
struct ControllerCode {
  abi::CodeImage image;
  uint32_t init = 0;                   // void(): initial values, formats maps; once, before anything else
  uint32_t merge = 0;                  // uint64_t(uint32_t epoch): sharded maps and aggregates of that epoch into the
                                       // controller's copies (no handler of that epoch runs any more), and sharded
                                       // scalars of all; the number of elements that found no room
  std::vector<uint32_t> probes;        // by index into Program::probes; void(); 0 for those of other domains
  std::vector<uint32_t> conditions;    // by index into Program::probes; uint64_t(), whether its condition is true; 0: it is not `switched`
  // For a back end whose globals live elsewhere (bpf): fill and read the controller's copy. Keys packed as
  // runtime/interface.h says, native form; a value is a long, a string, or an aggregate.
  uint32_t global_clear = 0;           // void(uint32_t global)
  uint32_t global_put = 0;             // bool(uint32_t global, const char* key, uint32_t length, const void* value)
  uint32_t global_add = 0;             // bool(uint32_t global, const char* key, uint32_t length, void* value): adds to a
                                       // long, merges into an aggregate (and empties `value`); false: no room
  uint32_t global_next = 0;            // const char*(uint32_t global, uint32_t* cursor, uint32_t* length, void** value):
                                       // elements one after another, null at the end; scalars: one with an empty key.
                                       // *cursor: 0 at first, then left alone between calls
};

// eBPF for the kernel, as an ELF object for src/bpf to load.
struct KernelMap {
  std::string symbol;       // the extern symbol that programs refer to
  using Kind = abi::KernelMapKind;
  using Merge = abi::KernelMapMerge;
  Kind kind;
  uint32_t key_size = 0, value_size = 0, entries = 0;
  int global = -1;          // index of the global that it holds, or -1
  // How src/bpf presents its elements (bpf/bpf.h, MapSpec).
  Merge merge = Merge::kNone;
  bool sharded = false;     // one element per (CPU, shard): abi/kernel.h
  uint32_t key_count = 0, string_keys = 0, string_size = 0;
};
struct KernelProgram {
  std::string section;      // of the object
  int probe = -1;           // index into Program::probes
  bool exit_side = false;   // to be attached at the function's return (a uretprobe). A return probe with entry values
                            // has two programs: one at the entry, one at the return
};
// To be given to the attachment of a probe's n-th point: the handler distinguishes its places by it, and computes the
// module's load bias.
inline constexpr int kCookieIndexShift = 48;
inline constexpr uint64_t kCookieAddressMask = (uint64_t{1} << kCookieIndexShift) - 1;
inline uint64_t kernel_cookie(const sema::Probe& probe, size_t point) {
  return static_cast<uint64_t>(point) << kCookieIndexShift | (probe.points[point].site.address.value & kCookieAddressMask);
}
struct KernelCode {
  std::vector<uint8_t> object;
  std::vector<KernelMap> maps;
  std::vector<KernelProgram> programs;
};

struct CompiledScript {
  ArenaLayout layout;
  std::vector<OutputFormat> formats;
  std::vector<ErrorText> errors;
  ControllerCode controller;      // always
  TargetCode target;              // empty image: no target probes
  KernelCode kernel;              // empty object: no kernel probes
  SystemCommands commands;
  // The kinds of records (abi::record_kind_bit) that handlers in processes can write; kExit: whether they can call exit().
  uint32_t target_records = 0;
  std::set<std::string, std::less<>> literals;  // strings that the script spells out
  uint32_t string_limit = 0;      // bytes of the longest string, with its NUL
};

struct Options {
  LayoutOptions layout;
  // The runtime as LLVM bitcode (runtime/bitcode.h), handed over by session. bpf: may be empty without kernel probes.
  std::span<const unsigned char> native_bitcode, bpf_bitcode;
  int optimization = 2;           // 0 to 3; 2: native code that runs rarely, or is very much, is only made quickly
  std::string print_after;        // --print-after=NAME
  std::string cache_directory;    // of object_cache.h; empty: none
  // Why processes that are traced must not make the text of shell commands ("process 4711 is user 33's"); empty: they may.
  std::string untrusted_target;
  // Receives an error for each construct that translate() rejects. Null: translate() returns the first of them.
  Diagnostics* diagnostics = nullptr;
};
struct Compiled {
  CompiledScript script;
  std::vector<sema::PassTiming> timings;  // of the steps of pass 4; of compile(): of both passes
  bool from_cache = false;        // all machine code
};

// The script as LLVM IR: one module for each place where it runs. After translate(), nothing of the script can be rejected any more.
// The program must outlive it.
class Translation {
 public:
  virtual ~Translation() = default;
  // Returns the modules as text, as -p3 prints them.
  virtual std::string ir() const = 0;
  // Returns the steps of pass 3 with the time that each took.
  virtual const std::vector<sema::PassTiming>& timings() const = 0;
  // Pass 4. REQUIRES: called once, and ir() not after it. Errors: those of LLVM; an object that can't be made flat.
  virtual Result<Compiled> build() = 0;
};
Result<std::unique_ptr<Translation>> translate(const sema::Program& program, const Options& options);

// Both passes.
Result<Compiled> compile(const sema::Program& program, const Options& options);

}  // namespace spile::codegen
