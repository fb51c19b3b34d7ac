#pragma once
// Pass 3, translate(): the elaborated program becomes LLVM IR, with the runtime's bitcode linked in. Pass 4,
// Translation::build(): optimized machine code is made of it, or taken from the cache. LLVM stays inside this folder.
// Thread rule: one translation at a time; build() runs a thread for each module and has joined them when it returns.

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "codegen/terms/compiled_script.h"

namespace spile::codegen {

struct Compiled {
  CompiledScript script;
  std::vector<sema::PassTiming> timings;  // of the steps of pass 4; of compile(): of both passes
  bool from_cache = false;                // all machine code was in the cache
};

// The script as LLVM IR: one module for each place where it runs. After translate(), nothing of the script can be rejected any
// more, but that a handler is too large. The program and the bitcode must outlive it.
class Translation {
 public:
  virtual ~Translation() = default;
  // Returns the modules as text, with what they need of the runtime, as -p3 prints them. Errors: a handler is too large for the
  // kernel.
  virtual Result<std::string> ir() = 0;
  // Returns the steps of pass 3 with the time that each took.
  virtual const std::vector<sema::PassTiming>& timings() const = 0;
  // Runs pass 4. REQUIRES: called once, and ir() not after it. Errors: those of LLVM; an object that can't be made flat.
  virtual Result<Compiled> build() = 0;
};
// Runs pass 3. Errors: globals that don't fit into an arena; constructs that a place can't run; C code that does not compile.
Result<std::unique_ptr<Translation>> translate(const sema::Program& program, const Options& options);

// Runs both passes.
Result<Compiled> compile(const sema::Program& program, const Options& options);

}  // namespace spile::codegen
