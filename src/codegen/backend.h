#pragma once
// From a complete module to an object: LLVM's optimizer and code generator, for this machine (native_target.h) and for BPF.

#include "base/result.h"
#include "codegen/script_module.h"

namespace spile::codegen {

enum class Machine { kNative, kBpf };

// Once before the first use; from one thread.
void initialize_machines();
// How much the optimizer does: a level of 0 to 3, as compilers have it, or kQuick. LLVM takes as long for code as thousands of runs
// of it do, so kQuick is for code that runs a few times, and for more code than anybody would wait for.
inline constexpr int kQuick = -1;

// The name, in the object cache, of the object that a complete module becomes: a hash of the module before it is optimized and
// of all else that the object depends on, this build of spile among them. Empty where that is not known.
std::string module_key(const ScriptModule& script, Machine machine, int level);
// Inlines the runtime, optimizes, and drops what is neither exported nor used any more.
Result<void> optimize(ScriptModule& script, Machine machine, int level);
// Returns the module as an ELF object. REQUIRES: optimize().
Result<std::string> emit_object(ScriptModule& script, Machine machine, int level);

}  // namespace spile::codegen
