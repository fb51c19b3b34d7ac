#pragma once
// Handlers in the kernel whose globals are maps of the kernel. Registers are read from struct pt_regs, fields from the
// tracepoint's record.

#include <set>

#include "codegen/place.h"
#include "codegen/unit.h"

namespace spile::codegen {

class KernelPlace final : public Place {
 public:
  llvm::Value* global(Body& body, const syntax::Global& global) override;
  llvm::Value* machine_register(Body& body, int64_t number) override;
  // Never asked for: chooses_registers() is false.
  llvm::Value* all_registers(Body&) override { return nullptr; }
  llvm::Value* cfa(Body& body) override;
  llvm::Value* load_bias(Body& body) override;
  llvm::Value* call_number(Body& body) override;
  llvm::Value* context_address(Body& body, int64_t offset) override;
  llvm::Value* site_text(Body& body, const std::string& what) override;

  // lower_kernel.h, refuse_for_kernel, rejects what the verifier does not follow before the lowering meets it.
  bool globals_are_memory() const override { return false; }
  bool has_shards() const override { return true; }
  bool has_try() const override { return false; }
  bool stops_itself() const override { return true; }
  bool has_preserve_most() const override { return false; }
  bool formats_histograms() const override { return false; }
  bool copies_memory() const override { return false; }
  bool runs_embedded_c() const override { return false; }
  bool runs_at_probe() const override { return true; }
  bool chooses_registers() const override { return false; }
  bool runs_on_thread() const override { return false; }
  bool reads_perf_counters() const override { return false; }
  bool may_write() const override { return false; }
  bool finds_modules() const override { return false; }
  bool is_user_mode() const override { return false; }
  bool is_trusted() const override { return true; }
  bool is_controller() const override { return false; }

  // What a handler on a raw tracepoint has found out before its body.
  struct Calls {
    llvm::Value* point = nullptr;      // i64: index into Probe::points; null: from the cookie
    llvm::Value* registers = nullptr;  // part of struct pt_regs, of KernelLayout::pt_regs_call_begin and _end; null: not read
    bool at_exit = false;              // of a system call
  };
  // What the kernel gives a handler.
  struct Context {
    bool at_return = false;  // at the return of the probed function
    int arguments = -1;      // fentry, fexit: so many arguments of the function, each of a register; -1: struct pt_regs, or a record
    Calls calls = {};
  };
  // Makes the place ready for another handler. REQUIRES: called before each body.
  void begin_handler(const Context& context) {
    context_ = context;
    reads_context_ = asked_too_much_ = false;
  }
  // Whether the handler since then reads what the kernel gives it, or its cookie.
  bool reads_context() const { return reads_context_; }
  // Whether it has asked for a register or a place of the stack that fentry and fexit do not have.
  bool asked_too_much() const { return asked_too_much_; }
  // Returns what the entry and the return of one call have in common, on one thread.
  llvm::Value* call_key(Body& body);

  // Indexes of globals that handlers have asked for: they need maps.
  const std::set<int>& globals() const { return globals_; }

 private:
  llvm::Value* kernel_context(Body& body);
  llvm::Value* register_at(Body& body, int64_t offset);
  llvm::Value* argument_register(Body& body, int64_t number);
  llvm::Value* too_much(Body& body);

  llvm::Value* cookie_of(Body& body);
  llvm::Value* call_field(Body& body, int64_t offset);

  Context context_;
  bool reads_context_ = false;
  bool asked_too_much_ = false;
  std::set<int> globals_;
};

// Returns the undefined symbol by which the object refers to a map; the second, the name of that for a global's map.
llvm::GlobalVariable* map_symbol(ScriptModule& module, const std::string& name);
std::string global_symbol(const syntax::Global& global);

// What the cookie of the attachment that was hit says (codegen.h, kernel_cookie). cookie: emits code that reads it; called only where the
// probe has several points. text_of_cookie: the string of pp(), probefunc() and the like; null: one point, or another string. REQUIRES, for the
// address: a body of a probe.
llvm::Value* address_of_cookie(Body& body, const std::function<llvm::Value*()>& cookie);
llvm::Value* text_of_cookie(Body& body, const std::string& what, const std::function<llvm::Value*()>& cookie);

}  // namespace spile::codegen
