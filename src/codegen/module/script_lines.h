#pragma once
// The places of statements in a module for the kernel, as LLVM's debug information. LLVM keeps them with the instructions through
// all passes, and writes them for eBPF as .BTF.ext (https://docs.kernel.org/bpf/btf.html, "line_info"), by which spile names the
// statement at which the verifier stopped.

#include "base/source.h"
#include "codegen/terms/llvm.h"

namespace spile::codegen {

class ScriptLines {
 public:
  // The module must outlive this.
  explicit ScriptLines(llvm::Module& module);

  // Returns the place of a statement in a function that contains instructions of it. REQUIRES: the range is somewhere.
  llvm::DebugLoc at(llvm::Function& function, const SourceRange& range);

 private:
  llvm::DIFile* file(const SourceFile& source);

  llvm::Module& module_;
  llvm::DIBuilder builder_;
  llvm::DICompileUnit* unit_ = nullptr;
  std::map<const SourceFile*, llvm::DIFile*> files_;
};

// Sets the place of what `builder` emits during the life of this. lines: null: places are not kept.
class LineScope {
 public:
  LineScope(ScriptLines* lines, llvm::IRBuilder<>& builder, const SourceRange& range);
  ~LineScope();
  LineScope(const LineScope&) = delete;
  LineScope& operator=(const LineScope&) = delete;

 private:
  llvm::IRBuilder<>* builder_ = nullptr;
  llvm::DebugLoc outer_;
};

// Makes the places of each function its own, whatever was inlined into it or moved to another function, as LLVM's emitter wants
// them. REQUIRES: after all passes that change functions.
void settle_lines(llvm::Module& module);

}  // namespace spile::codegen
