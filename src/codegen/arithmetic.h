#pragma once
// Arithmetic of scripts: 64-bit numbers that wrap. Division by zero is a script error.

#include "codegen/error_flow.h"

namespace spile::codegen {

class Arithmetic : BodyPart {
 public:
  Arithmetic(Body& body, ErrorFlow& errors) : BodyPart(body), errors_(errors) {}

  // Shift counts below 0 count as 0; those of 64 and more as 0, too. range: of the operator, for the error of a division.
  llvm::Value* binary(syntax::Binary::Operator op, llvm::Value* left, llvm::Value* right, SourceRange range);
  llvm::Value* divide(bool modulo, llvm::Value* left, llvm::Value* right, SourceRange range);
  // The bits of a float as those of the double of the same value. By integer instructions: handlers own no vector registers.
  llvm::Value* widen_float(llvm::Value* bits);

 private:
  ErrorFlow& errors_;
};

// The part of an operation's text that begins with its operator; the whole range where the operator's place is not known.
SourceRange operator_range(SourceRange whole, const syntax::Expression& left, const syntax::Expression& right);

}  // namespace spile::codegen
