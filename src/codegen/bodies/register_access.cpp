#include "codegen/bodies/register_access.h"

#include "abi/machine.h"
#include "abi/trampoline.h"
#include "abi/vector_register.h"

namespace spile::codegen {

namespace {

using abi::kConvention;

constexpr const char* kNoRegisters = "cannot access CPU registers in this context near '";
constexpr const char* kNoArguments = "cannot access function args in this context near '";

}  // namespace

SiteKnowledge RegisterAccess::site_knowledge() const {
  if (!unit.place.runs_at_probe() || !body.probe) return kKnowsNothing;
  if (body.site.returns) return kKnowsReturned;
  return sema::info(body.probe->kind).in_function ? kKnowsArguments : kKnowsNothing;
}

void RegisterAccess::store_site() {
  if (!unit.asks_for_site() || !state || !unit.place.chooses_registers()) return;
  auto put = [&](llvm::Value* value, size_t offset) { b.CreateStore(value, at_offset(state, static_cast<int64_t>(offset))); };
  SiteKnowledge known = site_knowledge();
  put(number(known), offsetof(State, knowledge));
  put(registers(), offsetof(State, registers));
  if (known == kKnowsReturned) {
    if (llvm::Value* value = unit.place.machine_register(body, kConvention.result_registers[0]))
      put(returned_part(value), offsetof(State, returned));
  } else if (known == kKnowsArguments) {
    for (size_t i = 0; i < kConvention.argument_registers.size(); ++i) {
      if (llvm::Value* value = unit.place.machine_register(body, kConvention.argument_registers[i]))
        put(value, offsetof(State, arguments) + 8 * i);
    }
  }
}

// All of them, as abi::Registers; null where they are unknown.
llvm::Value* RegisterAccess::registers() {
  if (body.script_function) return b.CreateLoad(unit.module.ptr(), at_offset(state, offsetof(State, registers)));
  return unit.place.all_registers(body);
}

// An error unless the probed place is known so far.
void RegisterAccess::require_knowledge(SiteKnowledge wanted, SourceRange range, const std::string& text) {
  llvm::Value* known = body.script_function ? b.CreateLoad(b.getInt64Ty(), at_offset(state, offsetof(State, knowledge)))
                                            : static_cast<llvm::Value*>(number(site_knowledge()));
  errors_.raise_if(b.CreateICmpNE(known, number(wanted)), range, text);
}

namespace {

// name: int_arg and the like, and the same behind set_.
bool is_int(const std::string& name) { return name == "int_arg" || name == "set_int_arg"; }
bool has_32_bits(const std::string& name) {
  return name.ends_with("uint_arg") || name.ends_with("s32_arg") || name.ends_with("u32_arg") || is_int(name);
}
bool is_signed_argument(const std::string& name) { return is_int(name) || name.ends_with("s32_arg"); }
bool is_float(const std::string& name) { return name == "float_arg" || name == "double_arg"; }

}  // namespace

// Arguments for which no register is left lie on the stack.
llvm::Value* RegisterAccess::argument(const std::string& name, llvm::Value* index, SourceRange range) {
  require_knowledge(kKnowsArguments, range, kNoArguments + name + "'");
  if (is_float(name)) {
    llvm::Value* bits = vector_argument_at(index, range);
    return name == "float_arg" ? call("spile_fn_fp32_to_fp64", b.getInt64Ty(), {context, extend(bits, 32, false)}) : bits;
  }
  llvm::Value* value = argument_at(index, range);
  return has_32_bits(name) ? extend(value, 32, is_signed_argument(name)) : value;
}

llvm::Value* RegisterAccess::constant_argument(const std::string& name, int64_t index, SourceRange range) {
  llvm::Value* value = constant_argument_at(index, range);
  if (!value) {
    unit.refuse(range, name + "() is only available at a function's entry, and its argument must be a number from 1");
    return number(0);
  }
  return has_32_bits(name) ? extend(value, 32, is_signed_argument(name)) : value;
}

void RegisterAccess::set_argument(const std::string& name, int64_t index, llvm::Value* value, SourceRange range) {
  llvm::Value* all =
      unit.place.may_write() && unit.place.chooses_registers() && index >= 1 && index <= 1000 ? registers() : nullptr;
  if (!all)
    return unit.refuse(
        range, name + "() is only available at a function's entry in a process, and its first argument must be a number from 1");
  require_knowledge(kKnowsArguments, range, kNoArguments + name + "'");
  errors_.raise_if(b.CreateIsNull(all), range, kNoRegisters + name + "'");
  if (has_32_bits(name)) value = extend(value, 32, is_signed_argument(name));
  const auto place = static_cast<size_t>(index - 1);
  if (place < kConvention.argument_registers.size()) {
    b.CreateStore(value, at_offset(all, 8 * kConvention.argument_registers[place]));
    // what int_arg() reads in script functions
    if (state) b.CreateStore(value, at_offset(state, static_cast<int64_t>(offsetof(State, arguments) + 8 * place)));
    return;
  }
  llvm::Value* cfa = unit.place.cfa(body);
  if (!cfa) cfa = number(0);
  llvm::Value* address = b.CreateAdd(cfa, number(kConvention.stack_argument(index - 1)));
  llvm::Value* ok = call("spile_rt_store", b.getInt1Ty(), {context, address, b.getInt32(8), value});
  errors_.raise_if(b.CreateNot(ok), range, "write fault at %p near '" + name + "'", {address});
}

llvm::Value* RegisterAccess::constant_argument_at(int64_t index, SourceRange range) {
  if (index < 1 || index > 1000) return nullptr;
  const auto place = static_cast<size_t>(index - 1);
  if (place < kConvention.argument_registers.size())
    return unit.place.machine_register(body, kConvention.argument_registers[place]);
  llvm::Value* cfa = unit.place.cfa(body);
  return cfa ? target_.load(b.CreateAdd(cfa, number(kConvention.stack_argument(index - 1))), 8, false, range) : nullptr;
}

llvm::Value* RegisterAccess::argument_at(llvm::Value* index, SourceRange range) {
  constexpr auto kInRegisters = static_cast<int64_t>(kConvention.argument_registers.size());
  auto on_stack = [&]() -> llvm::Value* {
    llvm::Value* cfa = unit.place.cfa(body);
    if (!cfa) cfa = number(0);
    llvm::Value* offset = b.CreateShl(b.CreateSub(index, number(kInRegisters + 1)), 3);
    return target_.load(b.CreateAdd(cfa, offset), 8, false, range);
  };
  errors_.raise_if(b.CreateICmpUGE(b.CreateSub(index, number(1)), number(1000)), range, "arguments are numbered from 1, not %d",
                   {index});
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

// Those for which no register is left lie on the stack among the others, so that only the function's type says where.
llvm::Value* RegisterAccess::vector_argument_at(llvm::Value* index, SourceRange range) {
  constexpr int64_t kCount = kConvention.vector_arguments;
  errors_.raise_if(b.CreateICmpUGE(b.CreateSub(index, number(1)), number(kCount)), range,
                   "floating-point arguments are numbered from 1 to " + std::to_string(kCount) + ", not %d", {index});
  llvm::Value* result = entry_alloca(b.getInt64Ty(), "argument");
  b.CreateStore(number(0), result);
  llvm::BasicBlock* done = block("argument");
  auto* choice = b.CreateSwitch(index, done, kCount);
  for (int64_t place = 0; place < kCount; ++place) {
    llvm::BasicBlock* chosen = block("argument.vector");
    choice->addCase(b.getInt64(static_cast<uint64_t>(place + 1)), chosen);
    b.SetInsertPoint(chosen);
    // Null in spile itself, where no probe has arguments.
    if (llvm::Value* value = unit.place.machine_register(body, kConvention.first_vector + place)) b.CreateStore(value, result);
    b.CreateBr(done);
  }
  b.SetInsertPoint(done);
  return b.CreateLoad(b.getInt64Ty(), result);
}

// The bits of the result register that the function's type has.
llvm::Value* RegisterAccess::returned_part(llvm::Value* whole) {
  return body.probe ? extend(whole, 8u * body.probe->returned_bytes, body.probe->returned_signed) : whole;
}

llvm::Value* RegisterAccess::returned(SourceRange range) {
  if (!unit.place.chooses_registers()) {
    llvm::Value* value = unit.place.machine_register(body, kConvention.result_registers[0]);
    return value ? returned_part(value) : number(0);
  }
  require_knowledge(kKnowsReturned, range, "the returned value is only known in .return probes near 'returnval'");
  if (body.script_function) return b.CreateLoad(b.getInt64Ty(), at_offset(state, offsetof(State, returned)));
  llvm::Value* value =
      site_knowledge() == kKnowsReturned ? unit.place.machine_register(body, kConvention.result_registers[0]) : nullptr;
  return value ? returned_part(value) : number(0);
}

void RegisterAccess::set_returned(llvm::Value* value, SourceRange range) {
  llvm::Value* all = unit.place.may_write() && unit.place.chooses_registers() ? registers() : nullptr;
  if (!all) return unit.refuse(range, "set_returnval() is only available at a function's return in a process");
  require_knowledge(kKnowsReturned, range, "the returned value is only known in .return probes near 'set_returnval'");
  errors_.raise_if(b.CreateIsNull(all), range, std::string(kNoRegisters) + "set_returnval'");
  b.CreateStore(value, at_offset(all, 8 * kConvention.result_registers[0]));
  // what returnval() reads in script functions
  if (state) b.CreateStore(returned_part(value), at_offset(state, offsetof(State, returned)));
}

llvm::Value* RegisterAccess::read(const std::string& name, const std::string* text, const std::function<llvm::Value*()>& computed,
                                  SourceRange range) {
  bool is_signed = name == "register";
  if (int64_t vector = text ? abi::find_vector_register(text->c_str()) : -1; vector >= 0) {
    if (llvm::Value* value = unit.place.machine_register(body, vector)) return value;
    errors_.raise_if(b.getTrue(), range, kNoRegisters + name + "'");
    return number(0);
  }
  const abi::RegisterName* found = text ? abi::find_register(text->c_str()) : nullptr;
  auto part = [&](llvm::Value* value) {
    // Above them are marks of our own (abi::kForeignCallFlag).
    if (found->number == kConvention.flags) value = b.CreateAnd(value, number(0xffffffff));
    return found->bits == 64 ? value : extend(b.CreateLShr(value, found->shift), found->bits, is_signed);
  };
  bool only_constants = !unit.place.chooses_registers();
  if (found &&
      (only_constants || (!body.script_function && body.site.registers && found->number <= kConvention.program_counter))) {
    // The number of the flags is another register's for machine_register().
    llvm::Value* value =
        found->number == kConvention.flags ? unit.place.machine_flags(body) : unit.place.machine_register(body, found->number);
    if (value) return part(value);
  }
  if (only_constants) {
    unit.refuse(range, "register() needs the name of a register that is known here");
    return number(0);
  }
  llvm::Value* wanted = found ? nullptr : computed();
  llvm::Value* all = registers();
  errors_.raise_if(b.CreateIsNull(all), range, kNoRegisters + name + "'");
  if (found) return part(b.CreateLoad(b.getInt64Ty(), at_offset(all, 8 * found->number)));
  return read_computed(wanted, all, is_signed);
}

llvm::Value* RegisterAccess::read_computed(llvm::Value* name, llvm::Value* all, bool is_signed) {
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
