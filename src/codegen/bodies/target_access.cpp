#include "codegen/bodies/target_access.h"

#include "abi/machine.h"
#include "abi/point_tables.h"
#include "codegen/module/site_texts.h"
#include "sema/terms/written_place.h"

namespace spile::codegen {

llvm::Value* TargetAccess::refused(ValueType type, SourceRange range, const std::string& what) {
  unit.refuse(range, what);
  return type == ValueType::kString ? static_cast<llvm::Value*>(unit.module.text("")) : number(0);
}

llvm::Value* TargetAccess::read(int binding, ValueType type, SourceRange range, const Operand& operand) {
  const std::vector<sema::Binding>* bindings = current_bindings();
  if (!bindings || binding < 0 || static_cast<size_t>(binding) >= bindings->size()) {
    return refused(type, range, "this has no location in the traced program here");
  }
  const sema::Binding& program = (*bindings)[static_cast<size_t>(binding)];
  if (program.by_point != sema::Binding::ByPoint::kNo) return read_by_point(program, range);
  std::vector<llvm::Value*> stack;
  // An operand may be a traced value too.
  const sema::Binding* outer = std::exchange(binding_, &program);
  const bool known = run_location(program.ops, range, operand, stack);
  binding_ = outer;
  if (!known) return refused(type, range, "the location of this value is not known here");
  if (program.type != ValueType::kString) return stack.back();
  if (program.string_in_context) return load_record_string(stack.back(), range);
  const uint32_t most = unit.layout.string_limit;
  return load_string(stack.back(), b.getInt32(program.string_limit == 0 ? most : std::min(program.string_limit, most)), range);
}

void TargetAccess::find_point() {
  if (!body.probe || body.probe->tables.empty()) return;
  const Unit::PlaceTables& tables = unit.place_tables();
  values_ = entry_alloca(llvm::ArrayType::get(b.getInt64Ty(), abi::kPointValues), "values");
  auto put = [&](uint32_t index, llvm::Value* value) {
    b.CreateStore(value ? value : number(0), at_offset(values_, 8 * int64_t{index}));
  };
  put(kCfaValue, unit.place.cfa(body));
  put(kBiasValue, unit.place.load_bias(body));
  // analyze-uses has seen to it that those are known which some place asks for; others at a return are of its entry.
  for (size_t i = 0; i < tables.registers.size(); ++i)
    put(kFirstRegisterValue + static_cast<uint32_t>(i), unit.place.machine_register(body, tables.registers[i]));
  row_ = site_offset(tables.where, b.getInt32(static_cast<uint32_t>(body.probe->index)));
}

llvm::Value* TargetAccess::read_by_point(const sema::Binding& binding, SourceRange range) {
  CHECK(row_);
  const Unit::PlaceTables& tables = unit.place_tables();
  llvm::Value* slot = b.CreateGEP(b.getInt32Ty(), tables.where.blob, b.CreateAdd(row_, number(binding.slot)));
  llvm::Value* offset = b.CreateZExt(b.CreateLoad(b.getInt32Ty(), slot), b.getInt64Ty());
  if (binding.by_point == sema::Binding::ByPoint::kVariables) {
    llvm::Value *out = frame_.temporary_string(), *scratch = frame_.temporary_string();
    llvm::Value* list = b.CreateGEP(b.getInt32Ty(), tables.lists, offset);
    call("spile_rt_point_variables", unit.module.none(), {context, values_, list, tables.places, tables.texts, out, scratch});
    return out;
  }
  llvm::Value* place = b.CreateGEP(b.getInt64Ty(), tables.places, offset);
  llvm::Value* value = entry_alloca(b.getInt64Ty(), "value");
  llvm::Value* known = call("spile_rt_point_value", b.getInt1Ty(), {context, values_, place, value});
  llvm::Value* loaded = b.CreateLoad(b.getInt64Ty(), value);
  errors_.raise_if(b.CreateNot(known), range, "read fault at %p near '" + std::string(range.text()) + "'", {loaded});
  if (binding.type != ValueType::kString) return loaded;
  llvm::Value* header = b.CreateLoad(b.getInt64Ty(), place);
  return load_string(loaded, b.CreateTrunc(b.CreateLShr(header, number(32)), b.getInt32Ty()), range);
}

// A string at `offset` of a tracepoint's record.
llvm::Value* TargetAccess::load_record_string(llvm::Value* offset, SourceRange range) {
  llvm::Value* record = unit.place.context_address(body, 0);
  if (!record) return refused(ValueType::kString, range, "this string is not known here");
  llvm::Value* address = b.CreatePtrToInt(record, b.getInt64Ty());
  llvm::Value* out = frame_.temporary_string();
  llvm::Value* length = call("spile_rt_load_string", b.getInt64Ty(),
                             {context, b.CreateAdd(address, offset), out, b.getInt32(unit.layout.string_size)});
  errors_.raise_if(b.CreateICmpSLT(length, number(0)), range,
                   "the tracepoint's record can't be read near '" + std::string(range.text()) + "'");
  return out;
}

const std::vector<sema::Binding>* TargetAccess::current_bindings() const {
  if (body.probe) return &body.probe->bindings;
  if (!body.script_function || body.script_function->index < 0) return nullptr;
  auto index = static_cast<size_t>(body.script_function->index);
  return index < unit.program.function_bindings.size() ? &unit.program.function_bindings[index] : nullptr;
}

// Runs operations on the stack, which has a value afterwards. False: the place can't give what one of them asks for.
bool TargetAccess::run_location(llvm::ArrayRef<location::Operation> ops, SourceRange range, const Operand& operand,
                                std::vector<llvm::Value*>& stack) {
  for (const location::Operation& op : ops) {
    if (!location::is<location::Index>(op) && !location::is<location::ScriptPointer>(op)) {
      if (!apply(op, stack, range)) return false;
      continue;
    }
    llvm::Value* value = operand(op);
    if (!value) return false;
    stack.push_back(value);
  }
  return !stack.empty();
}

// Moves entries of the stack about.
static void shuffle(location::Stack op, std::vector<llvm::Value*>& stack) {
  const size_t depth = stack.size();
  switch (op) {
    case location::Stack::kDup:
      CHECK(depth >= 1);
      stack.push_back(stack.back());
      return;
    case location::Stack::kDrop:
      CHECK(depth >= 1);
      stack.pop_back();
      return;
    case location::Stack::kSwap:
      CHECK(depth >= 2);
      std::swap(stack[depth - 1], stack[depth - 2]);
      return;
    case location::Stack::kRot:
      CHECK(depth >= 3);
      std::rotate(stack.end() - 3, stack.end() - 1, stack.end());
      return;
  }
}

llvm::Value* TargetAccess::apply_binary(location::Binary op, llvm::Value* x, llvm::Value* y, SourceRange range) {
  using location::Binary;
  auto count = [&] { return b.CreateAnd(y, number(63)); };
  auto compare = [&](llvm::CmpInst::Predicate predicate) { return b.CreateZExt(b.CreateICmp(predicate, x, y), b.getInt64Ty()); };
  switch (op) {
    case Binary::kPlus: return b.CreateAdd(x, y);
    case Binary::kMinus: return b.CreateSub(x, y);
    case Binary::kMul: return b.CreateMul(x, y);
    case Binary::kDiv: return arithmetic_.divide(false, x, y, range);
    case Binary::kMod:
      errors_.raise_if(b.CreateICmpEQ(y, number(0)), range,
                       "division by 0 in the location of '" + std::string(range.text()) + "'");
      return b.CreateURem(x, y);
    case Binary::kAnd: return b.CreateAnd(x, y);
    case Binary::kOr: return b.CreateOr(x, y);
    case Binary::kXor: return b.CreateXor(x, y);
    case Binary::kShl: return b.CreateShl(x, count());
    case Binary::kShr: return b.CreateLShr(x, count());
    case Binary::kShra: return b.CreateAShr(x, count());
    case Binary::kEq: return compare(llvm::CmpInst::ICMP_EQ);
    case Binary::kNe: return compare(llvm::CmpInst::ICMP_NE);
    case Binary::kLt: return compare(llvm::CmpInst::ICMP_SLT);
    case Binary::kLe: return compare(llvm::CmpInst::ICMP_SLE);
    case Binary::kGt: return compare(llvm::CmpInst::ICMP_SGT);
    case Binary::kGe: return compare(llvm::CmpInst::ICMP_SGE);
  }
  return nullptr;
}

llvm::Value* TargetAccess::apply_unary(location::Unary op, llvm::Value* x) {
  switch (op) {
    case location::Unary::kAbs: return b.CreateBinaryIntrinsic(llvm::Intrinsic::abs, x, b.getInt1(false));
    case location::Unary::kNeg: return b.CreateNeg(x);
    case location::Unary::kNot: return b.CreateNot(x);
    case location::Unary::kFloatToDouble: return arithmetic_.widen_float(x);
  }
  return nullptr;
}

// Runs one operation on the stack. False: the place can't give what it asks for.
bool TargetAccess::apply(const location::Operation& op, std::vector<llvm::Value*>& stack, SourceRange range) {
  Place& place = unit.place;
  const bool on_thread = place.runs_on_thread();
  auto push = [&](llvm::Value* value) {
    stack.push_back(value);
    return value != nullptr;
  };
  auto pop = [&] {
    CHECK(!stack.empty());
    return std::exchange(stack.back(), nullptr);
  };
  auto replace = [&](llvm::Value* value) { return (stack.back() = value) != nullptr; };
  return location::visit(
      op, [&](location::Register o) { return push(place.machine_register(body, o.number)); },
      [&](location::Constant o) { return push(number(o.value)); },
      [&](const location::Address& o) {
        llvm::Value* bias = o.in_other_module ? module_bias(range) : place.load_bias(body);
        return push(bias ? b.CreateAdd(bias, number(static_cast<int64_t>(o.address.value))) : nullptr);
      },
      [&](location::CallFrameCfa) { return push(place.cfa(body)); },
      [&](location::ThreadPointer) { return push(place.thread_pointer(body)); },
      [&](location::CallNumber) { return push(place.call_number(body)); },
      [&](location::CalledFrom) { return on_thread && push(called_from(place.load_bias(body))); },
      [&](const location::RecordField& o) { return push(record_field(o)); },
      [&](location::PlusConstant o) { return replace(b.CreateAdd(pop(), number(o.value))); },
      [&](location::Deref o) { return replace(load(pop(), o.bytes, o.is_signed, range)); },
      [&](location::Convert o) { return replace(extend(pop(), 8u * o.bytes, o.is_signed)); },
      [&](location::BitField o) { return replace(extend(b.CreateLShr(pop(), number(o.first_bit)), o.bits, o.is_signed)); },
      [&](const location::EntryValue& o) { return on_thread && replace(entry_register(o, pop(), range)); },
      [&](const location::EntryKnown& o) { return on_thread && replace(entry_known(o, pop())); },
      [&](location::ThreadBlock) { return on_thread && replace(thread_block(pop(), range)); },
      [&](location::Unary o) { return replace(apply_unary(o, pop())); },
      [&](location::Binary o) {
        llvm::Value* y = pop();
        stack.pop_back();
        return replace(apply_binary(o, pop(), y, range));
      },
      [&](location::Stack o) {
        shuffle(o, stack);
        return true;
      },
      [&](location::Pick o) {
        CHECK(o.depth < stack.size());
        return push(stack[stack.size() - 1 - o.depth]);
      },
      // run_location has answered the first two, and debuginfo leaves none of the last.
      [](location::Index) { return false; }, [](location::ScriptPointer) { return false; },
      [](location::FormTlsAddress) { return false; });
}

llvm::Value* TargetAccess::record_field(const location::RecordField& field) {
  llvm::Value* address = unit.place.context_address(body, field.offset);
  if (!address) return nullptr;
  // The verifier knows of pointers in there what they are, and has rules for them; the handler's are numbers.
  if (body.probe->kind == sema::ProbeKind::kPacket) return call("spile_rt_kernel_context_word", b.getInt64Ty(), {address});
  llvm::Value* value = b.CreateLoad(b.getIntNTy(8u * field.bytes), address);
  return field.is_signed ? b.CreateSExt(value, b.getInt64Ty()) : b.CreateZExt(value, b.getInt64Ty());
}

llvm::Value* TargetAccess::load(llvm::Value* address, uint32_t size, bool is_signed, SourceRange range) {
  llvm::Value* value = entry_alloca(b.getInt64Ty(), "loaded");
  llvm::Value* ok = call("spile_rt_load", b.getInt1Ty(), {context, address, b.getInt32(size), b.getInt1(is_signed), value});
  llvm::Value* failed = b.CreateNot(ok);
  // The kernel's own data are in the upper half of the addresses; a pointer into the process is one for user_long() and its kin.
  if (binding_ && binding_->reads_kernel_memory) failed = b.CreateOr(failed, b.CreateICmpSGE(address, number(0)));
  errors_.raise_if(failed, range, "read fault at %p near '" + std::string(range.text()) + "'", {address});
  return b.CreateLoad(b.getInt64Ty(), value);
}

llvm::Value* TargetAccess::module_bias(SourceRange range) {
  if (!binding_ || !unit.place.finds_modules()) return nullptr;
  const std::string& path = binding_->other_module;
  llvm::Value* bias = entry_alloca(b.getInt64Ty(), "bias");
  llvm::Value* name = at_offset(unit.module.text(path), static_cast<int64_t>(path.rfind('/') + 1));
  llvm::Value* ok = call("spile_rt_module_bias", b.getInt1Ty(), {context, unit.module.text(path), name, bias});
  errors_.raise_if(b.CreateNot(ok), range,
                   path + " is not loaded in this process, so there is no '" + std::string(range.text()) + "'");
  return b.CreateLoad(b.getInt64Ty(), bias);
}

llvm::Value* TargetAccess::called_from(llvm::Value* bias) {
  CHECK(body.probe);
  const Unit::SiteTables& tables = unit.site_callers();
  llvm::Value* offset = site_offset(tables, b.getInt32(static_cast<uint32_t>(body.probe->index)));
  llvm::Value* callers = b.CreateGEP(b.getInt64Ty(), tables.blob, offset);
  return b.CreateZExt(call("spile_rt_called_from", b.getInt1Ty(), {context, callers, bias}), b.getInt64Ty());
}

// Asks the runtime for what a register held at the function's entry, which it stores into `value`. Returns whether that is known.
llvm::Value* TargetAccess::kept_register(int64_t number, FileAddress function, llvm::Value* cfa, llvm::Value* value) {
  CHECK(body.probe);
  const uint32_t site = unit.kept_site_id(body.probe->points.front().site.module, function);
  // A result in memory lies where the function's first argument said.
  const uint64_t site_id = site | (body.probe->kind == sema::ProbeKind::kFunctionReturn ? abi::kEntryHasReturned : 0);
  const std::vector<uint8_t>& registers = unit.program.sites.kept_registers();
  const auto index = static_cast<uint32_t>(std::find(registers.begin(), registers.end(), number) - registers.begin());
  return call("spile_rt_entry_value", b.getInt1Ty(), {context, cfa, b.getInt64(site_id), b.getInt32(index), value});
}

llvm::Value* TargetAccess::entry_known(const location::EntryKnown& op, llvm::Value* cfa) {
  return b.CreateZExt(kept_register(op.number, op.function, cfa, entry_alloca(b.getInt64Ty(), "entered")), b.getInt64Ty());
}

llvm::Value* TargetAccess::entry_register(const location::EntryValue& op, llvm::Value* cfa, SourceRange range) {
  llvm::Value* value = entry_alloca(b.getInt64Ty(), "entered");
  errors_.raise_if(b.CreateNot(kept_register(op.number, op.function, cfa, value)), range,
                   "the value at the function's entry, needed for '" + std::string(range.text()) +
                       "' here, was not recorded near '" + std::string(range.text()) + "'");
  return b.CreateLoad(b.getInt64Ty(), value);
}

llvm::Value* TargetAccess::thread_block(llvm::Value* slot, SourceRange range) {
  llvm::Value* block = call("spile_rt_thread_block", b.getInt64Ty(), {context, slot});
  errors_.raise_if(
      b.CreateICmpEQ(block, number(0)), range,
      "this thread has no memory yet for the thread-local variables of the module of '" + std::string(range.text()) + "'");
  return block;
}

llvm::Value* TargetAccess::load_string(llvm::Value* address, llvm::Value* limit, SourceRange range) {
  llvm::Value* out = frame_.temporary_string();
  llvm::Value* length = call("spile_rt_load_string", b.getInt64Ty(), {context, address, out, limit});
  errors_.raise_if(b.CreateICmpSLT(length, number(0)), range, "read fault at %p near '" + std::string(range.text()) + "'",
                   {address});
  return out;
}

// The target is bound as for reading, and sema/terms/written_place.h says where it lies: in memory, or in one of the saved
// registers that the trampoline restores from.
void TargetAccess::write(int index, llvm::Value* value, SourceRange range, const Operand& operand) {
  const std::vector<sema::Binding>* bindings = current_bindings();
  if (!unit.place.may_write()) {
    return unit.refuse(range, "only probes that run in the process can write to its variables, and, from Linux 6.12 on, uprobes");
  }
  if (!bindings || index < 0 || static_cast<size_t>(index) >= bindings->size()) {
    return unit.refuse(range, "this has no location in the traced program here");
  }
  const sema::Binding& binding = (*bindings)[static_cast<size_t>(index)];
  auto place = sema::written_place(binding.ops);
  if (!place || binding.type != ValueType::kLong)
    return unit.refuse(range, "the variable can't be written to: its value is computed, not stored");
  if (place->is_float) value = call("spile_rt_narrow_float", b.getInt64Ty(), {value});
  auto merged = [&](llvm::Value* old, uint32_t bits) {
    uint64_t mask = (place->bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << place->bits) - 1) << place->shift;
    if (place->shift == 0 && place->bits >= bits) return value;
    llvm::Value* kept = b.CreateAnd(old, b.getInt64(~mask));
    return b.CreateOr(kept, b.CreateAnd(b.CreateShl(value, b.getInt64(place->shift)), b.getInt64(mask)));
  };
  if (place->in_register) {
    if (!body.site.registers || !abi::may_be_written(place->number))
      return unit.refuse(range, "this register can't be written to here");
    llvm::Value* slot = at_offset(body.site.registers, 8 * place->number);
    // The upper half becomes 0, as by an instruction that writes to the lower one.
    if (place->shift == 0 && place->bits == 32) b.CreateStore(extend(value, 32, false), slot);
    else b.CreateStore(merged(b.CreateLoad(b.getInt64Ty(), slot), 64), slot);
    return;
  }
  std::vector<llvm::Value*> stack;
  const sema::Binding* outer = std::exchange(binding_, &binding);
  const bool known = run_location(llvm::ArrayRef(place->address.data(), place->address.size()), range, operand, stack);
  binding_ = outer;
  if (!known) return unit.refuse(range, "the location of this value is not known here");
  llvm::Value* address = stack.back();
  bool whole = place->shift == 0 && place->bits >= 8 * place->bytes;
  llvm::Value* word = whole ? value : merged(load(address, place->bytes, false, range), 8 * place->bytes);
  llvm::Value* ok = call("spile_rt_store", b.getInt1Ty(), {context, address, b.getInt32(place->bytes), word});
  errors_.raise_if(b.CreateNot(ok), range, "write fault at %p near '" + std::string(range.text()) + "'", {address});
}

llvm::Value* TargetAccess::entry_value(const syntax::EntryValue& value) {
  if (!body.probe || !body.site.saves) {
    unit.refuse(value.range, "values from a function's entry are only known at its return");
    return number(0);
  }
  uint32_t offset = unit.layout.saves[static_cast<size_t>(body.probe->index)][static_cast<size_t>(value.index)];
  llvm::Value* place = at_offset(body.site.saves, offset);
  return value.type == ValueType::kString ? place : b.CreateLoad(b.getInt64Ty(), place);
}

llvm::Value* TargetAccess::site_text(const std::string& name) {
  if (name == "user_mode") return number(unit.place.is_user_mode() ? 1 : 0);
  llvm::Value* probe_index = nullptr;
  if (body.probe) probe_index = b.getInt32(static_cast<uint32_t>(body.probe->index));
  else probe_index = b.CreateLoad(b.getInt32Ty(), context_field(offsetof(abi::Context, probe)));
  if (name == "is_return") {
    llvm::Value* table = unit.return_flags();
    llvm::Value* flag = b.CreateLoad(b.getInt32Ty(), b.CreateGEP(b.getInt32Ty(), table, probe_index));
    return b.CreateZExt(flag, b.getInt64Ty());
  }
  if (llvm::Value* text = unit.place.site_text(body, name)) return text;
  const Unit::SiteTables& tables = unit.site_tables(name);
  return b.CreateGEP(b.getInt8Ty(), tables.blob, site_offset(tables, probe_index));
}

// The entry of the tables for the point that was hit (site_texts.h).
llvm::Value* TargetAccess::site_offset(const Unit::SiteTables& tables, llvm::Value* probe_index) {
  auto word = [&](llvm::Value* table, llvm::Value* index) {
    return b.CreateLoad(b.getInt32Ty(), b.CreateInBoundsGEP(b.getInt32Ty(), table, index));
  };
  llvm::Value* index = word(tables.base, probe_index);
  bool single = body.probe && body.probe->points.size() <= 1;
  if (!single) {
    llvm::Value* id =
        body.site.site_id ? body.site.site_id : b.CreateLoad(b.getInt64Ty(), context_field(offsetof(abi::Context, site_id)));
    llvm::Value* masked = b.CreateAnd(b.CreateTrunc(id, b.getInt32Ty()), word(tables.mask, probe_index));
    index = b.CreateAdd(index, masked);
  }
  return b.CreateZExt(word(tables.offsets, index), b.getInt64Ty());
}

}  // namespace spile::codegen
