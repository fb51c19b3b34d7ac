#pragma once
// int_arg(n), register("rax"), returnval() and the like: arguments, registers and the returned value of the probed place.
//
// In a probe's body they are mostly known when it is compiled. In a script function, which may be called from
// anywhere, and for names and numbers that the script computes, the handler leaves in State what it has, and a script error
// names what is not there. Where the Place has no chooses_registers(), constants are the only way.

#include <functional>

#include "codegen/bodies/target_access.h"

namespace spile::codegen {

class RegisterAccess : BodyPart {
 public:
  RegisterAccess(Body& body, Frame& frame, ErrorFlow& errors, TargetAccess& target)
      : BodyPart(body), frame_(frame), errors_(errors), target_(target) {}

  // Stores in State what is known of the probed place, where something in the script asks for it there. REQUIRES: emitted before
  // the body, with Body::probe set.
  void store_site();

  // Return argument `index`, from 1 to 1,000, as the function `name` of the script has it (int_arg: 32 bits, signed; and so on;
  // float_arg, double_arg: the index-th of those in vector registers, as the bits of a double).
  // argument(): what isn't known is a script error; REQUIRES: Place::chooses_registers(). constant_argument(): for other places;
  // what isn't known is rejected.
  llvm::Value* argument(const std::string& name, llvm::Value* index, SourceRange range);
  llvm::Value* constant_argument(const std::string& name, int64_t index, SourceRange range);
  // Sets argument `index`, from 1 to 1,000, for the function that is entered, as `name` of the script has it (set_int_arg: 32
  // bits, signed; and so on). What can't be written at run time is a script error; elsewhere than at a function's entry in a
  // process it is rejected.
  void set_argument(const std::string& name, int64_t index, llvm::Value* value, SourceRange range);
  // Returns returnval(): the bits of the first result register that the function's type has (in a script function: of the probe
  // that runs).
  llvm::Value* returned(SourceRange range);
  // Sets the first result register to a value, for the caller of the function that returns. Elsewhere than at a return in a
  // process it is rejected, or in a script function a script error.
  void set_returned(llvm::Value* value, SourceRange range);
  // Returns register() or u_register(), as `name` says; of a vector register, which `text` has to name, the low 64 bits. text:
  // the register's name, where the script spells it out, else null; computed: emits it, a string. An unknown name is a script
  // error, or rejected where chooses_registers() is false.
  llvm::Value* read(const std::string& name, const std::string* text, const std::function<llvm::Value*()>& computed,
                    SourceRange range);

 private:
  SiteKnowledge site_knowledge() const;
  llvm::Value* registers();
  void require_knowledge(SiteKnowledge wanted, SourceRange range, const std::string& text);
  llvm::Value* argument_at(llvm::Value* index, SourceRange range);
  llvm::Value* vector_argument_at(llvm::Value* index, SourceRange range);
  llvm::Value* constant_argument_at(int64_t index, SourceRange range);
  llvm::Value* returned_part(llvm::Value* whole);
  llvm::Value* read_computed(llvm::Value* name, llvm::Value* all, bool is_signed);

  Frame& frame_;
  ErrorFlow& errors_;
  TargetAccess& target_;
};

}  // namespace spile::codegen
