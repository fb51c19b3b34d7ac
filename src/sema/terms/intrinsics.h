#pragma once
// Functions of the language's library that are runtime code rather than script: their types, where they may be called,
// and what they need. The runtime function is spile_fn_NAME unless the lowering knows better.
// To add one: runtime/README.md lists the files. Thread rule: any thread; the table never changes.

#include <optional>
#include <string_view>
#include <vector>

#include "sema/terms/target_info.h"

namespace spile::sema {

enum IntrinsicNeeds : uint32_t {
  kNeedsNothing = 0,
  kNeedsSite = 1,             // pp(), probefunc(), ppfunc(): which of the probe's points
  kNeedsArguments = 2,        // int_arg(n): the argument registers at a function's entry
  kNeedsRegisters = 4,        // register("rbx")
  kNeedsStack = 16,           // ubacktrace(): pc, stack and frame pointer of the probed place
  kNeedsModules = 32,         // print_usyms(): which process the addresses are of
  kNeedsSymbols = 64,         // usymname(): names of symbols in the arena
  kNeedsLines = 128,          // usymline(): line numbers there
  kNeedsKernelStack = 256,    // backtrace(): the kernel's stack, in handlers there
  kNeedsKernelNames = 512,    // symname(): names of the kernel's functions in the arena
  kNeedsCallHistory = 2048,   // call_history_add(): memory of the thread's calls
  kNeedsMembers = 1024,       // ppid(): where the kernel's structures have their members, in handlers there
  kNeedsKernelMemory = 4096,  // kernel_long(): of Program::needs, what handlers in spile itself read of the kernel's memory
  kCanFail = 8,               // the runtime function's last parameter is bool* fault; if it sets that, the call is a script error
};
// Bits of Intrinsic::needs, as IntrinsicNeeds.
constexpr uint32_t kNeedsGuru = 1u << 20;  // changes the traced program: only with -g
enum IntrinsicDomains : uint32_t { kInController = 1, kInTarget = 2, kInKernel = 4, kEverywhere = 7 };

struct Intrinsic {
  std::string_view name;
  ValueType result;  // kUnknown: none
  std::vector<ValueType> parameters;
  uint32_t needs;    // bits: IntrinsicNeeds
  uint32_t domains;  // bits: IntrinsicDomains; where scripts may call it
  bool pure;         // may be elided when its value is not used
};

const std::vector<Intrinsic>& intrinsics();
// Returns the index of a row of intrinsics() by its name; -1: none.
int find_intrinsic(std::string_view name);
// Returns the index for a call with that number of arguments: user_string(address, default) is the row user_string2, and so on;
// -1: none. Whether the row has that many parameters is the caller's to check.
int find_intrinsic(std::string_view name, size_t arguments);
// Returns the number of arguments that calls of that name may have beside those of its row; null: the row is the only one.
std::optional<size_t> other_count(std::string_view name);

}  // namespace spile::sema
