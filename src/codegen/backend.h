#pragma once
// From a complete module to an object: LLVM's optimizer and code generator, for this machine (native_target.h) and for BPF.

#include "base/result.h"
#include "codegen/script_module.h"

namespace spile::codegen {

enum class Machine { kNative, kBpf };

// Once before the first use; from one thread.
void initialise_machines();
// How much is done for code: 0 to 3 as compilers have it, or kQuick. LLVM takes as long for code as for thousands of
// runs of it, so that is for code that runs a few times, and for more code than anybody would wait for.
inline constexpr int kQuick = -1;

// What names the object that a complete module, not yet optimized, will become: a hash of the module and of all else that
// it depends on, this build of spile among them (object_cache.h). Empty where that is not known.
std::string module_key(const ScriptModule& script, Machine machine, int level);
// Inlines the runtime; what isn't exported and not used any more goes.
Result<void> optimise(ScriptModule& script, Machine machine, int level);
// An ELF object.
Result<std::string> emit_object(ScriptModule& script, Machine machine, int level);

}  // namespace spile::codegen
