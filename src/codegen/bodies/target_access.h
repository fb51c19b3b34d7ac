#pragma once
// What a handler reads and writes of the traced program: variables ($var, @cast, @var: bindings), its memory, values
// that a return probe keeps from the function's entry, and the texts of the probed place (pp() and the like).
//
// A binding is a program for a stack machine (base/location.h). It is run here, at compile time, on IR values, so that what
// reaches the machine is straight code. Registers and addresses of the probed place come from the Place; where it can't give
// what a binding asks for, the variable is rejected with an error at its place in the script.

#include <functional>

#include "codegen/bodies/arithmetic.h"
#include "codegen/bodies/frame.h"

namespace spile::codegen {

class TargetAccess : BodyPart {
 public:
  TargetAccess(Body& body, Frame& frame, ErrorFlow& errors, Arithmetic& arithmetic)
      : BodyPart(body), frame_(frame), errors_(errors), arithmetic_(arithmetic) {}

  // Evaluates the expression of the script that a location::Index or a location::ScriptPointer of a binding names, an i64; null:
  // there is none, and the variable is rejected. May read variables by this object.
  using Operand = std::function<llvm::Value*(const location::Operation&)>;

  // Stores what places in tables start from, and finds the point's row, where a binding of the probe is by_point. REQUIRES:
  // emitted before the body.
  void find_point();
  // Read a binding of this body, whose type is `type`, and assign to it (guru mode). binding: its index; -1: rejected. range: of
  // the variable in the script. A string is a temporary of the frame. What can't be read or written at run time is a script
  // error.
  llvm::Value* read(int binding, ValueType type, SourceRange range, const Operand& operand);
  void write(int binding, llvm::Value* value, SourceRange range, const Operand& operand);
  // Loads `size` bytes (1, 2, 4, 8) from a run-time address of the program, extended to an i64; a script error where they can't
  // be read.
  llvm::Value* load(llvm::Value* address, uint32_t size, bool is_signed, SourceRange range);
  // Returns a value that the probe kept at the function's entry; a string in place. Elsewhere than at its return it is rejected.
  llvm::Value* entry_value(const syntax::EntryValue& value);
  // Returns pp, pn, probefunc or ppfunc (strings), is_return or user_mode (longs), by these names.
  llvm::Value* site_text(const std::string& name);

 private:
  // The bindings of this body; null: absent.
  const std::vector<sema::Binding>* current_bindings() const;
  bool run_location(llvm::ArrayRef<location::Operation> ops, SourceRange range, const Operand& operand,
                    std::vector<llvm::Value*>& stack);
  bool apply(const location::Operation& op, std::vector<llvm::Value*>& stack, SourceRange range);
  llvm::Value* apply_unary(location::Unary op, llvm::Value* x);
  llvm::Value* apply_binary(location::Binary op, llvm::Value* x, llvm::Value* y, SourceRange range);
  llvm::Value* record_field(const location::RecordField& field);
  llvm::Value* read_by_point(const sema::Binding& binding, SourceRange range);
  llvm::Value* load_string(llvm::Value* address, llvm::Value* limit, SourceRange range);
  llvm::Value* load_record_string(llvm::Value* offset, SourceRange range);
  llvm::Value* site_offset(const Unit::SiteTables& tables, llvm::Value* probe_index);
  llvm::Value* called_from(llvm::Value* bias);
  llvm::Value* module_bias(SourceRange range);
  llvm::Value* kept_register(int64_t number, FileAddress function, llvm::Value* cfa, llvm::Value* value);
  llvm::Value* entry_known(const location::EntryKnown& op, llvm::Value* cfa);
  llvm::Value* entry_register(const location::EntryValue& op, llvm::Value* cfa, SourceRange range);
  llvm::Value* thread_block(llvm::Value* slot, SourceRange range);
  llvm::Value* refused(ValueType type, SourceRange range, const std::string& what);

  Frame& frame_;
  ErrorFlow& errors_;
  Arithmetic& arithmetic_;
  llvm::Value* values_ = nullptr;           // by find_point(): abi::kPointValues words
  llvm::Value* row_ = nullptr;              // and the index of the point's first slot
  const sema::Binding* binding_ = nullptr;  // whose operations run_location runs
};

}  // namespace spile::codegen
