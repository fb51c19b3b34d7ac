#pragma once
// Arithmetic of scripts: signed 64-bit numbers (i64) that wrap. Division truncates, and by zero it is a script error.

#include "codegen/bodies/error_flow.h"

namespace spile::codegen {

class Arithmetic : BodyPart {
 public:
  Arithmetic(Body& body, ErrorFlow& errors) : BodyPart(body), errors_(errors) {}

  // Emits an operation. A shift count outside 0 to 63 counts as 0. range: from the operator on (operator_range()), for a
  // division's error.
  llvm::Value* binary(syntax::Binary::Operator op, llvm::Value* left, llvm::Value* right, SourceRange range);
  // The least number divided by -1 is itself, with remainder 0.
  llvm::Value* divide(bool modulo, llvm::Value* left, llvm::Value* right, SourceRange range);
  // Converts a float's bits, the low 32 of an i64, to those of the double of the same value. Emits integer instructions only:
  // handlers own no vector registers.
  llvm::Value* widen_float(llvm::Value* bits);

 private:
  ErrorFlow& errors_;
};

// Returns the part of a division's text that begins with its operator (/ or %); the whole range where the operator's place is not
// known.
SourceRange operator_range(SourceRange whole, const syntax::Expression& left, const syntax::Expression& right);

}  // namespace spile::codegen
