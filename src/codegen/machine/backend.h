#pragma once
// From a complete module to an object: LLVM's optimizer and code generator, for this machine (native_target.h) and for BPF.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codegen/module/script_module.h"

namespace spile::codegen {

// kBpf: eBPF that Linux 5.15 runs, of one function for each program. kArenaBpf: eBPF of Linux 6.12.
enum class Machine { kNative, kBpf, kArenaBpf };

// Registers LLVM's code generators. REQUIRES: called before the functions below. Further calls do nothing.
void initialize_machines();
// How much the optimizer does: a level of 0 to 3, as compilers have it, or one of these. LLVM takes as long for code as thousands
// of runs of it do, so kQuick is for code that runs a few times, and for more code than anybody would wait for. Not for kBpf.
inline constexpr int kQuick = -1;
// As kQuick, with registers and stack slots that values share: twice the time for a fourth of the stack.
inline constexpr int kQuickOnLittleStack = -2;

// Returns the name, in the object cache, of the object that a module becomes: a hash of the script's part of the module and of
// all else that the object depends on: `how` it is built, and this build of spile, which has the runtime in it. Empty: spile was
// linked without a build-id. REQUIRES: not yet ScriptModule::finish().
std::string module_key(const ScriptModule& script, Machine machine, std::string_view how);
// Inlines the runtime (both of the quick levels: its small functions), optimizes, and drops functions that are neither exported
// nor used any more.
// REQUIRES: ScriptModule::finish(). Errors of both: LLVM has no code generator for the machine.
Result<void> optimize(ScriptModule& script, Machine machine, int level);
// Returns the module as an ELF object. REQUIRES: optimize(), with the same machine and level.
Result<std::string> emit_object(ScriptModule& script, Machine machine, int level);

// A call of optimize() or emit_object() that is left to another process. The program spile never does so. Its tests in an
// emulated machine do, where LLVM takes 15 times as long as beside the emulator (tests/vm/compiler).
struct CompileRequest {
  enum Step : uint32_t { kOptimize, kEmit };
  Step step;
  Machine machine;
  int level;
  std::string_view bitcode;  // of the module
};
// Returns the bitcode of the optimized module (kOptimize), or the object (kEmit). Called from several threads at once.
using OutsideCompiler = std::function<Result<std::string>(const CompileRequest& request)>;
// Has `compiler` do the work of optimize() and emit_object() from now on. REQUIRES: called while the process has one thread.
void set_outside_compiler(OutsideCompiler compiler);

}  // namespace spile::codegen
