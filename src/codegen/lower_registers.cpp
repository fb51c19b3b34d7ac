// int_arg(n), register("rax"), returnval() and their kind: the probed place's registers. In a probe's body they are
// mostly known when it is compiled. In a script function, which may be called from anywhere, and for names and numbers
// that the script computes, the handler leaves in State what it has, and an error names what is not there.

#include "abi/machine.h"
#include "abi/trampoline.h"
#include "codegen/lowering.h"
#include "sema/intrinsics.h"
#include "syntax/visitor.h"

namespace spile::codegen {

namespace {

using abi::kConvention;

// Whether the call asks for something that is only known when it runs.
bool is_computed(const syntax::Call& call) {
  return !call.arguments.empty() && !syntax::as<syntax::Number>(call.arguments[0]) && !syntax::as<syntax::String>(call.arguments[0]);
}

constexpr const char* kNoRegisters = "cannot access CPU registers in this context near '";
constexpr const char* kNoArguments = "cannot access function args in this context near '";

}  // namespace

bool Unit::asks_for_site() {
  if (asks_for_site_) return *asks_for_site_;
  bool asks = false, in_function = false;
  auto look = [&](const syntax::Expression& e) {
    const auto* call = syntax::as<syntax::Call>(e);
    if (!call || call->intrinsic < 0) return;
    uint32_t needs = sema::intrinsics()[static_cast<size_t>(call->intrinsic)].needs;
    if (needs & (sema::kNeedsArguments | sema::kNeedsRegisters)) asks |= in_function || is_computed(*call);
  };
  for (const sema::Probe& probe : program.probes) {
    syntax::for_each_expression(static_cast<const syntax::Statement&>(*probe.body), look);
    if (probe.condition) syntax::for_each_expression(static_cast<const syntax::Expression&>(*probe.condition), look);
    for (const auto& save : probe.entry_saves) syntax::for_each_expression(static_cast<const syntax::Expression&>(*save), look);
  }
  in_function = true;
  for (const syntax::Function* function : program.functions) {
    if (function->body) syntax::for_each_expression(static_cast<const syntax::Statement&>(*function->body), look);
  }
  asks_for_site_ = asks;
  return asks;
}

SiteKnowledge Lowering::site_knowledge() const {
  if (!unit.place.runs_at_probe() || !body.probe) return kKnowsNothing;
  if (body.site.returns) return kKnowsReturned;
  return sema::info(body.probe->kind).in_function ? kKnowsArguments : kKnowsNothing;
}

void Lowering::store_site() {
  if (!unit.asks_for_site() || !state || !unit.place.chooses_registers()) return;
  auto put = [&](llvm::Value* value, size_t offset) { b.CreateStore(value, at_offset(state, static_cast<int64_t>(offset))); };
  SiteKnowledge known = site_knowledge();
  put(number(known), offsetof(State, knowledge));
  put(registers(), offsetof(State, registers));
  if (known == kKnowsReturned) {
    if (llvm::Value* value = unit.place.machine_register(body, kConvention.result_registers[0])) put(returned_part(value), offsetof(State, returned));
  } else if (known == kKnowsArguments) {
    for (size_t i = 0; i < kConvention.argument_registers.size(); ++i) {
      if (llvm::Value* value = unit.place.machine_register(body, kConvention.argument_registers[i])) put(value, offsetof(State, arguments) + 8 * i);
    }
  }
}

// All of them, as abi::Registers; null where there are none.
llvm::Value* Lowering::registers() {
  if (body.script_function) return b.CreateLoad(unit.module.ptr(), at_offset(state, offsetof(State, registers)));
  return unit.place.all_registers(body);
}

// An error unless the probed place is known so far.
void Lowering::require_knowledge(SiteKnowledge wanted, SourceRange range, const std::string& text) {
  llvm::Value* known = body.script_function ? b.CreateLoad(b.getInt64Ty(), at_offset(state, offsetof(State, knowledge)))
                                        : static_cast<llvm::Value*>(number(site_knowledge()));
  errors_.raise_if(b.CreateICmpNE(known, number(wanted)), range, text);
}

// By their names' types; those for which no register is left lie on the stack.
llvm::Value* Lowering::lower_argument(const syntax::Call& syntax_call) {
  const std::string& name = syntax_call.name;
  bool is_32 = name == "int_arg" || name == "uint_arg" || name == "s32_arg" || name == "u32_arg";
  bool is_signed = name == "int_arg" || name == "s32_arg";
  const auto* index = syntax::as<syntax::Number>(syntax_call.arguments[0]);
  llvm::Value* value = nullptr;
  if (!unit.place.chooses_registers()) {
    value = kernel_argument(index ? index->value : 0, syntax_call.range);
    if (!value) {
      unit.refuse(syntax_call.range, name + "() is only available at a function's entry, and its argument must be a number from 1");
      return number(0);
    }
  } else {
    llvm::Value* wanted = lower(*syntax_call.arguments[0]);
    require_knowledge(kKnowsArguments, syntax_call.range, kNoArguments + name + "'");
    value = native_argument(wanted, syntax_call.range);
  }
  return is_32 ? extend(value, 32, is_signed) : value;
}

llvm::Value* Lowering::kernel_argument(int64_t index, SourceRange range) {
  if (index < 1 || index > 1000) return nullptr;
  const auto place = static_cast<size_t>(index - 1);
  if (place < kConvention.argument_registers.size()) return unit.place.machine_register(body, kConvention.argument_registers[place]);
  llvm::Value* cfa = unit.place.cfa(body);
  return cfa ? load_traced(b.CreateAdd(cfa, number(kConvention.stack_argument(index - 1))), 8, false, range) : nullptr;
}

llvm::Value* Lowering::native_argument(llvm::Value* index, SourceRange range) {
  constexpr auto kInRegisters = static_cast<int64_t>(kConvention.argument_registers.size());
  auto on_stack = [&]() -> llvm::Value* {
    llvm::Value* cfa = unit.place.cfa(body);
    if (!cfa) cfa = number(0);
    llvm::Value* offset = b.CreateShl(b.CreateSub(index, number(kInRegisters + 1)), 3);
    return load_traced(b.CreateAdd(cfa, offset), 8, false, range);
  };
  errors_.raise_if(b.CreateICmpUGE(b.CreateSub(index, number(1)), number(1000)), range, "arguments are numbered from 1, not %d", {index});
  if (auto* constant = llvm::dyn_cast<llvm::ConstantInt>(index)) {
    int64_t n = constant->getSExtValue();
    if (n < 1 || n > 1000) return number(0);
    if (n > kInRegisters) return on_stack();
    if (!body.script_function) {
      llvm::Value* value = unit.place.machine_register(body, kConvention.argument_registers[static_cast<size_t>(n - 1)]);
      return value ? value : number(0);
    }
  }
  if (!state) return number(0);  // of code that is never run
  llvm::BasicBlock *in_register = block("argument.register"), *in_memory = block("argument.stack"), *done = block("argument");
  llvm::Value* result = entry_alloca(b.getInt64Ty(), "argument");
  b.CreateCondBr(b.CreateICmpSLE(index, number(kInRegisters)), in_register, in_memory);
  b.SetInsertPoint(in_register);
  llvm::Value* place = b.CreateGEP(b.getInt64Ty(), at_offset(state, offsetof(State, arguments)), b.CreateSub(index, number(1)));
  b.CreateStore(b.CreateLoad(b.getInt64Ty(), place), result);
  b.CreateBr(done);
  b.SetInsertPoint(in_memory);
  b.CreateStore(on_stack(), result);
  b.CreateBr(done);
  b.SetInsertPoint(done);
  return b.CreateLoad(b.getInt64Ty(), result);
}

// As much of the register as the function's type has.
llvm::Value* Lowering::returned_part(llvm::Value* whole) {
  return body.probe ? extend(whole, 8u * body.probe->returned_bytes, body.probe->returned_signed) : whole;
}

llvm::Value* Lowering::lower_returned(const syntax::Call& syntax_call) {
  if (!unit.place.chooses_registers()) {
    llvm::Value* value = unit.place.machine_register(body, kConvention.result_registers[0]);
    return value ? returned_part(value) : number(0);
  }
  require_knowledge(kKnowsReturned, syntax_call.range, "the returned value is only known in .return probes near 'returnval'");
  if (body.script_function) return b.CreateLoad(b.getInt64Ty(), at_offset(state, offsetof(State, returned)));
  llvm::Value* value = site_knowledge() == kKnowsReturned ? unit.place.machine_register(body, kConvention.result_registers[0]) : nullptr;
  return value ? returned_part(value) : number(0);
}

llvm::Value* Lowering::lower_register(const syntax::Call& syntax_call) {
  bool is_signed = syntax_call.name == "register";
  const auto* text = syntax::as<syntax::String>(syntax_call.arguments[0]);
  const abi::RegisterName* found = text ? abi::find_register(text->value.c_str()) : nullptr;
  auto part = [&](llvm::Value* value) { return found->bits == 64 ? value : extend(b.CreateLShr(value, found->shift), found->bits, is_signed); };
  bool only_constants = !unit.place.chooses_registers();
  if (found && (only_constants || (!body.script_function && body.site.registers && found->number <= kConvention.program_counter))) {
    if (llvm::Value* value = unit.place.machine_register(body, found->number)) return part(value);
  }
  if (only_constants) {
    unit.refuse(syntax_call.range, "register() needs the name of a register that is known here");
    return number(0);
  }
  llvm::Value* name = found ? nullptr : lower(*syntax_call.arguments[0]);
  llvm::Value* all = registers();
  errors_.raise_if(b.CreateIsNull(all), syntax_call.range, kNoRegisters + syntax_call.name + "'");
  if (found) return part(b.CreateLoad(b.getInt64Ty(), at_offset(all, 8 * found->number)));
  return register_by_name(name, all, is_signed);
}

llvm::Value* Lowering::register_by_name(llvm::Value* name, llvm::Value* all, bool is_signed) {
  llvm::Value* result = entry_alloca(b.getInt64Ty(), "register");
  llvm::Value* known = call("spile_rt_register", b.getInt1Ty(), {all, name, b.getInt1(is_signed), result});
  llvm::BasicBlock *unknown = block("register.unknown"), *good = block("register.known");
  b.CreateCondBr(known, good, unknown);
  b.SetInsertPoint(unknown);
  llvm::Value* message = frame_.temporary_string();
  call("spile_rt_string_concatenate", unit.module.none(), {message, unit.module.text("Unknown register: "), name});
  errors_.raise_text(message);
  b.CreateBr(good);  // of the dead block after it
  b.SetInsertPoint(good);
  return b.CreateLoad(b.getInt64Ty(), result);
}

}  // namespace spile::codegen
