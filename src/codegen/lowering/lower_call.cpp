// Calls: of script functions, and of the library's functions that are runtime code (sema/terms/intrinsics.h). Those of which
// the runtime can't know the answer are made here from the probe, its site and the argument registers.

#include "abi/record.h"
#include "codegen/bodies/kernel_lacks.h"
#include "codegen/bodies/lowering.h"
#include "sema/terms/intrinsics.h"
#include "syntax/visitor.h"

namespace spile::codegen {

llvm::Value* Lowering::lower_call(const syntax::Call& call) {
  if (call.function) return call_script_function(call);
  if (call.intrinsic >= 0) return call_intrinsic(call);
  unit.refuse(call.range, "unresolved function '" + call.name + "'");
  return number(0);
}

llvm::Value* Lowering::call_script_function(const syntax::Call& call) {
  const syntax::Function& function = *call.function;
  std::vector<const syntax::Expression*> operands;
  for (const auto& argument : call.arguments) operands.push_back(argument.get());
  std::vector<llvm::Value*> arguments{context, state};
  for (llvm::Value* value : lower_operands(operands)) arguments.push_back(value);
  if (unit.asks_for_kernel_stack(call)) keep_kernel_stack(call);
  bool is_string = function.type == ValueType::kString;
  llvm::Value* result = is_string ? frame_.temporary_string() : entry_alloca(b.getInt64Ty(), "result");
  arguments.push_back(result);
  try_overloads(call, arguments);
  return is_string ? result : b.CreateLoad(b.getInt64Ty(), result);
}

// The function, and as long as it executes `next` its other overloads.
void Lowering::try_overloads(const syntax::Call& call, llvm::ArrayRef<llvm::Value*> arguments) {
  std::vector<syntax::Function*> overloads{call.function};
  overloads.insert(overloads.end(), call.fallbacks.begin(), call.fallbacks.end());
  llvm::BasicBlock* done = nullptr;
  for (const syntax::Function* overload : overloads) {
    llvm::Value* status = b.CreateCall(unit.function(*overload), arguments);
    errors_.propagate(status);
    if (!overload->falls_through) break;
    llvm::Value* is_next = b.CreateICmpEQ(status, b.getInt32(kFunctionNext));
    if (overload == overloads.back()) {
      errors_.raise_if(is_next, call.range, "all functions exhausted near identifier '" + call.name + "'");
      break;
    }
    if (!done) done = block("call.done");
    llvm::BasicBlock* next = block("call.next");
    b.CreateCondBr(is_next, next, done);
    b.SetInsertPoint(next);
  }
  if (!done) return;
  b.CreateBr(done);
  b.SetInsertPoint(done);
}

namespace {

struct RuntimeName {
  std::string_view script;
  const char* runtime;
};
constexpr RuntimeName kContextLongs[] = {
    {"pid", "spile_rt_pid"}, {"tid", "spile_rt_tid"},       {"cpu", "spile_rt_cpu"},
    {"uid", "spile_rt_uid"}, {"target", "spile_rt_target"}, {"get_cycles", "spile_rt_cycles"},
};

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

llvm::Value* Lowering::call_intrinsic(const syntax::Call& syntax_call) {
  const sema::Intrinsic& intrinsic = sema::intrinsics()[static_cast<size_t>(syntax_call.intrinsic)];
  const std::string name(intrinsic.name);
  if (intrinsic.needs & sema::kNeedsArguments)
    return intrinsic.needs & sema::kNeedsGuru ? lower_set_argument(syntax_call) : lower_argument(syntax_call);
  if (name == "returnval") return registers_.returned(syntax_call.range);
  if (name == "set_returnval") {
    registers_.set_returned(lower(*syntax_call.arguments[0]), syntax_call.range);
    return number(0);
  }
  if (intrinsic.needs & sema::kNeedsRegisters) return lower_register(syntax_call);
  if (name == "call_history_add") {
    call("spile_rt_call_history_add", unit.module.none(), {context, lower(*syntax_call.arguments[0])});
    return number(0);
  }
  if (name == "call_history_stop")
    return b.CreateZExt(call("spile_rt_call_history_stop", b.getInt1Ty(), {context}), b.getInt64Ty());
  if (intrinsic.needs & sema::kNeedsSite) return target_.site_text(name);
  for (const RuntimeName& known : kContextLongs) {
    if (known.script == name) return call(known.runtime, b.getInt64Ty(), {context});
  }
  if (name.starts_with("gettimeofday_")) return clock(name);
  if (is_one_of(name, {"matched", "matched_str", "ngroups"})) return lower_match_question(syntax_call);
  if (name == "execname") {
    llvm::Value* out = frame_.temporary_string();
    call("spile_rt_execname", unit.module.none(), {context, out});
    return out;
  }
  if (name == "exit") {
    unit.note_record(abi::kExit);
    call("spile_rt_exit_session", unit.module.none(), {context});
    return number(0);
  }
  if (name == "abort") {
    unit.note_record(abi::kExit);
    call("spile_rt_exit_session", unit.module.none(), {context});
    b.CreateBr(errors_.aborted());
    start_dead_block();
    return number(0);
  }
  if (is_one_of(name, {"error", "warn", "log"})) {
    llvm::Value* text = lower(*syntax_call.arguments[0]);
    if (name == "error") errors_.raise_text(text);
    else if (name == "warn") write_record(body, abi::kWarning, 0, {text});
    else {
      syntax::FormatPart string, newline;
      string.kind = syntax::FormatPart::Kind::kString;
      newline.literal = "\n";
      write_record(body, abi::kPrintf, unit.tables.add_format(printf_format({string, newline}, {ValueType::kString})), {text});
    }
    return number(0);
  }
  if (name == "system") return lower_system(syntax_call);
  if (name == "switch_file") {
    unit.note_record(abi::kSwitchFile);
    write_record(body, abi::kSwitchFile, 0, {});
    return number(0);
  }
  if (intrinsic.result == ValueType::kUnknown) {  // those that print
    for (uint32_t kind : {abi::kText, abi::kBacktrace, abi::kSymbols, abi::kKernelBacktrace, abi::kKernelSymbols})
      unit.note_record(kind);
  }
  if (intrinsic.needs & sema::kNeedsKernelStack) keep_kernel_stack(syntax_call);
  return call_runtime_function(syntax_call);
}

llvm::Value* Lowering::lower_argument(const syntax::Call& call) {
  const syntax::Expression& index = *call.arguments[0];
  if (unit.place.chooses_registers()) return registers_.argument(call.name, lower(index), call.range);
  const auto* constant = syntax::as<syntax::Number>(index);
  return registers_.constant_argument(call.name, constant ? constant->value : 0, call.range);
}

// Gives the value, also where the function of the script gives none.
llvm::Value* Lowering::lower_set_argument(const syntax::Call& call) {
  const auto* index = syntax::as<syntax::Number>(*call.arguments[0]);
  llvm::Value* value = lower(*call.arguments[1]);
  registers_.set_argument(call.name, index ? index->value : 0, value, call.range);
  return value;
}

llvm::Value* Lowering::lower_register(const syntax::Call& call) {
  const syntax::Expression& name = *call.arguments[0];
  const auto* text = syntax::as<syntax::String>(name);
  return registers_.read(call.name, text ? &text->value : nullptr, [&] { return lower(name); }, call.range);
}

// system(): a record for the controller, which runs the command when it collects the output (abi/record.h). A command that the
// script spells out goes by its number, so that a process whose memory has the record can't change it.
llvm::Value* Lowering::lower_system(const syntax::Call& call) {
  if (const std::string* constant = unit.own_text->constant(*call.arguments[0])) {
    write_record(body, abi::kSystem, unit.tables.add_command(constant->substr(0, unit.layout.string_limit - 1)), {});
    return number(0);
  }
  const std::string untrusted = unit.program.guru || unit.place.is_trusted() ? std::string() : unit.untrusted_target;
  if (!untrusted.empty()) {
    unit.refuse(call.range,
                "system(): the command is computed in a handler that runs in a process, and " + untrusted +
                    ": that process could have any command run",
                "use a literal command, or call system() in a begin, end or timer probe; -g allows it anyway");
    return number(0);
  }
  if (!unit.place.is_trusted() && unit.tables.commands.made_at.empty()) unit.tables.commands.made_at = call.range.to_string();
  write_record(body, abi::kSystem, abi::kCommandText, {lower(*call.arguments[0])});
  return number(0);
}

void Lowering::keep_kernel_stack(const syntax::Call& call) {
  llvm::Value* kept = unit.place.keep_kernel_stack(body);
  if (kept) errors_.raise_if(b.CreateNot(kept), call.range, "the kernel can't walk its stack here, near '" + call.name + "'");
}

// @perf("NAME"). sema has seen to it that the counter is there, and that this runs in a process.
llvm::Value* Lowering::lower_counter(const syntax::Perf& counter) {
  auto found = unit.program.perf_counters.find(counter.counter);
  if (found == unit.program.perf_counters.end() || !unit.place.reads_perf_counters()) {
    unit.refuse(counter.range, "@perf counters can't be read here");
    return number(0);
  }
  llvm::Value* value = call("spile_rt_perf_counter", b.getInt64Ty(), {context, b.getInt32(static_cast<uint32_t>(found->second))});
  errors_.raise_if(b.CreateICmpSLT(value, number(0)), counter.range, "the process may make no system calls near '@perf'");
  return value;
}

llvm::Value* Lowering::clock(const std::string& name) {
  llvm::Value* ns = call("spile_rt_clock_ns", b.getInt64Ty(), {context});
  if (name.ends_with("_us")) return b.CreateSDiv(ns, number(1000));
  if (name.ends_with("_ms")) return b.CreateSDiv(ns, number(1000000));
  return name.ends_with("_s") ? b.CreateSDiv(ns, number(1000000000)) : ns;
}

// spile_fn_NAME(Context*, arguments..., [char* out], [bool* fault])
llvm::Value* Lowering::call_runtime_function(const syntax::Call& syntax_call) {
  const sema::Intrinsic& intrinsic = sema::intrinsics()[static_cast<size_t>(syntax_call.intrinsic)];
  std::string name = "spile_fn_" + std::string(intrinsic.name);
  if (!unit.module.has_runtime(name)) {
    const KernelLack* lack = kernel_lack(syntax_call.name);
    // What a function of the library can't do, the script's call of it can't.
    const auto found = unit.written_calls.find(&syntax_call);
    const syntax::Call& written = found == unit.written_calls.end() ? syntax_call : *found->second;
    if (unit.refused_calls.insert(&written).second)
      unit.refuse(written.range, kernel_lack_text("'" + written.name + "'", lack),
                  lack ? std::string(lack->instead) : "keep its arguments in globals, and do it in a timer or end probe");
    return intrinsic.result == ValueType::kString ? static_cast<llvm::Value*>(unit.module.text("")) : number(0);
  }
  std::vector<const syntax::Expression*> operands;
  for (const auto& argument : syntax_call.arguments) operands.push_back(argument.get());
  std::vector<llvm::Value*> arguments{context};
  for (llvm::Value* value : lower_operands(operands)) arguments.push_back(value);
  if (intrinsic.name.starts_with("__pretty_")) {  // plans are data, which have zeros in them and are longer than strings may be
    for (size_t i = 0; i < operands.size(); ++i) {
      if (const auto* plan = syntax::as<syntax::String>(*operands[i])) arguments[i + 1] = unit.module.text(plan->value);
    }
  }
  llvm::Value* out = nullptr;
  llvm::Value* fault = nullptr;
  if (intrinsic.result == ValueType::kString) arguments.push_back(out = frame_.temporary_string());
  if (intrinsic.needs & sema::kCanFail) {
    fault = entry_alloca(b.getInt8Ty(), "fault");
    b.CreateStore(b.getInt8(0), fault);
    arguments.push_back(fault);
  }
  bool gives_long = intrinsic.result == ValueType::kLong;
  llvm::Value* result = call(name.c_str(), gives_long ? static_cast<llvm::Type*>(b.getInt64Ty()) : unit.module.none(), arguments);
  if (fault) {
    llvm::Value* failed = b.CreateICmpNE(b.CreateLoad(b.getInt8Ty(), fault), b.getInt8(0));
    bool has_address = arguments.size() > 1 && arguments[1]->getType()->isIntegerTy(64);
    if (is_one_of(name, {"spile_fn_umodname", "spile_fn_modname", "spile_fn_umodbuildid", "spile_fn_umodaddr"})) {
      errors_.raise_if(failed, syntax_call.range, "no module has the address %p near '" + syntax_call.name + "'", {arguments[1]});
      return out ? out : result;
    }
    if (name == "spile_fn___cmdline_args" || name == "spile_fn___env_var") {
      errors_.raise_if(failed, syntax_call.range,
                       "the process has ended, or can't be read, near '" + syntax_call.name.substr(2) + "'", {});
      return out;
    }
    if (name == "spile_fn_stringat") {
      errors_.raise_if(failed, syntax_call.range, "position %d is outside of the string near 'stringat'", {arguments[2]});
      return result;
    }
    if (name == "spile_fn_raise") {
      errors_.raise_if(failed, syntax_call.range, "signal %d could not be sent near 'raise'", {arguments[1]});
      return number(0);
    }
    bool writes = name.starts_with("spile_fn_set_");
    std::string text = std::string(syntax_call.name.starts_with("kernel_") ? "kernel read fault"
                                   : writes                                ? "write fault"
                                                                           : "read fault") +
                       std::string(has_address ? " at %p" : "") + " near '" + syntax_call.name + "'";
    errors_.raise_if(failed, syntax_call.range, text,
                     has_address ? llvm::ArrayRef<llvm::Value*>(arguments[1]) : llvm::ArrayRef<llvm::Value*>());
  }
  return out ? out : gives_long ? result : number(0);
}

}  // namespace spile::codegen
