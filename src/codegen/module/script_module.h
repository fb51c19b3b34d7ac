#pragma once
// One LLVM module for one place: the runtime's bitcode, read lazily, with the script's functions added to it. Only
// runtime functions that the script reaches are ever read, which is most of what keeps compiling in milliseconds.

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codegen/terms/llvm.h"

namespace spile::codegen {

class ScriptModule {
 public:
  // name: for IR dumps and module identity. bitcode must outlive the module. An error: it can't be read.
  static Result<std::unique_ptr<ScriptModule>> create(std::string_view name, std::span<const unsigned char> bitcode);

  llvm::LLVMContext& context() { return *context_; }
  llvm::Module& module() { return *module_; }
  const llvm::Module& module() const { return *module_; }
  llvm::Type* i1() { return llvm::Type::getInt1Ty(*context_); }
  llvm::IntegerType* i8() { return llvm::Type::getInt8Ty(*context_); }
  llvm::IntegerType* i32() { return llvm::Type::getInt32Ty(*context_); }
  llvm::IntegerType* i64() { return llvm::Type::getInt64Ty(*context_); }
  llvm::PointerType* ptr() { return llvm::PointerType::getUnqual(*context_); }
  llvm::Type* none() { return llvm::Type::getVoidTy(*context_); }

  // Emits a call of a runtime function, whose prototype is taken from `result` and `arguments`. A function that the bitcode
  // lacks, or that has another prototype there, is an error of finish().
  llvm::CallInst* call_runtime(llvm::IRBuilder<>& builder, const std::string& name, llvm::Type* result,
                               llvm::ArrayRef<llvm::Value*> arguments);
  bool has_runtime(const std::string& name) const;

  // Gives the runtime's uint32_t constant `name` its value; without effect where the runtime does not ask for it.
  void define_constant(const std::string& name, uint32_t value);
  // Make read-only data without relocations, aligned to 8 bytes: text (may hold NULs; one is appended; equal texts are made
  // once), or raw numbers.
  llvm::Constant* text(std::string_view value);
  llvm::GlobalVariable* words(const std::string& name, llvm::ArrayRef<uint64_t> values);
  llvm::GlobalVariable* words(const std::string& name, llvm::ArrayRef<uint32_t> values);
  // Returns the variable of abi::ImageCells, which becomes the begin of the image.
  llvm::GlobalVariable* cells();

  // Adds a function without a body that only this module sees. The caller fills it in before finish().
  llvm::Function* add_function(const std::string& name, llvm::FunctionType* type);
  // Keeps a function, to be found by its name in the object; a function that isn't exported is inlined, local, or dropped.
  void export_function(llvm::Function* function);
  const std::vector<std::string>& exports() const { return exports_; }

  // Reads in the runtime functions that exported ones reach, drops the rest, gives all one set of attributes. The module is
  // complete then, and not yet optimized. REQUIRES: called once. Errors are mistakes of ours: a mismatch of call_runtime(), an
  // undefined function.
  Result<void> finish();
  // For an outside compiler (backend.h): returns the module, and takes the one that was made of it in its place.
  // Pointers into the former module are not valid any more. REQUIRES: finish(). An error: the bitcode can't be read.
  std::string bitcode() const;
  Result<void> replace(std::string_view bitcode);
  std::string print() const;

 private:
  ScriptModule() = default;
  Result<void> read_used();
  void unify_machine();
  void drop_unused();
  void unify_attributes();

  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> module_;
  std::map<std::string, llvm::Constant*, std::less<>> texts_;
  std::vector<std::string> exports_;
  std::set<std::string> mismatches_;
};

}  // namespace spile::codegen
