#pragma once
// The function into which a body is emitted (of a probe, of a script function, of a return probe's entry values), and what is
// known there of the probed place. All classes that emit parts of a body share one Body: Lowering (the walk over
// expressions and statements), Frame, ErrorFlow, MapLowering, TargetAccess and so on.
//
// Longs are i64 values; strings are pointers to NUL-terminated text that lies in storage, in a literal or in the body's frame
// (frame.h).

#include "abi/machine.h"
#include "codegen/module/unit.h"

namespace spile::codegen {

// What a handler hands down to script functions, on its stack. Generated code reaches the fields by offsetof.
struct State {
  char* message;  // where an error's text goes: the buffer (a string's) of the innermost try around; null: into a record
  char* match;    // runtime's MatchMemory of the body that runs; null: nothing asks for it
  // Of the probed place, stored where Unit::asks_for_site():
  uint64_t knowledge;  // SiteKnowledge: which of the next two fields is valid
  uint64_t arguments[abi::kConvention.argument_registers.size()];
  uint64_t returned;   // the first result register at a return, as much of it as the function's type has
  uint64_t registers;  // the address of abi::Registers, or 0
};
enum SiteKnowledge : uint64_t { kKnowsNothing, kKnowsArguments, kKnowsReturned };

// Where a handler was hit: values of its function that bindings start from. Null and empty: not known.
struct SiteValues {
  std::vector<llvm::Value*> arguments;  // of Convention::argument_registers
  std::vector<llvm::Value*> returned;   // of Convention::result_registers
  llvm::Value* registers = nullptr;     // abi::Registers*
  llvm::Value* cfa = nullptr;
  llvm::Value* site_id = nullptr;
  llvm::Value* program_context = nullptr;  // in the kernel: the argument of the eBPF program
  // Of a handler on a raw tracepoint that has found its point itself (kernel_points.h): i64, an index into Probe::points; and the
  // part of struct pt_regs from KernelLayout::pt_regs_call_begin to _end.
  llvm::Value* point = nullptr;
  llvm::Value* call_registers = nullptr;
  llvm::Value* saves = nullptr;  // exit: the frame's entry values
  bool returns = false;          // exit
};

class Body {
 public:
  // Emits where `builder` stands: at the end of a block that is open. All arguments must outlive the Body. context:
  // abi::Context*; state: State*, null in functions that neither run script functions nor are one.
  Body(Unit& unit, llvm::IRBuilder<>& builder, llvm::Value* context, llvm::Value* state);

  Unit& unit;
  llvm::IRBuilder<>& b;
  llvm::Value* const context;
  llvm::Value* const state;
  llvm::Function* const function;
  SiteValues site;
  const sema::Probe* probe = nullptr;                 // null in script functions
  const syntax::Function* script_function = nullptr;  // null in probes
  llvm::Value* thread = nullptr;                      // tid(), where a probe has locked an array's stripe
  llvm::Value* own_thread = nullptr;                  // spile_rt_begin_own(), where a probe uses cells of threads

  // Calls a function of the runtime (runtime/interface.h).
  llvm::Value* call(const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments);
  llvm::Value* number(int64_t value) { return b.getInt64(static_cast<uint64_t>(value)); }
  llvm::Value* at_offset(llvm::Value* pointer, int64_t bytes);
  llvm::Value* context_field(size_t offset);  // the address of a field of abi::Context
  llvm::Value* actions_left();                // the address of what is left of MAXACTION, an int32_t
  // How far a kStriped array's storage and lock for the thread lie from those of the first stripe: an i64.
  llvm::Value* stripe_offset(const syntax::Global& global);
  // The low `bits` of an i64, extended to 64; 0, or 64 and more: all of it.
  llvm::Value* extend(llvm::Value* value, uint32_t bits, bool is_signed);
  // Makes a variable in the function's first block, so that it becomes a register. It has no initial value.
  llvm::Value* entry_alloca(llvm::Type* type, const char* name);

  llvm::BasicBlock* block(const char* name);
  bool terminated() const;  // whether the current block has its last instruction
  void branch_if_open(llvm::BasicBlock* target);
  void start_dead_block();  // goes on, after a jump, in a new block that can't be reached
};

// The base of the classes that share a body: short names for what nearly every line of them uses.
class BodyPart {
 protected:
  explicit BodyPart(Body& shared) : body(shared), unit(shared.unit), b(shared.b), context(shared.context), state(shared.state) {}

  llvm::Value* call(const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments) {
    return body.call(name, result, arguments);
  }
  llvm::Value* number(int64_t value) { return body.number(value); }
  llvm::Value* at_offset(llvm::Value* pointer, int64_t bytes) { return body.at_offset(pointer, bytes); }
  llvm::Value* context_field(size_t offset) { return body.context_field(offset); }
  llvm::Value* actions_left() { return body.actions_left(); }
  llvm::Value* extend(llvm::Value* value, uint32_t bits, bool is_signed) { return body.extend(value, bits, is_signed); }
  llvm::Value* entry_alloca(llvm::Type* type, const char* name) { return body.entry_alloca(type, name); }
  llvm::BasicBlock* block(const char* name) { return body.block(name); }
  bool terminated() const { return body.terminated(); }
  void branch_if_open(llvm::BasicBlock* target) { body.branch_if_open(target); }
  void start_dead_block() { body.start_dead_block(); }

  Body& body;
  Unit& unit;
  llvm::IRBuilder<>& b;
  llvm::Value* const context;
  llvm::Value* const state;
};

}  // namespace spile::codegen
