#pragma once
// What differs between the places where a handler can run, as far as the runtime's functions do not hide it already.
// The lowering of statements and expressions also asks for domain(): some constructs need registers, locks or output that a domain does not have.
//
// To add a place: implement this, and give compile.cpp its handlers' prologues (lower_target.cpp is the example).

#include <string>

#include "codegen/llvm.h"
#include "sema/program.h"

namespace spile::codegen {

class Lowering;

class Place {
 public:
  virtual ~Place() = default;

  virtual sema::Domain domain() const = 0;
  // The runtime's Handle of a global's storage, as handlers of this place read and write it.
  virtual llvm::Value* global(Lowering& lowering, const syntax::Global& global) = 0;
  // Register `number` in DWARF's numbering, as it was at the probed place (at a return: those of
  // Convention::result_registers are the returned values); null where it isn't known.
  virtual llvm::Value* machine_register(Lowering& lowering, int64_t number) = 0;
  virtual llvm::Value* cfa(Lowering& lowering) = 0;
  virtual llvm::Value* load_bias(Lowering& lowering) = 0;
  // The thread pointer; null where handlers can't know it.
  virtual llvm::Value* thread_pointer(Lowering&) { return nullptr; }
  // Of a tracepoint's record: the address of the byte at `offset`; null where there is none.
  virtual llvm::Value* context_address(Lowering& lowering, int64_t offset) = 0;
  // pp(), probefunc() and the like, where the place has a way of its own to find them; else null.
  virtual llvm::Value* site_text(Lowering&, const std::string&) { return nullptr; }
  // A string that lies at `offset` (i64) of a tracepoint's record, copied; null where there is none.
  virtual llvm::Value* context_string(Lowering& lowering, llvm::Value* offset) = 0;
};

}  // namespace spile::codegen
