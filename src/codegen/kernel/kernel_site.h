#pragma once
// What handlers in the kernel know of the probed place, over maps and over an arena alike: from struct pt_regs (kprobes,
// uprobes), from a traced function's arguments (fentry, fexit), from a tracepoint's record, or from registers that the program
// has read itself.

#include <functional>

#include "codegen/module/place.h"
#include "codegen/module/unit.h"

namespace spile::codegen {

class KernelSite : public Place {
 public:
  llvm::Value* machine_register(Body& body, int64_t number) override;
  llvm::Value* machine_flags(Body& body) override;
  llvm::Value* cfa(Body& body) override;
  llvm::Value* load_bias(Body& body) override;
  llvm::Value* call_number(Body& body) override;
  llvm::Value* context_address(Body& body, int64_t offset) override;
  llvm::Value* site_text(Body& body, const std::string& what) override;

  // What the kernel gives a handler.
  struct Context {
    bool at_return = false;  // at the return of the probed function
    // fentry, fexit: so many arguments of the function, each of a register; -1: struct pt_regs, or a record
    int arguments = -1;
    bool at_exit = false;  // of a system call, where SiteValues::call_registers are read
  };
  // Makes the place ready for another handler. REQUIRES: called before each body.
  void begin_handler(const Context& context) {
    context_ = context;
    reads_context_ = asked_too_much_ = reads_call_registers_ = false;
  }
  // Whether the handler since then reads what the kernel gives it, or its cookie.
  bool reads_context() const { return reads_context_; }
  // Whether it reads registers of the system call that it runs in.
  bool reads_call_registers() const { return reads_call_registers_; }
  // Whether it has asked for a register or a place of the stack that fentry and fexit do not have.
  bool asked_too_much() const { return asked_too_much_; }
  // Returns the number of the probe's point that was hit. REQUIRES: the probe has several.
  llvm::Value* point_index(Body& body);
  // Returns what the entry and the return of one call have in common, on one thread.
  llvm::Value* call_key(Body& body);

 protected:
  // The argument of the eBPF program.
  virtual llvm::Value* program_context(Body& body) = 0;
  // What the runtime's functions take that read it: abi::Context*, or the argument itself.
  virtual llvm::Value* runtime_argument(Body& body) = 0;
  // Whether struct pt_regs or arguments are known in this body.
  virtual bool has_registers(const Body& body) const = 0;

  const Context& handler_context() const { return context_; }
  llvm::Value* too_much(Body& body);
  llvm::Value* register_word(Body& body, int64_t number);

 private:
  llvm::Value* kernel_context(Body& body);
  llvm::Value* argument_register(Body& body, int64_t number);
  llvm::Value* cookie_of(Body& body);
  llvm::Value* call_field(Body& body, int64_t offset);
  llvm::Value* call_register(Body& body, uint32_t at);

  Context context_;
  bool reads_context_ = false;
  bool asked_too_much_ = false;
  bool reads_call_registers_ = false;
};

}  // namespace spile::codegen
